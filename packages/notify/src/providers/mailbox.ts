import type { Clock } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { Channel } from '../model/channel.ts'
import type { Mailbox } from '../store/store.ts'

/**
 * Stores messages of a channel for /dev/mailbox instead of sending them. `onward` is a provider that also delivers them, if there is
 * one (the in-app inbox).
 */
export function mailboxProvider(channel: Channel, mailbox: Mailbox, clock: Clock, onward?: Provider): Provider {
  return {
    name: `mailbox-${channel}`,
    channel,
    timeoutMs: 10_000,
    batchSize: 200,
    async send(messages, signal) {
      const at = clock.now()
      await mailbox.add(
        messages.map(({ id, deliveryId, userId, event, target, content, receiptToken, headers }) => ({
          id,
          deliveryId,
          userId,
          channel,
          address: target.address,
          at,
          content: {
            body: content.body,
            ...(content.subject === undefined ? {} : { subject: content.subject }),
            ...(content.html === undefined ? {} : { html: content.html }),
            ...(receiptToken === undefined ? {} : { receiptToken }),
            event,
            ...(target.service === undefined ? {} : { service: target.service }),
            ...(headers === undefined ? {} : { headers }),
          },
        })),
      )
      if (onward) return onward.send(messages, signal)
      return messages.map(({ id }) => ({ kind: 'accepted', providerMessageId: id }))
    },
  }
}
