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
import { badCredentials } from './config/default-limits.ts'
import type { LimitsDeclaration } from './config/limits.ts'
import type { UpstreamDeclaration } from './config/upstream-declaration.ts'
import { type Addresses, createAddresses } from './identify/addresses.ts'
import { createApiKeys, type ResolveApiKey } from './identify/api-keys.ts'
import { createBadCredentialLimit } from './identify/bad-credential-limit.ts'
import { IdentityResolver } from './identify/identity-resolver.ts'
import { createIngress } from './ingress.ts'
import { type AttemptLimits, createAttemptLimits } from './limits/attempt-limits.ts'
import { createPolicies, type Policies } from './limits/policies.ts'
import { createGatewayMetrics, type GatewayMetrics } from './metrics/gateway-metrics.ts'
import type { Authenticate } from './model/caller.ts'
import type { PlanOf } from './model/plan.ts'
import type { RouteRule } from './model/route-rule.ts'
import { createContextTokens } from './proxy/context-tokens.ts'
import type { Sibling } from './proxy/upstream.ts'
import { UpstreamRoutes } from './proxy/upstream-routes.ts'
import { routes } from './routes.ts'
import { Routing } from './routing/routing.ts'
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
 * The gateway: resolves the caller of each request, looks up the tier, checks the limits, and serves the request or
 * forwards it to an upstream.
 * @throws RangeError naming the setting that is wrong and what was expected
 */
export function createGateway(options: GatewayOptions): Gateway {
  const { limiter, routes: declared = [], ownRoutes: own = [], clock, log } = options
  const upstreams = { ...options.upstreams, ...options.siblings }
  const rules = [...declared, ...own]
  const metrics = createGatewayMetrics(options.metrics, Object.keys(upstreams))
  const routing = new Routing({ declared, own })
  const addresses = createAddresses(options.trustedProxies ?? [])
  const policies = createPolicies(options, rules, {
    planOf: options.planOf,
    clock,
    onFailure: planFailure(metrics, log),
  })
  const identities = createIdentities(options, addresses, policies)
  const ingress = createIngress({ ...ingressDefaults, ...options, identities, addresses, routing, policies, metrics })
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
  return {
    authenticate: ingress.authenticate,
    watch: watch.watch,
    attempts: createAttemptLimits({ limiter, policies, metrics, clock }),
    reload: policies.reload,
    stop: () => upstreamRoutes.stop(),
    plugin: atRoot(async (http) => {
      routing.register(http)
      http.addHook('onRequest', ingress.admit)
      const { authenticate } = ingress
      const { limits } = policies
      const routesOptions = { ...routesDefaults(log), ...options, contextTokens, authenticate, limits, rules }
      await http.register((scope: Http) => routes(scope, routesOptions))
      await http.register(async (scope: Http) => upstreamRoutes.register(scope))
    }),
  }
}

const routesDefaults = (log: Log) => ({ recordChange: changesInLog(log), maxGrant: defaultMaxGrant })

const ingressDefaults = { realm: 'gatehouse', ietfFields: false } as const

function createIdentities(options: GatewayOptions, addresses: Addresses, policies: Policies): IdentityResolver {
  const { bearer, clock, resolveApiKey, realm = ingressDefaults.realm } = options
  const apiKeys = createApiKeys(resolveApiKey, clock, realm)
  const badCredentialLimit = createBadCredentialLimit(() => policies.get(badCredentials), clock)
  return new IdentityResolver({ bearer, apiKeys, addresses, badCredentialLimit, realm })
}

const planFailure = (metrics: GatewayMetrics, log: Log) => (error: unknown) => {
  metrics.recordPlanFailure()
  log.warn({ err: error }, 'plan lookup failed')
}

const breakerChange = (metrics: GatewayMetrics, log: Log) => (upstream: string, state: BreakerState) => {
  metrics.setBreaker(upstream, state)
  if (state !== 'half-open') log.warn({ upstream }, `the breaker of an upstream is ${state}`)
}

/** Hooks hold for the routes beside the plugin too, not only for those within (fastify's `skip-override`). */
function atRoot(plugin: Gateway['plugin']): Gateway['plugin'] {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
