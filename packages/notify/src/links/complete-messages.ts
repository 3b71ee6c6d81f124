import type { Clock } from '@gatehouse/kit'
import type { OutgoingMessage } from '@gatehouse/providers'
import type { ReceiptTokens } from './receipt-token.ts'

/** Gives the messages of one channel what they carry beside their text, just before they go out. */
export type CompleteMessages = (messages: readonly OutgoingMessage[]) => Promise<readonly OutgoingMessage[]>

/** Gives pushes the token that the app on the device reports with what became of them. */
export function withReceiptTokens(tokens: ReceiptTokens, clock: Clock): CompleteMessages {
  return async (messages) => {
    const now = clock.now()
    return messages.map((message) => ({ ...message, receiptToken: tokens.issue(message.deliveryId, now) }))
  }
}
