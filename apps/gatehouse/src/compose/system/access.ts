import type { Authenticate } from '@gatehouse/gateway'
import type { FastifyRequest } from 'fastify'

/** The scopes that each read of the system requires; one is enough. */
export const systemScopes = {
  status: ['read:settings', 'admin:notifications'],
  config: ['read:audit', 'admin:audit'],
} as const

/** A check of callers. @throws Problem 401, 403 */
export function requireOneOf(authenticate: Authenticate, scopes: readonly string[]) {
  return async (request: FastifyRequest) => {
    const caller = await authenticate(request)
    return scopes.some((scope) => caller.scopes.has(scope)) ? caller : authenticate(request, scopes[0])
  }
}

/** The security of an operation in the API document. */
export function securityOf(scopes: readonly string[]) {
  return scopes.map((scope) => ({ bearer: [scope] }))
}
