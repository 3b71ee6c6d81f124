import { type Clock, isCleanText } from '@gatehouse/kit'
import type { NotifyRequest } from '../notification.ts'
import { largestEventBytes } from '../notify-body.ts'
import { readRequest, tellFaults } from '../read-request.ts'
import type { DeadLetters, InvalidMessage } from '../store.ts'
import type { TopicMessage } from '../topic.ts'
import type { Accept } from './accept.ts'

export interface TopicIntakeOptions {
  readonly accept: Accept
  readonly deadLetters: DeadLetters
  readonly clock: Clock
}

const troubleDelayMs = 5_000

/**
 * Takes messages of the topic `notifications`: acked once committed, and once parked when their event type is over its
 * rate; trouble of ours means later; only an invalid message is made a dead letter and never delivered again. One without
 * a dedup_key gets its place in the stream as its key, so that a redelivery is a duplicate.
 */
export function topicIntake({
  accept,
  deadLetters,
  clock,
}: TopicIntakeOptions): (message: TopicMessage) => Promise<void> {
  const refuse = async (message: TopicMessage, invalid: Omit<InvalidMessage, 'text'>) => {
    const text = (message.text ?? '').slice(0, largestEventBytes)
    await deadLetters.keepInvalid({ ...invalid, text }, clock.now())
    message.terminate(invalid.reason)
  }
  return async (message) => {
    const read = requestOf(message)
    if ('reason' in read) return refuse(message, read)
    const turn = { key: message.key, place: message.place }
    const occurredAt = Math.min(message.publishedAt ?? Number.POSITIVE_INFINITY, clock.now())
    const result = await accept.one({ request: read, source: 'topic', turn, occurredAt }).catch(() => undefined)
    if (!result) message.later(troubleDelayMs)
    else if (!('refused' in result)) message.ack()
    else {
      const { user_id: userId, event } = read
      await refuse(message, { reason: result.refused.message, userId, event, request: read })
    }
  }
}

/** The request in a message, its key filled in, or what is wrong with it. */
function requestOf({ text, key }: TopicMessage): NotifyRequest | Omit<InvalidMessage, 'text'> {
  if (text === undefined) return { reason: 'it is not UTF-8' }
  if (Buffer.byteLength(text) > largestEventBytes)
    return { reason: `it is larger than the ${largestEventBytes} bytes allowed here` }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { reason: `it is not JSON: ${(error as Error).message}` }
  }
  const request = readRequest(value)
  if (!('event' in request)) return { reason: `it is no notify request: ${tellFaults(request)}`, ...subjectOf(value) }
  return request.dedup_key === undefined ? { ...request, dedup_key: key } : request
}

/** Whom and what a request is about that is not valid, as far as it tells. */
function subjectOf(value: unknown): Pick<InvalidMessage, 'userId' | 'event'> {
  const { user_id: userId, event } = (value ?? {}) as Record<string, unknown>
  const named = (text: unknown): text is string => typeof text === 'string' && text.length <= 256 && isCleanText(text)
  return { ...(named(userId) ? { userId } : {}), ...(named(event) ? { event } : {}) }
}
