import type { FastifyRequest } from 'fastify'

/**
 * How many sign-ins may begin: each costs the identity service a pushed request and a row. By address, so that one does not
 * use up what there is for all; and in all, of browsers that are not known.
 */
export const signInLimitPolicies = {
  'console-sign-in-address': { limit: 60, windowSeconds: 600, by: ['address'], failureMode: 'local' },
  'console-sign-in': { limit: 1_200, windowSeconds: 600, by: ['console'], failureMode: 'local' },
  'console-callback-address': { limit: 120, windowSeconds: 600, by: ['address'], failureMode: 'local' },
} as const

/** Counts a sign-in that begins; by address, or all of them together. */
export type LimitSignIn = (
  policy: keyof typeof signInLimitPolicies,
  identifiers: Readonly<Record<string, string>>,
) => Promise<{ readonly allowed: boolean }>

/**
 * Whether another sign-in may begin; it is counted. Without a limit it may. Known browsers are not counted with all
 * others: else anybody with enough addresses could keep every administrator out.
 */
export async function admitSignIn(
  limit: LimitSignIn | undefined,
  { ip }: FastifyRequest,
  isKnown: () => Promise<boolean>,
): Promise<boolean> {
  if (limit === undefined) return true
  if (!(await limit('console-sign-in-address', { address: ip })).allowed) return false
  return (await isKnown()) || (await limit('console-sign-in', { console: 'all' })).allowed
}

/**
 * Whether a request is a browser going to a page, not a page loading something: pages of others could have each of their
 * visitors begin sign-ins. Without Sec-Fetch-Dest it counts as going: of programs, old browsers and over plain http.
 */
export function isNavigation({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { 'sec-fetch-mode': mode = 'navigate', 'sec-fetch-dest': destination } = headers
  return destination === undefined || (destination === 'document' && mode === 'navigate')
}

/** Whether another sign-in may end; it is counted. Each exchanges a code at the identity service. */
export async function admitCallback(limit: LimitSignIn | undefined, { ip }: FastifyRequest): Promise<boolean> {
  return limit === undefined || (await limit('console-callback-address', { address: ip })).allowed
}

/** The calls to the identity service that sign-ins have under way, which anybody may cause. */
export interface SignInPlaces {
  /** Takes a place; undefined when the address, or all of them together, have as many as they may. */
  take(address: string): (() => void) | undefined
}

const perAddress = 4
const inAll = 32

/** Counts the calls of sign-ins in this process, so that a slow identity service is not asked by thousands at once. */
export function createSignInPlaces(): SignInPlaces {
  const active = new Map<string, number>()
  let all = 0
  return {
    take(address) {
      const own = active.get(address) ?? 0
      if (own >= perAddress || all >= inAll) return undefined
      active.set(address, own + 1)
      all++
      return () => {
        all--
        const left = (active.get(address) ?? 1) - 1
        if (left > 0) active.set(address, left)
        else active.delete(address)
      }
    },
  }
}
