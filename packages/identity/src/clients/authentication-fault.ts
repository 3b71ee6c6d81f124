import type { AuthMethod } from '../model/client.ts'

/** The check that a client failed when it authenticated. */
export type AuthenticationCheck =
  /** No client of this name is registered. */
  | 'client'
  /** It is registered for another way. */
  | 'method'
  | 'secret'
  /** The assertion is no JWT, or too long. */
  | 'format'
  | 'algorithm'
  /** None of the client's keys has the assertion's kid and algorithm, or several do. */
  | 'key'
  /** The client's `jwks_uri` did not answer with keys. */
  | 'jwks_uri'
  | 'signature'
  /** A claim that is needed is missing or of another type. */
  | 'claim'
  | 'issuer'
  | 'subject'
  | 'audience'
  | 'expired'
  | 'not_yet_valid'
  /** It ends later than an assertion may. */
  | 'lifetime'
  /** Its jti was used before. */
  | 'replayed'

/** Why a client was rejected: for the operator, never for the client. */
export interface AuthenticationFault {
  readonly check: AuthenticationCheck
  /** What was found and what was expected. */
  readonly detail: string
}

/** A rejected authentication of a client. */
export interface FailedAuthentication {
  /** As it is registered; undefined when no such client is. */
  readonly clientId: string | undefined
  readonly method: AuthMethod
  readonly fault: AuthenticationFault
}
