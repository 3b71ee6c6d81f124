import type { IncomingMessage } from 'node:http'
import { type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest, RouteOptions } from 'fastify'
import { type RouteRule, routerPath, ruleFor } from '../model/route-rule.ts'
import { matchRoute, type OwnRoute, type RouteMatch } from './match.ts'
import { isAmbiguousPath } from './path.ts'
import { createRouteTable } from './route-table.ts'
import { checkReserved, checkRules } from './rule-checks.ts'
import { overlayRule, withProducers } from './rule-overlay.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The gateway's rule for this route. */
    gatewayRule?: RouteRule
    /** The rule of this route of ours where the file has no rule for the path. */
    ownRule?: RouteRule | undefined
    /** Whether rules of the file apply to this route of ours: not where it was registered with a rule of its own. */
    ruleByPath?: boolean
  }
}

/** The rules that {@link Routing} chooses from. */
export interface RoutingOptions {
  /** Declared rules, in the order of the file. */
  readonly declared: readonly RouteRule[]
  /** The rules of our own services: of the routes that this process serves, and of those that siblings serve. */
  readonly own: readonly RouteRule[]
}

type RoutedRequest = Pick<FastifyRequest, 'raw' | 'routeOptions' | 'server'>

/**
 * Finds the rule of each request. Our own routes come first, as reserved paths: no upstream gets a path of this process
 * or of a sibling, under any method. Any other path has the first declared rule that matches; if that one names no
 * upstream, the path is not found. A declared rule without an upstream applies to our own route at its path.
 */
export class Routing {
  readonly #declared: readonly RouteRule[]
  readonly #own: readonly RouteRule[]
  readonly #localRules: readonly RouteRule[]
  readonly #siblingRules: readonly RouteRule[]
  readonly #all
  readonly #local
  readonly #siblings
  readonly #upstreams
  readonly #routes: OwnRoute[] = []
  readonly #rules = new WeakMap<IncomingMessage, RouteRule>()
  readonly #labels = new WeakMap<RouteRule, string>()

  /** @throws RangeError naming a rule that can never match and those that take its requests */
  constructor({ declared, own }: RoutingOptions) {
    checkRules(declared)
    this.#declared = declared
    this.#own = own
    this.#localRules = declared.filter(({ upstream }) => upstream === undefined)
    this.#siblingRules = own.filter(({ upstream }) => upstream !== undefined)
    this.#all = createRouteTable(declared)
    this.#local = createRouteTable(this.#localRules)
    this.#siblings = createRouteTable(this.#siblingRules)
    const declaredUpstreams = declared.filter(({ upstream }) => upstream !== undefined)
    this.#upstreams = createRouteTable([...this.#siblingRules, ...declaredUpstreams])
  }

  /** The rule of a request, looked up once. @throws Problem 400 for a path that servers read in different ways */
  ruleOf(request: RoutedRequest): RouteRule | undefined {
    const rule = this.#rules.get(request.raw) ?? this.#find(request)
    if (rule) this.#rules.set(request.raw, rule)
    return rule
  }

  /** The rule that {@link ruleOf} found for a request. */
  knownRule(raw: IncomingMessage): RouteRule | undefined {
    return this.#rules.get(raw)
  }

  /** The template that a request counts under in metrics; `unmatched` where no route matches. */
  labelOf({ raw, routeOptions: { config, url } }: Pick<RoutedRequest, 'raw' | 'routeOptions'>): string {
    if (!config.catchAll) return url ?? 'unmatched'
    const rule = this.#rules.get(raw)
    return rule?.upstream === undefined ? 'unmatched' : this.#labelOfRule(rule)
  }

  /** @throws Problem 405 with the methods that upstreams accept at the request's path, if there are any */
  refuseMethod(raw: IncomingMessage): void {
    const path = pathOf(raw)
    const allow = this.#upstreams.methodsAt(path).join(', ')
    if (allow !== '' && !this.#upstreams.find(raw.method ?? '', path))
      throw new Problem(405, `${path} does not accept ${raw.method}; it accepts ${allow}.`, { headers: { allow } })
  }

  /** The rules of the file, in their order. */
  get declared(): readonly RouteRule[] {
    return this.#declared
  }

  /** What happens to a request, and why. @throws Problem 400 for a path that is not percent-encoded UTF-8 */
  match(method: string, path: string): RouteMatch {
    const siblings = this.#siblingRules.flatMap((rule) =>
      (rule.methods ?? ['*']).map((one) => ({ method: one, path: rule.path, rule })),
    )
    return matchRoute({ declared: this.#declared, own: [...this.#routes, ...siblings] }, method, path)
  }

  /** Sets the rules of the routes of this process, and checks the declared rules against their paths. */
  register(http: Http): void {
    const templates = new Set<string>()
    http.addHook('onRoute', (route) => {
      if (!route.config?.catchAll) templates.add(route.url)
      this.#setRule(route)
      if (!route.config?.catchAll) this.#routes.push(...ownRoutesOf(route))
    })
    http.addHook('onReady', async () => {
      checkReserved(this.#declared, [...[...templates].map((path) => ({ path })), ...this.#siblingRules])
    })
  }

  #find({ raw, routeOptions, server }: RoutedRequest): RouteRule | undefined {
    const { config } = routeOptions
    const [method, path] = [raw.method ?? '', pathOf(raw)]
    if (!config.catchAll) {
      if (!config.ruleByPath) return config.gatewayRule
      return withProducers(this.#localRules.length > 0 ? this.#local.find(method, path) : undefined, config.ownRule)
    }
    if (isAmbiguousPath(path) || server.methodsAt(path).length > 0) return undefined
    const sibling = this.#siblingRules.length > 0 ? this.#siblings.find(method, path) : undefined
    return sibling ? overlayRule(sibling, this.#local.find(method, path)) : this.#all.find(method, path)
  }

  #labelOfRule(rule: RouteRule): string {
    let label = this.#labels.get(rule)
    if (label === undefined) {
      label = routerPath(rule.path)
      this.#labels.set(rule, label)
    }
    return label
  }

  #setRule(route: RouteOptions): void {
    if (route.config?.gatewayRule || route.config?.catchAll) return
    const method = [route.method].flat()[0] ?? ''
    const ownRule = ruleFor(this.#own, method, route.url)
    const gatewayRule = ruleFor(this.#localRules, method, route.url) ?? ownRule
    route.config = { ...route.config, ...(gatewayRule ? { gatewayRule } : {}), ownRule, ruleByPath: true }
  }
}

function ownRoutesOf({ method, url, config }: RouteOptions): OwnRoute[] {
  const rule = config?.gatewayRule ?? config?.ownRule
  return [method].flat().map((one) => ({ method: one, path: url, rule }))
}

/** A request's path as it was sent, without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
