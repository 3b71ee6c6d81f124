import { notificationIdOf } from '../ids.ts'
import type { Target } from '../notification.ts'
import type { OutgoingMessage, Provider, SendResult } from '../providers/provider.ts'
import type { ClaimedDelivery } from '../store.ts'

/** The message of a delivery to one of its targets, with the id that every try of it carries. */
export function outgoing(claimed: ClaimedDelivery, target: Target): OutgoingMessage {
  const { targets: _targets, taken: _taken, waitsSince: _since, ...content } = claimed.message
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

/** Calls a provider, for no longer than it may take. A call that throws or never answers is ambiguous. */
export async function callProvider(provider: Provider, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
  const ending = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const reason = `${provider.name} did not answer within ${provider.timeoutMs} ms`
    ending.abort(new Error(reason))
    late.reject(new Error(reason))
  }, provider.timeoutMs)
  try {
    const results = await Promise.race([provider.send(messages, ending.signal), late.promise])
    return messages.map((_, index) => results[index] ?? { kind: 'ambiguous', reason: 'the provider left it out' })
  } catch (error) {
    const reason = String((error as Error).message).slice(0, 500)
    return messages.map(() => ({ kind: 'ambiguous', reason }))
  } finally {
    clearTimeout(timer)
  }
}
