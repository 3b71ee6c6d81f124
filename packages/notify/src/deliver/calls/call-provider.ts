import type { OutgoingMessage, Provider, SendResult } from '@gatehouse/providers'
import { createDeadlines, type Deadline } from '@gatehouse/providers'
import { notificationIdOf } from '../../model/id.ts'
import type { Content, Message, Target } from '../../model/notification.ts'
import type { ClaimedDelivery } from '../../store/store.ts'

/** The message of a delivery to one of its targets, with the id that every try of it carries. */
export function createOutgoing(claimed: ClaimedDelivery, target: Target): OutgoingMessage {
  const content = contentOf(claimed.message)
  return {
    id: claimed.channel === 'push' ? `${claimed.deliveryId}.${target.id}` : claimed.deliveryId,
    deliveryId: claimed.deliveryId,
    notificationId: notificationIdOf(claimed.deliveryId),
    userId: claimed.userId,
    channel: claimed.channel,
    event: claimed.event,
    critical: claimed.critical,
    retried: claimed.attempt > 1,
    target,
    content,
  }
}

/** The message without what is kept of its attempts. */
function contentOf(message: Message): Content {
  const { targets, accepted: taken, waitsSince, postponements, earlierClaims, ...mine } = message
  const { failedProviders, providerPauses, failoverOnTimeout, unresolved, ...content } = mine
  return content
}

const deadlines = new WeakMap<Provider, () => Deadline>()

function deadlineOf(provider: Provider): Deadline {
  const known = deadlines.get(provider)
  if (known) return known()
  const fresh = createDeadlines(provider.timeoutMs, `${provider.name} did not answer within ${provider.timeoutMs} ms`)
  deadlines.set(provider, fresh)
  return fresh()
}

/** Calls a provider, for no longer than it may take. A call that throws or never answers is ambiguous. */
export function callProvider(provider: Provider, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
  return new Promise((resolve) => {
    const deadline = deadlineOf(provider)
    const failed = (error: unknown) => {
      leave()
      const reason = String((error as Error).message).slice(0, 500)
      resolve(messages.map(() => ({ kind: 'ambiguous', reason })))
    }
    const leave = deadline.watch(failed)
    const answered = (results: readonly SendResult[]) => {
      leave()
      resolve(messages.map((_, index) => results[index] ?? { kind: 'ambiguous', reason: 'the provider left it out' }))
    }
    try {
      provider.send(messages, deadline.signal).then(answered, failed)
    } catch (error) {
      failed(error)
    }
  })
}
