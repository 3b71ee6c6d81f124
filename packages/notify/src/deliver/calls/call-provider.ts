import {
  createDeadlines,
  type Deadline,
  type OutgoingMessage,
  type Provider,
  type SendResult,
} from '@gatehouse/providers'
import { notificationIdOf } from '../../model/id.ts'
import type { Content, Message, Target } from '../../model/notification/notification.ts'
import type { ClaimedDelivery } from '../../store/store.ts'

/** The message of a delivery to one of its targets, with an id that is the same in every attempt. */
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

/** The message without what is remembered of its attempts. */
function contentOf(message: Message): Content {
  const { targets, partlyAccepted, waitsSince, postponements, earlierClaims, ...mine } = message
  const { failedProviders, providerPauses, failoverOnTimeout, unresolved, ...content } = mine
  return content
}

/** Calls of one provider share their deadlines. */
const deadlines = new WeakMap<Provider, () => Deadline>()

function deadlineOf(provider: Provider): Deadline {
  const existing = deadlines.get(provider)
  if (existing) return existing()
  const created = createDeadlines(provider.timeoutMs, `${provider.name} did not answer within ${provider.timeoutMs} ms`)
  deadlines.set(provider, created)
  return created()
}

/** Calls a provider, for at most its `timeoutMs`. The result of a call that throws or does not return is ambiguous. */
export function callProvider(provider: Provider, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
  return new Promise((resolve) => {
    const deadline = deadlineOf(provider)
    const fail = (error: unknown) => {
      stopWatching()
      const reason = String((error as Error).message).slice(0, 500)
      resolve(messages.map(() => ({ kind: 'ambiguous', reason })))
    }
    const stopWatching = deadline.watch(fail)
    const finish = (results: readonly SendResult[]) => {
      stopWatching()
      resolve(messages.map((_, index) => results[index] ?? { kind: 'ambiguous', reason: 'the provider left it out' }))
    }
    try {
      provider.send(messages, deadline.signal).then(finish, fail)
    } catch (error) {
      fail(error)
    }
  })
}
