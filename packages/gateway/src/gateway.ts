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
import { createAddresses } from './addresses.ts'
import { createAdmission } from './admission.ts'
import { createApiKeys, type ResolveApiKey } from './api-key.ts'
import type { Authenticate } from './authenticate.ts'
import { createBrake } from './brake.ts'
import { createContextTokens } from './context-token.ts'
import { type CredentialWatch, createCredentialWatch } from './credential-watch.ts'
import type { UpstreamDeclaration } from './declaration.ts'
import { type AttemptLimits, createAttemptLimits } from './guard.ts'
import { createIdentify } from './identify.ts'
import { badCredentials, type LimitsDeclaration } from './limits.ts'
import { createGatewayMetrics } from './metrics.ts'
import { createPolicies } from './policies.ts'
import { type RouteRule, ruleFor } from './route-rule.ts'
import { routes } from './routes.ts'
import type { PlanOf } from './tier.ts'
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
  const { limiter, bearer, routes: rules = [], realm = 'gatehouse', clock, log } = options
  const metrics = createGatewayMetrics(options.metrics, Object.keys(options.upstreams ?? {}))
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
  const admission = createAdmission({ limiter, identify, addresses, policies, metrics, realm, ietfFields })
  const contextTokens = createContextTokens(options.contextIssuer ?? 'gatehouse', clock, options.contextSecret)
  const upstreams = options.upstreams ?? {}
  const watch = createCredentialWatch(identify, clock, log)
  const { visitOf } = admission
  const onBreaker = (upstream: string, state: BreakerState) => {
    metrics.breakerChanged(upstream, state)
    if (state !== 'half-open') log.warn({ upstream }, `the breaker before an upstream is ${state}`)
  }
  const about = { rules, upstreams, visitOf, identify, contextTokens, watch, clock, onBreaker }
  const upstreamRoutes = createUpstreamRoutes(about)
  return {
    authenticate: admission.authenticate,
    watch: watch.watch,
    attempts: createAttemptLimits({ limiter, policies, metrics, clock }),
    reload: policies.reload,
    stop: upstreamRoutes.stop,
    plugin: atRoot(async (http) => {
      http.addHook('onRoute', (route) => {
        const rule = route.config?.gatewayRule ?? ruleFor(rules, [route.method].flat()[0] ?? '', route.url)
        if (rule) route.config = { ...route.config, gatewayRule: rule }
      })
      http.addHook('onRequest', admission.admit)
      const { recordChange = changesInLog(log), maxGrant = defaultMaxGrant } = options
      const { authenticate } = admission
      const parts = { limiter, contextTokens, authenticate, recordChange, maxGrant, limits: policies.limits }
      await http.register((own: Http) => routes(own, parts))
      await http.register(upstreamRoutes.plugin)
    }),
  }
}

/** Hooks hold for the routes beside the plugin too, not only for those within (fastify's `skip-override`). */
function atRoot(plugin: Gateway['plugin']): Gateway['plugin'] {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
