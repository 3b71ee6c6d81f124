import type { Parts } from '../context/context.ts'
import { message } from '../mail/messages.ts'
import { revocationTimes } from '../model/revocation-times.ts'
import type { TellLogout, UserEnd } from '../store/index.ts'

/** What is told to a client whose user's session ended (OpenID Connect Back-Channel Logout §2.4). */
export interface LogoutNotice {
  readonly clientId: string
  readonly subject: string
  readonly sessionId: string
}

const keptMs = 2 * 60 * 60_000

type EndParts = Pick<Parts, 'clock' | 'encryptionKey'>

/** A notice for every client that was used in a session that ends. */
function logoutNotices(parts: EndParts): TellLogout {
  return (sessionId, userId, clientIds) =>
    clientIds.map((clientId) => {
      const notice: LogoutNotice = { clientId, subject: userId, sessionId }
      return message(parts, 'logout', userId, notice, keptMs)
    })
}

/** The end, now, of everything that a user is signed in to, told to the clients. */
export function endOfUser(parts: EndParts): UserEnd {
  return { ...revocationTimes(parts), tell: logoutNotices(parts) }
}

/** Ends a session, and tells the clients that were used in it. True when it lived. */
export async function endSession(
  parts: EndParts & Pick<Parts, 'store' | 'wakeOutbox'>,
  sessionId: string,
  userId: string,
): Promise<boolean> {
  const ended = await parts.store.sessions.end(sessionId, userId, logoutNotices(parts))
  if (ended) parts.wakeOutbox()
  return ended
}
