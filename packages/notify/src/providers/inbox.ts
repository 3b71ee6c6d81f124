import type { Clock } from '@gatehouse/kit'
import type { Inbox } from '../store.ts'
import type { Provider } from './provider.ts'

/** Carries in-app messages into the user's feed, where they stay until read and longer. */
export function inboxProvider(inbox: Inbox, clock: Clock): Provider {
  return {
    name: 'inbox',
    channel: 'in-app',
    timeoutMs: 10_000,
    batchSize: 200,
    async send(messages) {
      const createdAt = clock.now()
      await inbox.put(
        messages.map(({ deliveryId, userId, event, content }) => ({
          id: deliveryId,
          userId,
          event,
          createdAt,
          body: content.body,
          ...(content.subject === undefined ? {} : { subject: content.subject }),
        })),
      )
      return messages.map(({ deliveryId }) => ({ kind: 'accepted', providerMessageId: deliveryId }))
    },
  }
}
