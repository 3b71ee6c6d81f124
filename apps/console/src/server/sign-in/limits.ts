import type { FastifyRequest } from 'fastify'

/**
 * How many sign-ins may begin: each costs the identity service a pushed request and a row. By address, so that one does not
 * use up what there is for all; and in all.
 */
export const signInLimitPolicies = {
  'console-sign-in-address': { limit: 60, windowSeconds: 600, by: ['address'] },
  'console-sign-in': { limit: 1_200, windowSeconds: 600, by: ['console'] },
} as const

/** Counts a sign-in that begins; by address, or all of them together. */
export type LimitSignIn = (
  policy: keyof typeof signInLimitPolicies,
  identifiers: Readonly<Record<string, string>>,
) => Promise<{ readonly allowed: boolean }>

/** Whether another sign-in may begin; it is counted. Without a limit it may. */
export async function admitSignIn(limit: LimitSignIn | undefined, { ip }: FastifyRequest): Promise<boolean> {
  if (limit === undefined) return true
  if (!(await limit('console-sign-in-address', { address: ip })).allowed) return false
  return (await limit('console-sign-in', { console: 'all' })).allowed
}
