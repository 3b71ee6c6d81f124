import type { FastifyInstance } from 'fastify'
import { fitsPath, type PathTemplate, parsePathTemplate, pathSegments } from './path-template.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods of the routes that are at a path, sorted; none for a path that nothing is at. */
    methodsAt(path: string): readonly string[]
  }
  interface FastifyContextConfig {
    /** The route stands for what no other route fits: a path is not known because of it. */
    readonly catchAll?: boolean
  }
}

/** Lets the server tell a path that isn't there from a method that a path doesn't have. */
export function recordMethods(http: Pick<FastifyInstance, 'addHook' | 'decorate'>): void {
  const known = new Map<string, { readonly template: PathTemplate; readonly methods: Set<string> }>()
  http.addHook('onRoute', ({ url, method, config }) => {
    if (config?.catchAll) return
    const at = known.get(url) ?? { template: parsePathTemplate(url), methods: new Set() }
    for (const one of [method].flat()) at.methods.add(one)
    known.set(url, at)
  })
  http.decorate('methodsAt', (path: string) => {
    const segments = pathSegments(path)
    if (segments === undefined) return []
    const methods = new Set<string>()
    for (const at of known.values())
      if (fitsPath(at.template, segments)) for (const method of at.methods) methods.add(method)
    return [...methods].sort()
  })
}
