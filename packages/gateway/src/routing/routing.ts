import type { IncomingMessage } from 'node:http'
import { type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest, RouteOptions } from 'fastify'
import { type RouteRule, routerPath, ruleFor } from '../model/route-rule.ts'
import { isAmbiguousPath } from './path.ts'
import { createRouteTable, shadowedRules, shadowsOf } from './route-table.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The gateway's rule for this route. */
    gatewayRule?: RouteRule
    /** What holds for this route of ours where the file has no rule for the path. */
    ownRule?: RouteRule | undefined
    /** Whether rules of the file may hold for this route of ours: not where it came with a rule of its own. */
    ruleByPath?: boolean
  }
}

export interface RoutingOptions {
  /** Declared rules, in the order of the file. */
  readonly declared: readonly RouteRule[]
  /** The rules of our own services: of the routes that this process serves, and of those that siblings do. */
  readonly own: readonly RouteRule[]
}

/** Which rule a request has. */
export interface Routing {
  /** Found once a request. @throws Problem 400 for a path that servers read differently */
  ruleOf(request: Pick<FastifyRequest, 'raw' | 'routeOptions' | 'server'>): RouteRule | undefined
  /** The rule that was found for a request. */
  knownRule(raw: IncomingMessage): RouteRule | undefined
  /** The template that a request is counted under in metrics; `unmatched` where nothing is. */
  labelOf(request: Pick<FastifyRequest, 'raw' | 'routeOptions'>): string
  /** @throws Problem 405 with the methods that upstreams take at the request's path, if there are any */
  refuseMethod(raw: IncomingMessage): void
  /** Gives the routes of this process their rules, and refuses rules that these leave nothing to. */
  readonly plugin: (http: Http) => void
}

/**
 * Our own routes come first, as reserved paths: no upstream gets what one of them or of a sibling fits, under any
 * method. What is left goes by the first declared rule that fits; if that one names no upstream, nothing is there.
 * A declared rule without an upstream says what holds for our own route at its path.
 * @throws RangeError naming a rule that can never match and those that take its requests
 */
export function createRouting({ declared, own }: RoutingOptions): Routing {
  for (const rule of declared) refuseTemplate(rule)
  refuseShadowed(declared)
  const localRules = declared.filter(({ upstream }) => upstream === undefined)
  const siblingRules = own.filter(({ upstream }) => upstream !== undefined)
  const all = createRouteTable(declared)
  const local = createRouteTable(localRules)
  const siblings = createRouteTable(siblingRules)
  const upstreams = createRouteTable([...siblingRules, ...declared.filter(({ upstream }) => upstream !== undefined)])
  const rules = new WeakMap<IncomingMessage, RouteRule>()
  const labels = new WeakMap<RouteRule, string>()

  function labelOfRule(rule: RouteRule): string {
    let label = labels.get(rule)
    if (label === undefined) {
      label = routerPath(rule.path)
      labels.set(rule, label)
    }
    return label
  }

  function find({ raw, routeOptions, server }: Parameters<Routing['ruleOf']>[0]): RouteRule | undefined {
    const { config } = routeOptions
    const [method, path] = [raw.method ?? '', pathOf(raw)]
    if (!config.catchAll) {
      if (!config.ruleByPath) return config.gatewayRule
      return withProducers(localRules.length > 0 ? local.find(method, path) : undefined, config.ownRule)
    }
    if (isAmbiguousPath(path) || server.methodsAt(path).length > 0) return undefined
    const sibling = siblingRules.length > 0 ? siblings.find(method, path) : undefined
    return sibling ? overlayRule(sibling, local.find(method, path)) : all.find(method, path)
  }

  return {
    ruleOf(request) {
      const rule = rules.get(request.raw) ?? find(request)
      if (rule) rules.set(request.raw, rule)
      return rule
    },
    knownRule: (raw) => rules.get(raw),
    labelOf({ raw, routeOptions: { config, url } }) {
      if (!config.catchAll) return url ?? 'unmatched'
      const rule = rules.get(raw)
      return rule?.upstream === undefined ? 'unmatched' : labelOfRule(rule)
    },
    refuseMethod(raw) {
      const path = pathOf(raw)
      const allow = upstreams.methodsAt(path).join(', ')
      if (allow !== '' && !upstreams.find(raw.method ?? '', path))
        throw new Problem(405, `${path} does not take ${raw.method}; it takes ${allow}.`, { headers: { allow } })
    },
    plugin(http) {
      const templates = new Set<string>()
      http.addHook('onRoute', (route) => {
        if (!route.config?.catchAll) templates.add(route.url)
        setRouteRule(route, own, localRules)
      })
      http.addHook('onReady', async () => {
        const reserved = [...[...templates].map((path) => ({ path })), ...siblingRules]
        for (const rule of declared) if (rule.upstream !== undefined) refuseReserved(rule, reserved)
      })
    },
  }
}

/** A request's path as it was sent, without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function setRouteRule(route: RouteOptions, own: readonly RouteRule[], localRules: readonly RouteRule[]): void {
  if (route.config?.gatewayRule || route.config?.catchAll) return
  const method = [route.method].flat()[0] ?? ''
  const ownRule = ruleFor(own, method, route.url)
  const gatewayRule = ruleFor(localRules, method, route.url) ?? ownRule
  route.config = { ...route.config, ...(gatewayRule ? { gatewayRule } : {}), ownRule, ruleByPath: true }
}

const mergedRules = new WeakMap<RouteRule, Map<RouteRule, RouteRule>>()

/** A declared rule leaves the policy of producers as our own route has it. */
function withProducers(declared: RouteRule | undefined, own: RouteRule | undefined): RouteRule | undefined {
  if (declared === undefined || own?.producers === undefined) return declared ?? own
  const known = mergedRules.get(declared) ?? new Map<RouteRule, RouteRule>()
  mergedRules.set(declared, known)
  const rule = known.get(own) ?? { ...declared, producers: own.producers }
  known.set(own, rule)
  return rule
}

/** What the file says of a path that a sibling serves. It asks for credentials by itself, as it would in this process. */
function overlayRule(sibling: RouteRule, declared: RouteRule | undefined): RouteRule {
  if (declared === undefined) return sibling
  const { scope, roles } = declared
  const producers = sibling.producers === undefined ? {} : { producers: sibling.producers }
  const open = declared.public ?? (sibling.public === true && scope === undefined && roles === undefined)
  return {
    ...declared,
    ...producers,
    public: open,
    ...(sibling.upstream === undefined ? {} : { upstream: sibling.upstream }),
  }
}

function refuseTemplate({ path }: RouteRule): void {
  const fault = templateFault(path)
  if (fault !== undefined) throw new RangeError(`route ${path}: the path ${fault}`)
}

/** What is wrong with the path of a rule; undefined for one that means what it seems to. */
export function templateFault(path: string): string | undefined {
  if (/\*./.test(path)) return 'may hold a * at its end alone'
  if (/\}[^/]*\*$/.test(path)) return 'may not hold a parameter and a * in one segment'
  if (isAmbiguousPath(path.replace(/\*$/, ''))) return 'can match no request: it would be refused as ambiguous'
  return undefined
}

function refuseShadowed(declared: readonly RouteRule[]): void {
  for (const { rule, by } of shadowedRules(declared))
    throw new RangeError(`route ${ruleText(rule)} can never match: ${by.map(ruleText).join(', ')} before it takes all`)
}

function refuseReserved(rule: RouteRule, reserved: readonly RouteRule[]): void {
  const by = shadowsOf(rule, reserved)
  if (by === undefined) return
  const paths = [...new Set(by.map(({ path }) => path))].join(', ')
  throw new RangeError(`route ${ruleText(rule)} can never match: our own service serves ${paths}`)
}

/** A rule as its file shows it. */
export function ruleText({ path, methods }: RouteRule): string {
  return methods === undefined ? path : `${path} [${methods.join(', ')}]`
}
