import type { Clock } from '@gatehouse/kit'
import { newId } from '../ids.ts'
import type { NotifyRequest } from '../notification.ts'
import { readRequest, tellFaults } from '../read-request.ts'
import type { DeadLetters } from '../store.ts'
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
  const refuse = async (message: TopicMessage, reason: string) => {
    await deadLetters.keepInvalid(newId(0), message.text, reason, clock.now())
    message.terminate(reason)
  }
  return async (message) => {
    const read = requestOf(message)
    if (typeof read === 'string') return refuse(message, read)
    const turn = { key: message.key, place: message.place }
    const result = await accept.one({ request: read, source: 'topic', turn }).catch(() => undefined)
    if (!result) message.later(troubleDelayMs)
    else if (!('refused' in result)) message.ack()
    else await refuse(message, result.refused.message)
  }
}

/** The request in a message, its key filled in, or what is wrong with it. */
function requestOf({ text, key }: TopicMessage): NotifyRequest | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `it is not JSON: ${(error as Error).message}`
  }
  const request = readRequest(value)
  if (!('event' in request)) return `it is no notify request: ${tellFaults(request)}`
  return request.dedup_key === undefined ? { ...request, dedup_key: key } : request
}
