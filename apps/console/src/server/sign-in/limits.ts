import type { FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'

/**
 * How many sign-ins may begin: each costs the identity service a pushed request and a row. By address, so that one does not
 * use up what there is for all; and in all.
 */
export const signInLimitPolicies = {
  'console-sign-in-address': { limit: 60, windowSeconds: 600, by: ['address'] },
  'console-sign-in': { limit: 1_200, windowSeconds: 600, by: ['console'] },
} as const

/** Whether another sign-in may begin; it is counted. */
export async function admitSignIn({ limit }: ConsoleContext, { ip }: FastifyRequest): Promise<boolean> {
  if (limit === undefined) return true
  if (!(await limit('console-sign-in-address', { address: ip })).allowed) return false
  return (await limit('console-sign-in', { console: 'all' })).allowed
}
