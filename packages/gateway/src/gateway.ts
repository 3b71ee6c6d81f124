import type { Bearer } from '@gatehouse/bearer'
import {
  type Clock,
  changesInLog,
  type Http,
  type KeyRing,
  type Log,
  type RecordChange,
  type Registry,
  type Secret,
} from '@gatehouse/kit'
import type { BreakerState, IetfFields, Limiter } from '@gatehouse/limiter'
import type { UpstreamDeclaration } from './config/declaration.ts'
import { badCredentials, type LimitsDeclaration } from './config/limits.ts'
import { createAddresses } from './identify/addresses.ts'
import { createApiKeys, type ResolveApiKey } from './identify/api-keys.ts'
import { createBadCredentialLimit } from './identify/bad-credential-limit.ts'
import { createIdentify } from './identify/identify.ts'
import { createIngress } from './ingress.ts'
import { type AttemptLimits, createAttemptLimits } from './limits/attempt-limits.ts'
import { createPolicies } from './limits/policies.ts'
import { createGatewayMetrics } from './metrics/gateway-metrics.ts'
import type { Authenticate } from './model/caller.ts'
import type { PlanOf } from './model/plan.ts'
import type { RouteRule } from './model/route-rule.ts'
import { createContextTokens } from './proxy/context-tokens.ts'
import type { Sibling } from './proxy/upstream.ts'
import { createUpstreamRoutes } from './proxy/upstream-routes.ts'
import { routes } from './routes.ts'
import { createRouting } from './routing/routing.ts'
import { type CredentialWatch, createCredentialWatch } from './streams/credential-watch.ts'
import { createOpenStreams, defaultStreamsPerCaller } from './streams/open-streams.ts'

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
  /**
   * Gateways with the same one sign context tokens with the same key; without it each makes its own at start. Of several
   * the first signs, and the public keys of all are published.
   */
  readonly contextSecret?: Secret | KeyRing
  /** `iss` of context tokens. Default: gatehouse. */
  readonly contextIssuer?: string
  /** Sends the IETF's RateLimit fields beside the X-RateLimit ones. Default: false. */
  readonly ietfFields?: IetfFields
  /** Named in `WWW-Authenticate`. Default: gatehouse. */
  readonly realm?: string
  /** Keeps the audit trail of what operators change. Default: the log. */
  readonly recordChange?: RecordChange
  /** Requests that a caller with `write:limit-grants` may give back in one call. Default: 100. */
  readonly maxGrant?: number
  readonly metrics: Registry
  readonly log: Log
  readonly clock: Clock
}

/** Enough to help one caller over an hour's trouble, too little to make a limit void. */
export const defaultMaxGrant = 100

export interface Gateway {
  /** Register it before the services' plugins: it looks at every request first, and serves the upstreams' routes. */
  readonly plugin: (http: Http) => Promise<void>
  /** Who makes a request, verified once by the gateway; for the local services. */
  readonly authenticate: Authenticate
  /** Looks after the local services' long answers: ends them with the credential that opened them. */
  readonly watch: CredentialWatch['watch']
  /** Counts what a route's own limit can't see, such as tries to sign in by account and address. */
  readonly attempts: AttemptLimits
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
    metrics.recordPlanFailure()
    log.warn({ err: error }, 'plan lookup failed')
  }
  const policies = createPolicies(options, rules, { planOf: options.planOf, clock, onFailure })
  const badCredentialLimit = createBadCredentialLimit(() => policies.get(badCredentials), clock)
  const identify = createIdentify({ bearer, apiKeys, addresses, badCredentialLimit: badCredentialLimit, realm })
  const ietfFields = options.ietfFields ?? false
  const ingress = createIngress({
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
  const { identityOf } = ingress
  const onBreaker = (upstream: string, state: BreakerState) => {
    metrics.setBreaker(upstream, state)
    if (state !== 'half-open') log.warn({ upstream }, `the breaker before an upstream is ${state}`)
  }
  const upstreamRules = rules.filter(({ upstream }) => upstream !== undefined)
  const upstreamOptions = {
    rules: upstreamRules,
    upstreams,
    routing,
    identityOf,
    identify,
    contextTokens,
    watch,
    openStreams,
    clock,
    onBreaker,
  }
  const upstreamRoutes = createUpstreamRoutes(upstreamOptions)
  return {
    authenticate: ingress.authenticate,
    watch: watch.watch,
    attempts: createAttemptLimits({ limiter, policies, metrics, clock }),
    reload: policies.reload,
    stop: upstreamRoutes.stop,
    plugin: atRoot(async (http) => {
      routing.plugin(http)
      http.addHook('onRequest', ingress.admit)
      const { recordChange = changesInLog(log), maxGrant = defaultMaxGrant } = options
      const { authenticate } = ingress
      const parts = { limiter, contextTokens, authenticate, recordChange, maxGrant, limits: policies.limits, rules }
      await http.register((own: Http) => routes(own, parts))
      await http.register(upstreamRoutes.plugin)
    }),
  }
}

/** Hooks hold for the routes beside the plugin too, not only for those within (fastify's `skip-override`). */
function atRoot(plugin: Gateway['plugin']): Gateway['plugin'] {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
