import { type Clock, DatabasePartUnavailable, isCleanText, isFaultOfInput, type Log } from '@gatehouse/kit'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import { createKeyedOrder } from '../model/work/keyed-order.ts'
import type { TopicMessage } from '../model/work/topic.ts'
import { maxEventBytes } from '../request/notify-body.ts'
import { formatFaults, readRequest } from '../request/read-request.ts'
import type { DeadLetters, InvalidMessage } from '../store/store.ts'
import type { Accept } from './accept.ts'
import { describeJsonFault } from './json-fault.ts'

/** What reading the topic needs. */
export interface TopicIntakeOptions {
  readonly accept: Accept
  readonly deadLetters: DeadLetters
  /** Failures of a message by its own fault before it is a dead letter. */
  readonly attempts: number
  readonly metrics: Pick<NotifyMetrics, 'topicFailures'>
  readonly clock: Clock
  readonly log: Log
}

const troubleDelayMs = 5_000
const firstRetryMs = 1_000
const maxRetryMs = 60_000

/**
 * Takes messages of the topic `notifications`: acked once committed, and once parked when their event type is over its
 * rate. An invalid message is made a dead letter at once. What fails by the fault of the surroundings comes later, as
 * often as it takes, and aside of others where a part of the database is away; a message that fails by its own fault comes later a number of times, which are counted in the
 * database, and is then a dead letter. One without a dedup_key gets its place in the stream as its key, so that a
 * redelivery is a duplicate. Of ordered messages of one user, each waits until the one before is committed.
 */
export function createTopicIntake(options: TopicIntakeOptions): (message: TopicMessage) => Promise<void> {
  const { metrics, log } = options
  const trouble = createTroubleLog(log)
  const inOrder = createKeyedOrder()
  const take = async (message: TopicMessage, read: Read): Promise<boolean> => {
    try {
      await ('reason' in read ? refuse(message, read, options) : accept(message, read, options))
      return true
    } catch (error) {
      metrics.topicFailures.inc({ fault: 'surroundings' })
      trouble(error)
      if (error instanceof DatabasePartUnavailable) await message.setAside(troubleDelayMs)
      else message.again(troubleDelayMs)
      return false
    }
  }
  return async (message) => {
    const read = requestOf(message)
    const work = () => take(message, read)
    if (!message.isOrdered || 'reason' in read) await work()
    else if (!(await inOrder(read.user_id, work))) message.again(troubleDelayMs)
  }
}

async function accept(message: TopicMessage, request: NotifyRequest, options: TopicIntakeOptions): Promise<void> {
  const { key, place, publishedAt = Number.POSITIVE_INFINITY } = message
  const occurredAt = Math.min(publishedAt, options.clock.now())
  const result = await options.accept
    .one({ request, source: 'topic', turn: { key, place }, occurredAt })
    .catch((error: unknown) => countFailure(message, request, error, options))
  if (!result) return
  if (!('refused' in result)) return message.ack()
  const { user_id: userId, event } = request
  await refuse(message, { reason: result.refused.message, userId, event, request }, options)
}

/** What is wrong with a message, whom and what it is about. */
type Invalid = Omit<InvalidMessage, 'key' | 'text'>

async function refuse(
  message: TopicMessage,
  invalid: Invalid,
  { deadLetters, clock }: TopicIntakeOptions,
): Promise<void> {
  await deadLetters.addInvalid({ ...invalid, key: message.key, text: textOf(message) }, clock.now())
  message.terminate(invalid.reason)
}

const textOf = ({ text = '' }: TopicMessage) => text.slice(0, maxEventBytes)

/** Counts a failure that is the message's own. @throws the error itself when it is not */
async function countFailure(
  message: TopicMessage,
  request: NotifyRequest,
  error: unknown,
  { deadLetters, attempts: maxAttempts, metrics, clock, log }: TopicIntakeOptions,
): Promise<undefined> {
  if (!isFaultOfInput(error)) throw error
  const { key } = message
  const reason = error instanceof Error ? error.message : String(error)
  const counted = await deadLetters.countFailure(
    { key, text: textOf(message), reason, request },
    maxAttempts,
    clock.now(),
  )
  metrics.topicFailures.inc({ fault: 'message' })
  const about = { err: error, key, event: request.event, attempt: counted.attempts }
  if (counted.isDead) {
    log.error(about, 'a message of the topic failed by its own fault and is a dead letter')
    message.terminate('it failed too often')
  } else {
    log.error(about, 'a message of the topic failed by its own fault and will be delivered again')
    message.later(Math.min(maxRetryMs, firstRetryMs * 2 ** (counted.attempts - 1)))
  }
}

const troubleLogMs = 10_000

/** Logs errors that meet all messages alike: the first at once, then one every ten seconds with how many there were. */
function createTroubleLog(log: Log): (error: unknown) => void {
  let messages = 0
  let nextAt = 0
  return (error) => {
    messages++
    if (performance.now() < nextAt) return
    log.error({ err: error, messages }, 'messages of the topic could not be handled and will be delivered again')
    messages = 0
    nextAt = performance.now() + troubleLogMs
  }
}

type Read = NotifyRequest | Invalid

/** The request in a message, its key filled in, or what is wrong with it. */
function requestOf({ text, key }: TopicMessage): Read {
  if (text === undefined) return { reason: 'it is not UTF-8' }
  if (Buffer.byteLength(text) > maxEventBytes)
    return { reason: `it is larger than the ${maxEventBytes} bytes allowed here` }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { reason: `it is not JSON: ${describeJsonFault(text, error)}` }
  }
  const request = readRequest(value)
  if (!('event' in request)) return { reason: `it is no notify request: ${formatFaults(request)}`, ...subjectOf(value) }
  return request.dedup_key === undefined ? { ...request, dedup_key: key } : request
}

/** Whom and what a request is about that is not valid, as far as it tells. */
function subjectOf(value: unknown): Pick<InvalidMessage, 'userId' | 'event'> {
  const { user_id: userId, event } = (value ?? {}) as Record<string, unknown>
  const named = (text: unknown): text is string => typeof text === 'string' && text.length <= 256 && isCleanText(text)
  return { ...(named(userId) ? { userId } : {}), ...(named(event) ? { event } : {}) }
}
