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

/**
 * Whether a caller may read the plan of a user or client: users their own, so that nobody learns by it who there is;
 * clients, which look up tiers, that of anybody.
 */
export function mayReadPlan({ kind, subject }: Pick<Caller, 'kind' | 'subject'>, id: string): boolean {
  return kind === 'client' || subject === id
}
