export type { AlgorithmName } from './algorithms.ts'
export { bearerToken, type Credentials } from './authorization.ts'
export { type Bearer, createBearer, type Demand } from './bearer.ts'
export { BearerError, type BearerErrorCode, type BearerErrorReason } from './bearer-error.ts'
export { type Caller, hasScope } from './caller.ts'
export { type ChallengeOptions, wwwAuthenticate } from './challenge.ts'
export type { ClientAuthentication } from './client-authentication.ts'
export type { Clock } from './clock.ts'
export {
  createIntrospection,
  type Introspection,
  type IntrospectionOptions,
  type LocalIntrospectionOptions,
} from './introspection.ts'
export type { Jwk } from './key-set.ts'
export type { BearerObserver } from './observer.ts'
export type { BearerOptions, RevocationList } from './options.ts'
export {
  createRevocations,
  type Every,
  type ReadRevocations,
  type RevocationPage,
  type Revocations,
  type RevocationsOptions,
} from './revocations.ts'
export { type RevocationsOverHttpOptions, revocationsOverHttp } from './revocations-over-http.ts'
export { type ServiceToken, type ServiceTokenOptions, serviceToken } from './service-token.ts'
export type { TokenType } from './token-header.ts'
