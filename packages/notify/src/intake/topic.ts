import { type Clock, findUncleanText, type Problem } from '@gatehouse/kit'
import { Compile } from 'typebox/compile'
import { newId } from '../ids.ts'
import type { NotifyRequest } from '../notification.ts'
import { NotifyBody } from '../notify-body.ts'
import type { DeadLetters } from '../store.ts'
import type { TopicMessage } from '../topic.ts'
import type { Accept } from './accept.ts'

export interface TopicIntakeOptions {
  readonly accept: Accept
  readonly deadLetters: DeadLetters
  readonly clock: Clock
}

const body = Compile(NotifyBody)
const troubleDelayMs = 5_000

/**
 * Takes messages of the topic `notifications`: acked once committed; an event type over its rate waits while the others
 * pass; trouble of ours means later; only an invalid message is made a dead letter and never delivered again. One
 * without a dedup_key gets its place in the stream as its key, so that a redelivery is a duplicate.
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
    const result = await accept.one({ request: read, source: 'topic' }).catch(() => undefined)
    if (!result) message.later(troubleDelayMs)
    else if (!('refused' in result)) message.ack()
    else if (result.refused.status === 429) message.later(retryAfterMs(result.refused))
    else await refuse(message, result.refused.message)
  }
}

function retryAfterMs({ headers }: Problem): number {
  return Number(headers['retry-after'] ?? '1') * 1_000
}

/** The request in a message, its key filled in, or what is wrong with it. */
function requestOf({ text, key }: TopicMessage): NotifyRequest | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `it is not JSON: ${(error as Error).message}`
  }
  if (!body.Check(value)) {
    const faults = body.Errors(value).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
    return `it is no notify request: ${faults.join('; ')}`
  }
  const unclean = findUncleanText(value)
  if (unclean !== undefined) return `${unclean} must be text without U+0000 and without lone surrogates`
  const request = value as NotifyRequest
  if (request.channels?.length === 0) return '/channels must name at least one channel'
  return request.dedup_key === undefined ? { ...request, dedup_key: key } : request
}
