export { clientAddress } from './addresses.ts'
export { type ApiKey, type ApiKeys, createApiKeys, type ResolveApiKey } from './api-key.ts'
export { authenticateWith } from './authenticate.ts'
export { observeBearer } from './bearer-metrics.ts'
export type { Authenticate, Caller } from './caller.ts'
export { type CredentialWatch, watchWith } from './credential-watch.ts'
export { PolicyDeclaration, RouteDeclaration, TierDeclaration, UpstreamDeclaration } from './declaration.ts'
export { createForwardedClaims } from './forwarded-claim.ts'
export { createGateway, defaultMaxGrant, type Gateway, type GatewayOptions } from './gateway.ts'
export type { AttemptLimits } from './guard.ts'
export { type IdentityOverHttp, identityOverHttp } from './identity-over-http.ts'
export {
  countClockMoves,
  countEvictions,
  observeLimiter,
  showEviction,
  showGateways,
  showHotKeys,
} from './limiter-metrics.ts'
export { defaultPolicies, defaultTiers, type GuardDeclaration, producerPolicy } from './limits.ts'
export { defaultStreamsPerCaller } from './open-streams.ts'
export type { PlanOf } from './plan.ts'
export { type RouteRule, unlimited } from './route-rule.ts'
export { shadowedRules } from './route-table.ts'
export { ruleText, templateFault } from './routing.ts'
export { upstreamDefaults } from './upstream.ts'
