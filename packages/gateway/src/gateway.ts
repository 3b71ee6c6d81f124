import type { Bearer } from '@gatehouse/bearer'
import type { Clock, Http, Log, Registry, Secret } from '@gatehouse/kit'
import type { BreakerState, IetfFields, Limiter } from '@gatehouse/limiter'
import { createAddresses } from './addresses.ts'
import { createAdmission } from './admission.ts'
import { createApiKeys, type ResolveApiKey } from './api-key.ts'
import type { Authenticate } from './authenticate.ts'
import { createBrake } from './brake.ts'
import { createContextTokens } from './context-token.ts'
import { type CredentialWatch, createCredentialWatch } from './credential-watch.ts'
import type { UpstreamDeclaration } from './declaration.ts'
import { createForgive, createLimit, type Forgive, type Limit } from './guard.ts'
import { createIdentify } from './identify.ts'
import { badCredentials, type LimitsDeclaration } from './limits.ts'
import { createGatewayMetrics } from './metrics.ts'
import { createOpenStreams, defaultStreamsPerCaller } from './open-streams.ts'
import { createPolicies } from './policies.ts'
import type { RouteRule } from './route-rule.ts'
import { routes } from './routes.ts'
import { createRouting } from './routing.ts'
import type { PlanOf } from './tier.ts'
import type { Sibling } from './upstream.ts'
import { createUpstreamRoutes } from './upstream-routes.ts'

export interface GatewayOptions extends LimitsDeclaration {
  readonly limiter: Limiter
  readonly bearer: Bearer
  /** The plan of a subject, in process or over HTTP. */
  readonly planOf: PlanOf
  readonly resolveApiKey?: ResolveApiKey
  /** What holds for which path: the first rule that fits is taken. */
  readonly routes?: readonly RouteRule[]
  readonly upstreams?: Readonly<Record<string, UpstreamDeclaration>>
  /** What holds for the routes of our own services, which come before those of upstreams. */
  readonly ownRoutes?: readonly RouteRule[]
  /** Our own services in other processes: upstreams that `ownRoutes` alone name. */
  readonly siblings?: Readonly<Record<string, Sibling>>
  /** How many streams and WebSockets one caller may hold at a time. Default: {@link defaultStreamsPerCaller}. */
  readonly streamsPerCaller?: number
  /** CIDR ranges of the proxies whose X-Forwarded-For is believed. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Gateways with the same one sign context tokens with the same key; without it each makes its own at start. */
  readonly contextSecret?: Secret
  /** `iss` of context tokens. Default: gatehouse. */
  readonly contextIssuer?: string
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
  /** Looks after the local services' long answers: ends them with the credential that opened them. */
  readonly watch: CredentialWatch['watch']
  /** Counts what a route's own limit can't see, such as tries to sign in by account and address. */
  readonly limit: Limit
  readonly forgive: Forgive
  /** Takes new tiers and policies; counters stay. @throws RangeError when they are not valid, and keeps the old ones. */
  reload(declared: LimitsDeclaration): void
  /** Closes the connections to upstreams, once what is under way is done. */
  stop(): Promise<void>
}

/**
 * The gateway: identify -> tier -> check -> serve or proxy.
 * @throws RangeError naming the setting that is wrong and what was expected.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { limiter, bearer, routes: declared = [], ownRoutes: own = [], realm = 'gatehouse', clock, log } = options
  const upstreams = { ...options.upstreams, ...options.siblings }
  const metrics = createGatewayMetrics(options.metrics, Object.keys(upstreams))
  const routing = createRouting({ declared, own })
  const rules = [...declared, ...own]
  const addresses = createAddresses(options.trustedProxies ?? [])
  const apiKeys = createApiKeys(options.resolveApiKey, clock, realm)
  const onFailure = (error: unknown) => {
    metrics.planFailed()
    log.warn({ err: error }, 'plan lookup failed')
  }
  const policies = createPolicies(options, rules, { planOf: options.planOf, clock, onFailure })
  const brake = createBrake(() => policies.named(badCredentials), clock)
  const identify = createIdentify({ bearer, apiKeys, addresses, brake, realm })
  const ietfFields = options.ietfFields ?? false
  const admission = createAdmission({
    limiter,
    identify,
    addresses,
    routing,
    policies,
    metrics,
    realm,
    ietfFields,
  })
  const contextTokens = createContextTokens(options.contextIssuer ?? 'gatehouse', clock, options.contextSecret)
  const watch = createCredentialWatch(identify, clock, log)
  const openStreams = createOpenStreams(options.streamsPerCaller ?? defaultStreamsPerCaller)
  const { visitOf } = admission
  const onBreaker = (upstream: string, state: BreakerState) => {
    metrics.breakerChanged(upstream, state)
    if (state !== 'half-open') log.warn({ upstream }, `the breaker before an upstream is ${state}`)
  }
  const served = rules.filter(({ upstream }) => upstream !== undefined)
  const about = {
    rules: served,
    upstreams,
    routing,
    visitOf,
    identify,
    contextTokens,
    watch,
    openStreams,
    clock,
    onBreaker,
  }
  const upstreamRoutes = createUpstreamRoutes(about)
  return {
    authenticate: admission.authenticate,
    watch: watch.watch,
    limit: createLimit(limiter, policies, metrics),
    forgive: createForgive(limiter, policies),
    reload: policies.reload,
    stop: upstreamRoutes.stop,
    plugin: atRoot(async (http) => {
      routing.plugin(http)
      http.addHook('onRequest', admission.admit)
      await http.register((own: Http) => routes(own, { limiter, contextTokens, limits: policies.limits }))
      await http.register(upstreamRoutes.plugin)
    }),
  }
}

/** Hooks hold for the routes beside the plugin too, not only for those within (fastify's `skip-override`). */
function atRoot(plugin: Gateway['plugin']): Gateway['plugin'] {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
