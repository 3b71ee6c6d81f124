import type { IdentityContext } from '../context/context.ts'
import type { RevocationTimes } from '../store/index.ts'

const margin = 5 * 60_000
/** No access token lives longer than this, whatever a client or a resource is set to. */
export const maxAccessTokenMs = 60 * 60_000

/** Now, and when the feed may forget what is revoked now: when no access token from before can be valid any more. */
export function revocationTimes({ clock }: Pick<IdentityContext, 'clock'>): RevocationTimes {
  const now = clock.now()
  return { now, expiresAt: now + maxAccessTokenMs + margin }
}
