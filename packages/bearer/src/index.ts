export { type AuthenticateOptions, type Bearer, createBearer } from './bearer.ts'
export {
  type AuthenticationRequirement,
  gatehouseAcrOrder,
  type SignIn,
} from './core/authentication-requirement.ts'
export { BearerError, type BearerErrorCode, type BearerErrorReason } from './core/bearer-error.ts'
export { type Caller, hasScope } from './core/caller.ts'
export type { Clock } from './core/clock.ts'
export type { BearerObserver } from './core/observer.ts'
export { bearerToken, type Credentials } from './http/authorization.ts'
export { type ChallengeOptions, wwwAuthenticate } from './http/challenge.ts'
export type { ClientAuthentication } from './http/client-authentication.ts'
export {
  createServiceToken,
  type ServiceToken,
  type ServiceTokenOptions,
} from './http/service-token.ts'
export {
  createIntrospection,
  type Introspection,
  type IntrospectionOptions,
  type LocalIntrospectionOptions,
} from './introspection/introspection.ts'
export type { AlgorithmName } from './keys/algorithms.ts'
export type { Jwk } from './keys/key-set.ts'
export type { BearerOptions, RevocationList } from './options.ts'
export {
  createRevocations,
  type ReadRevocations,
  type RevocationPage,
  type Revocations,
  type RevocationsOptions,
  type StartInterval,
} from './revocations/revocations.ts'
export {
  createRevocationsReader,
  type RevocationsReaderOptions,
} from './revocations/revocations-over-http.ts'
export type { TokenType } from './token/token-header.ts'
