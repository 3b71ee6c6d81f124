import { randomUUIDv7 } from 'node:crypto'
import { seal } from '@gatehouse/kit'
import type { Parts } from './parts.ts'
import type { OutboxMessage } from './store.ts'

/** What is told to a client whose user's session ended (OpenID Connect Back-Channel Logout §2.4). */
export interface LogoutNotice {
  readonly clientId: string
  readonly subject: string
  readonly sessionId: string
}

const keptMs = 2 * 60 * 60_000

/** Ends a session, and puts a notice for every client that was used in it into the outbox. */
export function endSession(
  { store, clock, encryptionKey }: Pick<Parts, 'store' | 'clock' | 'encryptionKey'>,
  sessionId: string,
  userId: string,
): Promise<boolean> {
  const now = clock.now()
  return store.sessions.end(sessionId, userId, (clientIds) =>
    clientIds.map((clientId): OutboxMessage => {
      const id = randomUUIDv7()
      const notice: LogoutNotice = { clientId, subject: userId, sessionId }
      return {
        id,
        kind: 'logout',
        subject: userId,
        payloadSealed: seal(JSON.stringify(notice), encryptionKey, `outbox ${id}`),
        dueAt: now,
        expiresAt: now + keptMs,
      }
    }),
  )
}
