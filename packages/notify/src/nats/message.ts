import { decodeUtf8 } from '@gatehouse/kit'
import type { JsMsg } from '@nats-io/jetstream'
import type { TopicMessage } from '../model/topic.ts'

/** On a message that was moved to its partition: the key it had where it was published, and when that was. */
export const movedHeaders = { key: 'Gatehouse-Key', publishedAt: 'Gatehouse-Published-At' } as const

export const textOf = (message: JsMsg): string | undefined => decodeUtf8(Buffer.from(message.data))

/** The same however often the message is delivered, and another for each message. */
export const keyOf = ({ info }: JsMsg): string => `${info.stream}:${info.streamSequence}:${info.timestampNanos}`

/** When it was published, in Unix milliseconds. */
export const publishedAtOf = ({ info }: JsMsg): number => Math.floor(info.timestampNanos / 1_000_000)

/** When the message of a key was published, in microseconds: what nanoseconds are more than that a number cannot hold. */
const placeOf = (key: string): number => Math.floor(Number(key.slice(key.lastIndexOf(':') + 1)) / 1_000)

/** A message as the intake takes it. With `interrupt`, which makes its reader begin again, it is ordered. */
export function topicMessage(message: JsMsg, interrupt?: (delayMs: number) => void): TopicMessage {
  const moved = message.headers?.has(movedHeaders.key) ? message.headers : undefined
  const key = moved ? moved.get(movedHeaders.key) : keyOf(message)
  return {
    text: textOf(message),
    place: placeOf(key),
    publishedAt: moved ? Number(moved.get(movedHeaders.publishedAt)) : publishedAtOf(message),
    key,
    isOrdered: interrupt !== undefined,
    ack: () => message.ack(),
    later: (delayMs) => message.nak(delayMs),
    again: interrupt ?? ((delayMs) => message.nak(delayMs)),
    terminate: (reason) => message.term(reason),
  }
}
