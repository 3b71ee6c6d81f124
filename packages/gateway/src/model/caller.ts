import type { FastifyRequest } from 'fastify'

/** Who makes a request, once verified: what services get from `authenticate`, and what upstreams are told. */
export interface Caller {
  /** The user; the client itself where `kind` is `client`. An API key stands for its owner. */
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId?: string
  readonly scopes: ReadonlySet<string>
  readonly roles: readonly string[]
  /** What a revocation names. */
  readonly grantId?: string
  /** The plan that the credential itself carries: a client's or a key's. */
  readonly plan?: string
  /** The id of the API key, where one was shown. */
  readonly keyId?: string
  /** When the credential ends, Unix milliseconds; an API key may last for ever. */
  readonly expiresAt?: number
}

/** Whether the caller holds every name of a space-separated scope. */
export function holdsScope(caller: Caller, scope: string): boolean {
  return caller.scopes.has(scope) || scope.split(' ').every((name) => name === '' || caller.scopes.has(name))
}

/**
 * Who makes the request, if they may: services call it with the scope an endpoint needs.
 * @throws Problem 401 with RFC 6750's `WWW-Authenticate` when the credential is missing or no good, 403 when it lacks
 * the scope.
 */
export type Authenticate = (request: Pick<FastifyRequest, 'raw'>, scope?: string) => Promise<Caller>
