import type { FastifyRequest } from 'fastify'

/** Who made a request with a bearer token, as the handed-in check tells it. */
export interface Caller {
  readonly subject: string
  readonly kind: 'user' | 'client'
  readonly clientId?: string | undefined
  readonly scopes: ReadonlySet<string> | readonly string[]
  /** The grant that the token was issued under. */
  readonly grantId?: string | undefined
}

/** Checks the bearer credential and the scope; throws what answers 401 or 403. */
export type Authenticate = (request: FastifyRequest, scope: string | undefined) => Promise<Caller> | Caller
