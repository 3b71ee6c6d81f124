import type { FastifyInstance } from 'fastify'
import { fitsPath, type PathTemplate, parsePathTemplate, pathSegments } from './path-template.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods of the routes that are at a path, sorted; none for a path that nothing is at. */
    methodsAt(path: string): readonly string[]
  }
  interface FastifyContextConfig {
    /** The route matches every path that no other route matches; it does not make a path known. */
    readonly catchAll?: boolean
  }
}

interface Known {
  readonly template: PathTemplate
  readonly methods: Set<string>
}

const none: readonly Known[] = []

/** Records the methods of every path, so that 405 can be distinguished from 404. */
export function recordMethods(http: Pick<FastifyInstance, 'addHook' | 'decorate'>): void {
  const known = new Map<string, Known>()
  /** By their first segment, so that few are looked at. */
  const byFirst = new Map<string | undefined, Known[]>()
  http.addHook('onRoute', ({ url, method, config }) => {
    if (config?.catchAll) return
    const at = known.get(url) ?? { template: parsePathTemplate(url), methods: new Set() }
    for (const one of [method].flat()) at.methods.add(one)
    if (known.has(url)) return
    known.set(url, at)
    const first = at.template.segments[0]
    const key = typeof first === 'string' ? first : undefined
    byFirst.set(key, [...(byFirst.get(key) ?? []), at])
  })
  http.decorate('methodsAt', (path: string) => {
    const segments = pathSegments(path)
    if (segments === undefined) return []
    let methods: Set<string> | undefined
    for (const some of [byFirst.get(segments[0]), byFirst.get(undefined)])
      for (const at of some ?? none) {
        if (!fitsPath(at.template, segments)) continue
        methods ??= new Set()
        for (const method of at.methods) methods.add(method)
      }
    return methods === undefined ? [] : [...methods].sort()
  })
}
