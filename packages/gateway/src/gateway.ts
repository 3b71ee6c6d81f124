import type { Bearer } from '@gatehouse/bearer'
import { type Clock, type Http, type Log, Problem, type Registry } from '@gatehouse/kit'
import {
  type Decision,
  decisionHeaders,
  type Identifier,
  type IetfFields,
  type Limiter,
  type Policy,
  quotaExceededProblem,
} from '@gatehouse/limiter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createApiKeys, type ResolveApiKey } from './api-key.ts'
import { type Authenticate, missingCredential, withScope } from './authenticate.ts'
import { createForwardedFor } from './forwarded-for.ts'
import { cleanInbound } from './headers.ts'
import { createIdentify, type Visit } from './identify.ts'
import { type LimitsDeclaration, limitsFrom } from './limits.ts'
import { createGatewayMetrics } from './metrics.ts'
import { type RouteRule, ruleFor, unlimited } from './route-rule.ts'
import { createTiers, type PlanOf } from './tier.ts'
import type { UpstreamOptions } from './upstream.ts'
import { registerUpstreams } from './upstream-routes.ts'

export interface GatewayOptions extends LimitsDeclaration {
  readonly limiter: Limiter
  readonly bearer: Bearer
  /** The plan of a subject, in process or over HTTP. */
  readonly planOf: PlanOf
  readonly resolveApiKey?: ResolveApiKey
  /** What holds for which path: the first rule that fits is taken. */
  readonly routes?: readonly RouteRule[]
  readonly upstreams?: Readonly<Record<string, UpstreamOptions>>
  /** CIDR ranges of the proxies whose X-Forwarded-For is believed. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Sends the IETF's RateLimit fields beside the X-RateLimit ones. Default: false. */
  readonly ietfFields?: IetfFields
  /** Named in `WWW-Authenticate`. Default: gatehouse. */
  readonly realm?: string
  readonly metrics: Registry
  readonly log: Log
  readonly clock: Clock
}

export interface Gateway {
  /** Register it before the services' plugins: it looks at every request first, and serves the upstreams' routes. */
  readonly plugin: (http: Http) => Promise<void>
  /** Who makes a request, verified once by the gateway; for the local services. */
  readonly authenticate: Authenticate
  /**
   * Counts one try against a policy, for what a route's own limit can't see (sign-in counts by account).
   * @throws RangeError when there is no policy of that name.
   */
  limit(policy: string, identifier: Identifier): Promise<Decision>
  /** Takes new tiers and policies; counters stay. @throws RangeError when they are not valid, and keeps the old ones. */
  reload(declared: LimitsDeclaration): void
  /** Closes the connections to upstreams, once what is under way is done. */
  stop(): Promise<void>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The gateway's rule for this route. */
    gatewayRule?: RouteRule
  }
}

/**
 * The gateway: identify -> tier -> check -> serve or proxy.
 * @throws RangeError naming the setting that is wrong and what was expected.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { limiter, bearer, routes = [], realm = 'gatehouse', clock, log } = options
  const metrics = createGatewayMetrics(options.metrics)
  const forwardedFor = createForwardedFor(options.trustedProxies ?? [])
  const apiKeys = createApiKeys(options.resolveApiKey, clock, realm)
  const identify = createIdentify({ bearer, apiKeys, forwardedFor, realm })
  let limits = limitsFrom(options)
  const tiers = createTiers({
    planOf: options.planOf,
    limits: () => limits,
    clock,
    onFailure(error) {
      metrics.planFailed()
      log.warn({ err: error }, 'plan lookup failed')
    },
  })
  const visits = new WeakMap<FastifyRequest['raw'], Visit>()
  const headerOptions = { ietf: options.ietfFields ?? false }
  for (const { path, policy } of routes) if (policy !== undefined && policy !== unlimited) policyNamed(policy, path)
  const upstreams = registerUpstreams({ routes, upstreams: options.upstreams ?? {}, visits, identify })

  function policyNamed(name: string, where = 'limit'): Policy {
    const policy = limits.policies.get(name) ?? limits.tiers.get(name)
    if (policy) return policy
    const known = [...limits.policies.keys(), ...limits.tiers.keys()].join(', ')
    throw new RangeError(`${where}: there is no policy "${name}"; there are ${known}`)
  }

  async function policyOf({ caller }: Visit, rule: RouteRule | undefined): Promise<Policy> {
    if (rule?.policy !== undefined) return policyNamed(rule.policy)
    if (caller === undefined) return policyNamed('anonymous')
    const tier = caller.kind === 'user' || caller.plan === undefined ? await tiers.tierOf(caller.subject) : caller.plan
    return limits.tiers.get(tiers.named(tier)) ?? policyNamed(limits.lowest)
  }

  /** Every request's way in. Runs before its body is read. */
  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { raw } = request
    cleanInbound(raw)
    const { config, url: template = 'unmatched' } = request.routeOptions
    const rule = config.gatewayRule
    if (rule?.policy === unlimited && rule.public) return
    const visit = rule?.public ? identify.anonymous(raw) : await identify.visit(raw)
    visits.set(raw, visit)
    if (rule?.policy !== unlimited) {
      const decision = await limiter.check(await policyOf(visit, rule), visit.identifier, { route: template })
      metrics.decided(template, decision)
      reply.headers(decisionHeaders(decision, headerOptions))
      if (!decision.allowed) throw quotaExceeded(decision)
    }
    if (rule !== undefined) demand(visit, rule)
  }

  function demand({ caller, refusal }: Visit, rule: RouteRule): void {
    const { scope, roles, upstream } = rule
    if (rule.public || (upstream === undefined && scope === undefined && roles === undefined)) return
    if (caller === undefined) throw refusal ?? missingCredential(realm)
    withScope(caller, scope, realm)
    if (roles && !roles.some((role) => caller.roles.includes(role)))
      throw new Problem(403, `One of these roles is needed here: ${roles.join(', ')}.`)
  }

  return {
    async authenticate({ raw }, scope) {
      const visit = visits.get(raw) ?? (await identify.visit(raw))
      visits.set(raw, visit)
      if (visit.caller === undefined) throw visit.refusal ?? missingCredential(realm)
      return withScope(visit.caller, scope, realm)
    },
    limit: async (policy, identifier) => limiter.check(policyNamed(policy), identifier, { route: policy }),
    reload(declared) {
      limits = limitsFrom(declared)
    },
    stop: upstreams.stop,
    plugin: atRoot(async (http) => {
      http.addHook('onRoute', (route) => {
        const rule = route.config?.gatewayRule ?? ruleFor(routes, [route.method].flat()[0] ?? '', route.url)
        if (rule) route.config = { ...route.config, gatewayRule: rule }
      })
      http.addHook('onRequest', admit)
      await http.register(upstreams.plugin)
    }),
  }
}

/** Hooks hold for the routes beside the plugin too, not only for those within (fastify's `skip-override`). */
function atRoot(plugin: Gateway['plugin']): Gateway['plugin'] {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}

/** The one place where 429 is written. Its headers, Retry-After with them, are those of every decision. */
function quotaExceeded(decision: Decision): Problem {
  const { type, title, status, ...members } = quotaExceededProblem(decision)
  const seconds = decision.retryAfterSeconds
  return new Problem(status, `Ask again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`, {
    type,
    title,
    members,
  })
}
