import type { Provider } from '@gatehouse/providers'

/**
 * Delivers in-app messages to the user's inbox. The item is written in the statement that records the attempt, so that a
 * worker that has lost its lease writes none.
 */
export function inboxProvider(): Provider {
  return {
    name: 'inbox',
    channel: 'in-app',
    timeoutMs: 10_000,
    batchSize: 200,
    send: async (messages) =>
      messages.map(({ deliveryId }) => ({ kind: 'accepted', providerMessageId: deliveryId, inInbox: true })),
  }
}
