import { decodeUtf8 } from '@gatehouse/kit'
import type { JsMsg } from '@nats-io/jetstream'
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import type { TopicMessage } from '../model/work/topic.ts'

/** On a message that was moved to its partition: the key it had where it was published, and when that was. */
const movedHeaders = { key: 'Gatehouse-Key', publishedAt: 'Gatehouse-Published-At' } as const

export const textOf = (message: JsMsg): string | undefined => decodeUtf8(Buffer.from(message.data))

/** The same however often the message is delivered, and another for each message. */
export const keyOf = ({ info }: JsMsg): string => `${info.stream}:${info.streamSequence}:${info.timestampNanos}`

/** When it was published, in Unix milliseconds. */
const publishedAtOf = ({ info }: JsMsg): number => Math.floor(info.timestampNanos / 1_000_000)

/** When the message of a key was published, in microseconds: what nanoseconds are more than that a number cannot hold. */
const placeOf = (key: string): number => Math.floor(Number(key.slice(key.lastIndexOf(':') + 1)) / 1_000)

const keyPattern = /^[\w-]{1,64}:\d{1,20}:\d{1,20}$/
const timePattern = /^\d{1,15}$/

/**
 * The key of a message and when it was published, where it came from before it was moved. Producers may send headers too:
 * what can't be ours is not read.
 */
function originOf(message: JsMsg): { readonly key: string; readonly publishedAt: number } {
  const [key, time] = [movedHeaders.key, movedHeaders.publishedAt].map((name) => message.headers?.get(name) ?? '')
  return key && time && keyPattern.test(key) && timePattern.test(time)
    ? { key, publishedAt: Number(time) }
    : { key: keyOf(message), publishedAt: publishedAtOf(message) }
}

/** The headers of a message that is moved, so that it keeps its key. */
export function headersOfMoved(message: JsMsg): MsgHdrs {
  const { key, publishedAt } = originOf(message)
  const moved = headers()
  moved.set(movedHeaders.key, key)
  moved.set(movedHeaders.publishedAt, String(publishedAt))
  return moved
}

/** A message of a partition, whose reader begins again on `interrupt`. */
export function orderedMessage(message: JsMsg, interrupt: (delayMs: number) => void): TopicMessage {
  return { ...answersOf(message), isOrdered: true, again: interrupt, setAside: async (delayMs) => interrupt(delayMs) }
}

/** A message of an undivided topic, which may be moved out of the way of others. */
export function sharedMessage(message: JsMsg, setAside: (delayMs: number) => Promise<void>): TopicMessage {
  return { ...answersOf(message), isOrdered: false, again: (delayMs) => message.nak(delayMs), setAside }
}

function answersOf(message: JsMsg) {
  const { key, publishedAt } = originOf(message)
  return {
    text: textOf(message),
    key,
    place: placeOf(key),
    publishedAt,
    ack: () => message.ack(),
    later: (delayMs: number) => message.nak(delayMs),
    terminate: (reason: string) => message.term(reason),
  }
}
