import type { Transaction } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import type { DeliveryState } from '../delivery-state.ts'
import { newId, notificationIdOf } from '../ids.ts'

export interface StreamOptions {
  /** Whether state changes go to the outbox of the event stream. */
  readonly streaming: boolean
}

/** A delivery whose state changed, and when. */
export interface StateChange {
  readonly deliveryId: string
  readonly userId: string
  readonly channel: Channel
  readonly event?: string
  readonly state: DeliveryState
  /** Why nothing more is sent, where the state does not say so. */
  readonly ended?: 'expired'
  readonly at: number
}

/** Keeps state changes for the event stream. */
export async function streamChanges(tx: Transaction, bucket: number, changes: readonly StateChange[]): Promise<void> {
  if (changes.length === 0) return
  await tx.query({
    name: 'notify_stream',
    text: `INSERT INTO notify.outbox (bucket, id, payload)
           SELECT $1, o.id, o.payload::jsonb FROM unnest($2::uuid[], $3::text[]) AS o (id, payload)`,
    values: [bucket, changes.map(() => newId(bucket)), changes.map((change) => JSON.stringify(written(change)))],
  })
}

/** A state change as consumers of the event stream see it. */
function written({ deliveryId, userId, channel, event, state, ended, at }: StateChange): Record<string, unknown> {
  return {
    delivery_id: deliveryId,
    notification_id: notificationIdOf(deliveryId),
    user_id: userId,
    channel,
    ...(event === undefined ? {} : { event }),
    state,
    ...(ended === undefined ? {} : { ended }),
    at: new Date(at).toISOString(),
  }
}
