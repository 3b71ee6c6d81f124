import type { FastifyRequest } from 'fastify'

/** The caller of a request with a bearer token, as the injected check returns it. */
export interface Caller {
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId?: string | undefined
  readonly scopes: ReadonlySet<string> | readonly string[]
  /** The grant that the token was issued under. */
  readonly grantId?: string | undefined
}

/** Checks the bearer token and the scope. @throws an error that is answered with 401 or 403 */
export type Authenticate = (request: FastifyRequest, scope: string | undefined) => Promise<Caller> | Caller
