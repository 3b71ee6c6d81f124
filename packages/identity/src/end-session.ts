import { message } from './messages.ts'
import type { Parts } from './parts.ts'

/** What is told to a client whose user's session ended (OpenID Connect Back-Channel Logout §2.4). */
export interface LogoutNotice {
  readonly clientId: string
  readonly subject: string
  readonly sessionId: string
}

const keptMs = 2 * 60 * 60_000

/** Ends a session, and puts a notice for every client that was used in it into the outbox. */
export function endSession(
  parts: Pick<Parts, 'store' | 'clock' | 'encryptionKey'>,
  sessionId: string,
  userId: string,
): Promise<boolean> {
  return parts.store.sessions.end(sessionId, userId, (clientIds) =>
    clientIds.map((clientId) => {
      const notice: LogoutNotice = { clientId, subject: userId, sessionId }
      return message(parts, 'logout', userId, notice, keptMs)
    }),
  )
}
