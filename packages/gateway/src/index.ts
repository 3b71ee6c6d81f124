export type { History } from './activity/history.ts'
export { createStoreWatch, type StoreWatch } from './activity/store-watch.ts'
export { completeLimits, declarationOf, type LimitsDocument, limitsFor } from './config/declared-limits.ts'
export { consolePolicy, defaultPolicies, defaultTiers, producerPolicy } from './config/default-limits.ts'
export { PolicyDeclaration, TierDeclaration } from './config/limit-declaration.ts'
export type { AttemptLimitDeclaration } from './config/policy-rules.ts'
export { RouteDeclaration, routeRuleOf } from './config/route-declaration.ts'
export { UpstreamDeclaration } from './config/upstream-declaration.ts'
export { createGateway, defaultMaxGrant, type Gateway, type GatewayOptions } from './gateway.ts'
export { operation as gatewayOperations } from './http/operations.ts'
export { type ApiKey, type ApiKeys, createApiKeys, type ResolveApiKey } from './identify/api-keys.ts'
export { createAuthenticate } from './identify/authenticate.ts'
export { createClientAddressLookup } from './identify/client-address.ts'
export { createForwardedClaims } from './identify/forwarded-claims.ts'
export {
  createIdentityClient,
  type IdentityClient,
} from './identify/identity-client.ts'
export type { AttemptLimits } from './limits/attempt-limits.ts'
export { followLimits, type LimitFollower } from './limits/follower.ts'
export { observeBearer } from './metrics/bearer-metrics.ts'
export {
  countClockJumps,
  countEvictions,
  countUnconfirmedUnits,
  observeLimiter,
  reportEviction,
  reportGateways,
  reportHotKeys,
} from './metrics/limiter-metrics.ts'
export type { Authenticate, Caller } from './model/caller.ts'
export type { LimitFeed, LimitOverride, LimitReport, LimitSource } from './model/limit-feed.ts'
export type { PlanOf } from './model/plan.ts'
export { type RouteRule, unlimited } from './model/route-rule.ts'
export { upstreamDefaults } from './proxy/upstream.ts'
export { shadowedRules } from './routing/route-table.ts'
export { ruleText, signInFault, templateFault } from './routing/rule-text.ts'
export { type CredentialWatch, createStandaloneWatch } from './streams/credential-watch.ts'
export { defaultStreamsPerCaller } from './streams/open-streams.ts'
