import { hash } from 'node:crypto'
import {
  createDeadlines,
  type Deadline,
  type OutgoingMessage,
  type Provider,
  type SendResult,
} from '@gatehouse/providers'
import type { Channel } from '../../model/channel.ts'
import { notificationIdOf } from '../../model/id.ts'
import type { Content, Message, Target } from '../../model/notification/notification.ts'
import { storable } from '../../model/storable.ts'
import type { ClaimedDelivery } from '../../store/store.ts'

/** Printable ASCII, without spaces: what header fields can carry. */
const plain = /^[\x21-\x7e]+$/

/**
 * The id of the message of a delivery to one of its targets: of a push with the id of the device, or its hash if no header
 * field can carry it.
 */
export function messageIdOf(deliveryId: string, channel: Channel, { id }: Pick<Target, 'id'>): string {
  if (channel !== 'push') return deliveryId
  return `${deliveryId}.${plain.test(id) ? id : hash('sha256', id, 'base64url')}`
}

/** The message of a delivery to one of its targets, with an id that is the same in every attempt. */
export function createOutgoing(claimed: ClaimedDelivery, target: Target): OutgoingMessage {
  const content = contentOf(claimed.message)
  return {
    id: messageIdOf(claimed.deliveryId, claimed.channel, target),
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

/** The maximum length of what a provider says in a result, in UTF-16 code units. */
const maxTextLength = 500

const leftOut: SendResult = { kind: 'ambiguous', reason: 'the provider left it out' }

/** Of a provider that is not checked by types it may be anything. */
function bounded(text: unknown): string {
  return storable(String(text ?? '').slice(0, maxTextLength))
}

/** The result with texts that can be recorded: a step that can't be is left to its lease, and all of it is sent again. */
function recordable(result: SendResult): SendResult {
  if (result.kind !== 'accepted') {
    const code = 'code' in result ? { code: bounded(result.code) } : {}
    return { ...result, ...code, reason: bounded(result.reason) }
  }
  const { providerMessageId } = result
  return providerMessageId === undefined ? result : { ...result, providerMessageId: bounded(providerMessageId) }
}

/**
 * Calls a provider, for at most its `timeoutMs`. The result of a call that throws or does not return is ambiguous. What
 * the results say is bounded, and of it what can't be stored is replaced.
 */
export function callProvider(provider: Provider, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
  return new Promise((resolve) => {
    const deadline = deadlineOf(provider)
    const fail = (error: unknown) => {
      stopWatching()
      const reason = bounded(String((error as Error).message))
      resolve(messages.map(() => ({ kind: 'ambiguous', reason })))
    }
    const stopWatching = deadline.watch(fail)
    const finish = (results: readonly SendResult[]) => {
      stopWatching()
      resolve(messages.map((_, index) => recordable(results[index] ?? leftOut)))
    }
    try {
      provider.send(messages, deadline.signal).then(finish).catch(fail)
    } catch (error) {
      fail(error)
    }
  })
}
