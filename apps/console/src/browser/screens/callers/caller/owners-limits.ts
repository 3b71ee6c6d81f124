import type { PolicyStanding } from '@gatehouse/client'

/** The scope of owners, who alone give attempts to sign in or to enter a code back. */
const ownerScope = 'admin:roles'

/** Whether a person with these scopes may reset what a policy counted, or give a part of it back. */
export function mayReset({ limits_attempts: limitsAttempts }: PolicyStanding, scopes: readonly string[]): boolean {
  return !limitsAttempts || scopes.includes(ownerScope)
}

/**
 * What somebody who unblocks callers is offered for one under these policies: the button, or why there is none. Undefined
 * where it would change nothing: no policy rejects the caller, or only those that count all callers together.
 */
export function offerToUnblock(
  policies: readonly PolicyStanding[],
  scopes: readonly string[],
): 'unblock' | 'owners_only' | undefined {
  const rejecting = policies.filter(({ allowed, shared }) => !allowed && !shared)
  if (rejecting.length === 0) return undefined
  return rejecting.every((one) => mayReset(one, scopes)) ? 'unblock' : 'owners_only'
}
