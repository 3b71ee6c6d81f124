import type { FastifyRequest } from 'fastify'

/** The verified caller of a request: what `authenticate` returns, and what upstreams receive in headers. */
export interface Caller {
  /** The user, or the client where `kind` is `client`. The subject of an API key is its owner. */
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId?: string
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
  /** The grant, by which tokens are revoked. */
  readonly grantId?: string
  /** The plan in the credential itself: a client's or a key's. */
  readonly plan?: string
  /** The id of the API key, where the credential is one. */
  readonly keyId?: string
  /** The class of the user's sign-in (RFC 9470 §6); undefined for an API key. */
  readonly acr?: string
  /** When the user signed in, in Unix milliseconds; undefined for an API key. */
  readonly authTime?: number
  /** When the credential expires, in Unix milliseconds; undefined for an API key without an end. */
  readonly expiresAt?: number
}

/** Whether the caller has every name of a space-separated scope (RFC 6749 §3.3). */
export function holdsScope(caller: Caller, scope: string): boolean {
  return caller.scopes.has(scope) || scope.split(' ').every((name) => name === '' || caller.scopes.has(name))
}

/**
 * Returns the caller of a request, if it has the scope that an endpoint requires.
 * @throws Problem 401 with `WWW-Authenticate` (RFC 6750 §3) when the credential is missing or invalid, 403 when it lacks
 * the scope
 */
export type Authenticate = (request: Pick<FastifyRequest, 'raw'>, scope?: string) => Promise<Caller>
