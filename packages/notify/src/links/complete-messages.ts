import type { Clock } from '@gatehouse/kit'
import type { OutgoingMessage } from '@gatehouse/providers'
import type { ReceiptTokens } from './receipt-token.ts'

/**
 * Gives the messages of one channel what they carry beside their text, just before they go out. `drafted` are hosts that
 * their text links to and its template does not yet.
 */
export type CompleteMessages = (
  messages: readonly OutgoingMessage[],
  drafted?: ReadonlySet<string>,
) => Promise<readonly OutgoingMessage[]>

/** Gives pushes the token that the app on the device reports with what became of them. */
export function withReceiptTokens(tokens: ReceiptTokens, clock: Clock): CompleteMessages {
  return async (messages) => {
    const now = clock.now()
    return messages.map((message) => ({ ...message, receiptToken: tokens.issue(message.deliveryId, now) }))
  }
}
