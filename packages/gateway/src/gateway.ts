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
import { Activity } from './activity/activity.ts'
import type { History } from './activity/history.ts'
import type { StoreWatch } from './activity/store-watch.ts'
import { badCredentials } from './config/default-limits.ts'
import type { LimitsDeclaration } from './config/limits.ts'
import type { UpstreamDeclaration } from './config/upstream-declaration.ts'
import { type Addresses, createAddresses } from './identify/addresses.ts'
import { createApiKeys, type ResolveApiKey } from './identify/api-keys.ts'
import { createBadCredentialLimit } from './identify/bad-credential-limit.ts'
import { IdentityResolver } from './identify/identity-resolver.ts'
import { createIngress, type Ingress } from './ingress.ts'
import { type AttemptLimits, createAttemptLimits } from './limits/attempt-limits.ts'
import { createPolicies, type Policies } from './limits/policies.ts'
import { createGatewayMetrics, type GatewayMetrics } from './metrics/gateway-metrics.ts'
import { AttemptBlocks } from './model/attempt-blocks.ts'
import type { Authenticate } from './model/caller.ts'
import type { ClientPolicy, LimitOverride } from './model/limit-feed.ts'
import type { PlanOf } from './model/plan.ts'
import type { RouteRule } from './model/route-rule.ts'
import { createContextTokens } from './proxy/context-tokens.ts'
import type { Sibling } from './proxy/upstream.ts'
import { UpstreamRoutes } from './proxy/upstream-routes.ts'
import { routes } from './routes.ts'
import { Routing } from './routing/routing.ts'
import { type CredentialWatch, createCredentialWatch } from './streams/credential-watch.ts'
import { createOpenStreams, defaultStreamsPerCaller } from './streams/open-streams.ts'

/** Options of {@link createGateway}, beside the declared limits. */
export interface GatewayOptions extends LimitsDeclaration {
  /** Counts and decides. */
  readonly limiter: Limiter
  /** Verifies access tokens. */
  readonly bearer: Bearer
  /** Looks up the plan of a subject, in process or over HTTP. */
  readonly planOf: PlanOf
  /** Looks up an API key. Default: API keys are refused. */
  readonly resolveApiKey?: ResolveApiKey
  /** Declared routes. The first rule that matches a request applies. */
  readonly routes?: readonly RouteRule[]
  /** Upstreams by the name that routes use. */
  readonly upstreams?: Readonly<Record<string, UpstreamDeclaration>>
  /** The rules of our own services' routes, which precede those of upstreams. */
  readonly ownRoutes?: readonly RouteRule[]
  /** Our own services in other processes: upstreams that only `ownRoutes` name. */
  readonly siblings?: Readonly<Record<string, Sibling>>
  /** Maximum of open streams and WebSockets per caller. Default: {@link defaultStreamsPerCaller}. */
  readonly streamsPerCaller?: number
  /** The policies that count the requests of a client in place of tiers, by its id, until others are set. */
  readonly clientPolicies?: Readonly<Record<string, string>>
  /** As `clientPolicies`, whatever is set. */
  readonly builtInClientPolicies?: Readonly<Record<string, string>>
  /** CIDR ranges of the proxies whose X-Forwarded-For is trusted. Default: none. */
  readonly trustedProxies?: readonly string[]
  /**
   * Gateways with the same secret sign context tokens with the same key. Without one each creates its own at start. Of a
   * ring the first secret signs, and the public keys of all are published.
   */
  readonly contextSecret?: Secret | KeyRing
  /** `iss` of context tokens. Default: gatehouse. */
  readonly contextIssuer?: string
  /** Sends the IETF's RateLimit fields beside the X-RateLimit ones. Default: false. */
  readonly ietfFields?: IetfFields
  /** Realm of `WWW-Authenticate` (RFC 6750 §3). Default: gatehouse. */
  readonly realm?: string
  /** The history of limits that all processes share. Default: that of this process, in memory. */
  readonly history?: History | undefined
  /** Knows since when the counter store is unavailable. Default: it is never said to be. */
  readonly storeWatch?: StoreWatch | undefined
  /** Writes the audit trail of operators' changes. Default: the log. */
  readonly recordChange?: RecordChange
  /** Requests that a caller with `write:limit-grants` may grant in one call. Default: {@link defaultMaxGrant}. */
  readonly maxGrant?: number
  /** Receives the gateway's metrics. */
  readonly metrics: Registry
  readonly log: Log
  readonly clock: Clock
}

/** Enough to help one caller for an hour, too little to cancel a limit. */
export const defaultMaxGrant = 100

/** A gateway. Made by {@link createGateway}. */
export interface Gateway {
  /** Register it before the services' plugins: its middleware sees every request first, and it serves the upstreams. */
  readonly plugin: (http: Http) => Promise<void>
  /** Returns the caller of a request, verified once by the gateway; for the local services. */
  readonly authenticate: Authenticate
  /** Ends long responses of the local services with the credential that opened them. */
  readonly watch: CredentialWatch['watch']
  /** Counts what a route's limit cannot, such as sign-in attempts by account and address. */
  readonly attempts: AttemptLimits
  /** Replaces tiers and policies; counters stay. @throws RangeError when they are invalid; then the old ones stay */
  reload(declared: LimitsDeclaration): void
  /** Replaces the limits of single callers. */
  setOverrides(overrides: readonly LimitOverride[]): void
  /** Replaces the policies of clients, except the built-in ones. */
  setClientPolicies(clients: readonly ClientPolicy[]): void
  /** Closes the connections to upstreams once their requests are done, and adds the last requests to the history. */
  stop(): Promise<void>
}

/**
 * Creates a gateway: resolves the caller of each request, looks up the tier, checks the limits, and serves the request or
 * forwards it to an upstream.
 * @throws RangeError naming the invalid setting and what was expected
 * @example
 * ```ts
 * const gateway = createGateway({ limiter, bearer, planOf, routes, upstreams, metrics, log, clock })
 * await http.register(gateway.plugin)
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { limiter, routes: declared = [], ownRoutes: own = [], clock, log } = options
  const upstreams = { ...options.upstreams, ...options.siblings }
  const rules = [...declared, ...own]
  const metrics = createGatewayMetrics(options.metrics, Object.keys(upstreams))
  const activity = new Activity({ clock, log, history: options.history, onDropped: metrics.recordLostPeriod })
  const routing = new Routing({ declared, own })
  const addresses = createAddresses(options.trustedProxies ?? [])
  const policies = createPolicies(options, rules, planLookup(options, metrics))
  const identities = createIdentities(options, addresses, policies, activity)
  const ingress = createIngress({
    ...ingressDefaults,
    ...options,
    identities,
    addresses,
    routing,
    policies,
    metrics,
    activity,
  })
  const watch = createCredentialWatch(identities, clock, log)
  const contextTokens = createContextTokens(options.contextIssuer ?? 'gatehouse', clock, options.contextSecret)
  const upstreamRoutes = new UpstreamRoutes({
    rules: rules.filter(({ upstream }) => upstream !== undefined),
    upstreams,
    routing,
    identityOf: ingress.identityOf,
    anonymous: (raw) => identities.anonymous(raw),
    forwardingOf: addresses.forwardingOf,
    contextTokens,
    watch,
    openStreams: createOpenStreams(options.streamsPerCaller ?? defaultStreamsPerCaller),
    clock,
    onBreaker: breakerChange(metrics, log),
  })
  const upstreamStates = () => upstreamRoutes.states()
  const blocks = new AttemptBlocks(clock)
  const reading = { activity, routing, upstreamStates, policies, blocks }
  const routesOptions = { ...routesDefaults(log, ingress), ...options, ...reading, contextTokens, rules, own }
  return {
    authenticate: ingress.authenticate,
    watch: watch.watch,
    attempts: createAttemptLimits({ limiter, policies, metrics, activity, blocks }),
    reload: policies.reload,
    setOverrides: policies.setOverrides,
    setClientPolicies: policies.setClientPolicies,
    async stop() {
      await Promise.all([activity.stop(), upstreamRoutes.stop()])
    },
    plugin: atRoot(async (http) => {
      routing.register(http)
      http.addHook('onRequest', ingress.admit)
      await http.register((scope: Http) => routes(scope, routesOptions))
      await http.register(async (scope: Http) => upstreamRoutes.register(scope))
    }),
  }
}

const routesDefaults = (log: Log, { authenticate }: Ingress) => ({
  authenticate,
  recordChange: changesInLog(log),
  maxGrant: defaultMaxGrant,
})

const ingressDefaults = { realm: 'gatehouse', ietfFields: false } as const

function createIdentities(
  options: GatewayOptions,
  addresses: Addresses,
  policies: Policies,
  activity: Activity,
): IdentityResolver {
  const { bearer, clock, resolveApiKey, realm = ingressDefaults.realm } = options
  const apiKeys = createApiKeys(resolveApiKey, clock, realm)
  const badCredentialLimit = createBadCredentialLimit(
    () => policies.get(badCredentials),
    clock,
    (decision, identifier) => activity.record(decision, { route: badCredentials, identifier }),
  )
  return new IdentityResolver({ bearer, apiKeys, addresses, badCredentialLimit, realm })
}

function planLookup(options: GatewayOptions, metrics: GatewayMetrics) {
  const { planOf, clock, log, clientPolicies, builtInClientPolicies } = options
  const onFailure = (error: unknown) => {
    metrics.recordPlanFailure()
    log.warn({ err: error }, 'plan lookup failed')
  }
  return { planOf, clock, onFailure, clientPolicies, builtInClientPolicies }
}

const breakerChange = (metrics: GatewayMetrics, log: Log) => (upstream: string, state: BreakerState) => {
  metrics.setBreaker(upstream, state)
  if (state !== 'half-open') log.warn({ upstream }, `the breaker of an upstream is ${state}`)
}

/** Makes hooks apply to the routes beside the plugin too, not only within it (fastify's `skip-override`). */
function atRoot(plugin: Gateway['plugin']): Gateway['plugin'] {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
