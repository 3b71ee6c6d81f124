import type { JetStreamClient, JsMsg } from '@nats-io/jetstream'
import { createKeyedOrder } from '../model/work/keyed-order.ts'
import { partitionOfUser } from '../model/work/partition.ts'
import type { TopicMessage } from '../model/work/topic.ts'
import type { AwayStreams } from './away-streams.ts'
import { isTooLarge } from './faults.ts'
import { type Layout, partitionSubject, waitingSubjectOf } from './layout.ts'
import { headersOfMoved, keyOf, orderedMessage, textOf } from './message.ts'
import type { HandleMessage, Interrupt } from './reader.ts'

const publishMs = 5_000
const retryDelayMs = 1_000

/** Options of {@link createMover}. */
export interface MoverOptions {
  readonly client: JetStreamClient
  readonly layout: Layout
  /** Takes a message that can't be moved, where it is. */
  readonly handle: (message: TopicMessage) => Promise<void>
  /** Where there are several streams of partitions: those that messages are set aside for. */
  readonly away?: AwayStreams
  /** Called with each message that was moved. */
  readonly onMoved?: (message: JsMsg) => void
}

/**
 * Moves messages of the subject `notifications` to the partition of their user, which stands in their body alone: where a
 * producer names the user in the subject, the server does this by itself. What has no user goes to the first partition,
 * where it becomes a dead letter. A message that is moved twice keeps its key, by which the second is a duplicate. One
 * that can't be stored a second time, since with its key it is larger than `max_payload` or the `max_msg_size` of its
 * stream, is handled here. What a stream does not take for another reason is set aside where there are others, else it is
 * tried again, and with it all that follows.
 */
export function createMover({ client, layout, handle, away, onMoved }: MoverOptions): HandleMessage {
  const inOrder = createKeyedOrder()
  const move = async (message: JsMsg, partition: number) => {
    const stream = layout.streamOf(partition)
    const setAside = () => publish(client, message, { subject: waitingSubjectOf(stream), stream: layout.waiting.name })
    if (away?.has(stream)) return setAside()
    try {
      await publish(client, message, { subject: partitionSubject(partition), stream })
    } catch (error) {
      if (!away || isTooLarge(error)) throw error
      away.add(stream, error)
      await setAside()
    }
  }
  return async (message, interrupt) => {
    const userId = userOf(message) ?? ''
    const partition = userId === '' ? 0 : partitionOfUser(userId, layout.partitions)
    let isInterrupted = false
    const stopHere: Interrupt = (delayMs, cause) => {
      isInterrupted = true
      interrupt(delayMs, cause)
    }
    await inOrder(userId, async () => {
      try {
        if (away?.isBack(layout.streamOf(partition))) stopHere(0)
        else {
          await move(message, partition)
          message.ack()
          onMoved?.(message)
        }
      } catch (error) {
        if (isTooLarge(error)) await handle(orderedMessage(message, stopHere))
        else stopHere(retryDelayMs, error)
      }
      return !isInterrupted
    })
  }
}

async function publish(
  client: JetStreamClient,
  message: JsMsg,
  { subject, stream }: { readonly subject: string; readonly stream: string },
): Promise<void> {
  await client.publish(subject, message.data, {
    msgID: keyOf(message),
    headers: headersOfMoved(message),
    timeout: publishMs,
    expect: { streamName: stream },
  })
}

/** Whom a message is about, as far as its body says. */
function userOf(message: JsMsg): string | undefined {
  try {
    const { user_id: userId } = JSON.parse(textOf(message) ?? '') as Record<string, unknown>
    return typeof userId === 'string' ? userId : undefined
  } catch {
    return undefined
  }
}
