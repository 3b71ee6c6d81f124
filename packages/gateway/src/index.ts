export { PolicyDeclaration, RouteDeclaration, TierDeclaration, UpstreamDeclaration } from './config/declaration.ts'
export { defaultPolicies, defaultTiers, type GuardDeclaration, producerPolicy } from './config/limits.ts'
export { createGateway, defaultMaxGrant, type Gateway, type GatewayOptions } from './gateway.ts'
export { clientAddress } from './identify/addresses.ts'
export { type ApiKey, type ApiKeys, createApiKeys, type ResolveApiKey } from './identify/api-keys.ts'
export { authenticateWith } from './identify/authenticate.ts'
export { createForwardedClaims } from './identify/forwarded-claims.ts'
export { type IdentityOverHttp, identityOverHttp } from './identify/identity-client.ts'
export type { AttemptLimits } from './limits/attempt-limits.ts'
export { observeBearer } from './metrics/bearer-metrics.ts'
export {
  countClockMoves,
  countEvictions,
  observeLimiter,
  showEviction,
  showGateways,
  showHotKeys,
} from './metrics/limiter-metrics.ts'
export type { Authenticate, Caller } from './model/caller.ts'
export type { PlanOf } from './model/plan.ts'
export { type RouteRule, unlimited } from './model/route-rule.ts'
export { upstreamDefaults } from './proxy/upstream.ts'
export { shadowedRules } from './routing/route-table.ts'
export { ruleText, templateFault } from './routing/routing.ts'
export { type CredentialWatch, watchWith } from './streams/credential-watch.ts'
export { defaultStreamsPerCaller } from './streams/open-streams.ts'
