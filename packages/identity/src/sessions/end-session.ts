import type { PageContext } from '../context/context.ts'
import { createMessage } from '../mail/messages.ts'
import { revocationTimes } from '../model/grants/revocation-times.ts'
import type { CreateLogoutMessages, SignOutOptions } from '../store/index.ts'

/** What a client learns about an ended session (OpenID Connect Back-Channel Logout §2.4). */
export interface LogoutNotice {
  readonly clientId: string
  readonly subject: string
  readonly sessionId: string
}

const noticeTtlMs = 2 * 60 * 60_000

type EndContext = Pick<PageContext, 'clock' | 'encryptionKey' | 'builtInClients'>

/** Creates a message for every client that was used in a session that ends. */
function createLogoutMessages(context: EndContext): CreateLogoutMessages {
  return (sessionId, userId, clientIds) =>
    clientIds.map((clientId) => {
      const notice: LogoutNotice = { clientId, subject: userId, sessionId }
      return createMessage(context, { kind: 'logout', subject: userId, payload: notice, ttlMs: noticeTtlMs })
    })
}

/** The options for ending everything that a user is signed in to, now. */
export function signOutOptions(context: EndContext): SignOutOptions {
  const endsGrantsOf = [...context.builtInClients]
  return { ...revocationTimes(context), createLogoutMessages: createLogoutMessages(context), endsGrantsOf }
}

/** Ends a session and notifies the clients that were used in it. True when it was active. */
export async function endSession(
  context: EndContext & Pick<PageContext, 'store' | 'signalOutbox'>,
  sessionId: string,
  userId: string,
): Promise<boolean> {
  const ended = await context.store.sessions.end(sessionId, userId, signOutOptions(context))
  if (ended) context.signalOutbox()
  return ended
}
