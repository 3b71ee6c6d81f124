import type { Provider } from '@gatehouse/providers'

/**
 * Carries in-app messages into the user's feed, where they stay until read and longer. The item is written with the
 * record of the attempt, so that a worker that has lost its lease writes none.
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
