import type { JetStreamClient, JsMsg } from '@nats-io/jetstream'
import { createKeyedOrder } from '../model/work/keyed-order.ts'
import { partitionOfUser } from '../model/work/partition.ts'
import { type Layout, partitionSubject } from './layout.ts'
import { headersOfMoved, keyOf, textOf } from './message.ts'
import type { HandleMessage } from './reader.ts'

const publishMs = 5_000
const retryDelayMs = 1_000

/**
 * Moves messages of the subject `notifications` to the partition of their user, which stands in their body alone: where a
 * producer names the user in the subject, the server does this by itself. What has no user goes to the first partition,
 * where it becomes a dead letter. A message that is moved twice keeps its key, by which the second is a duplicate.
 */
export function createMover(client: JetStreamClient, layout: Layout): HandleMessage {
  const inOrder = createKeyedOrder()
  return async (message, interrupt) => {
    const userId = userOf(message) ?? ''
    const partition = userId === '' ? 0 : partitionOfUser(userId, layout.partitions)
    const isMoved = await inOrder(userId, () =>
      move(client, message, { partition, stream: layout.streamOf(partition) }).then(
        () => true,
        () => {
          interrupt(retryDelayMs)
          return false
        },
      ),
    )
    if (isMoved) message.ack()
  }
}

async function move(
  client: JetStreamClient,
  message: JsMsg,
  { partition, stream }: { readonly partition: number; readonly stream: string },
): Promise<void> {
  await client.publish(partitionSubject(partition), message.data, {
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
