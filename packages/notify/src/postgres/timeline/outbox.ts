import type { Query } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { DeliveryState } from '../../model/delivery-state.ts'
import { newIdBeside, notificationIdOf } from '../../model/id.ts'

import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'

/** Whether state changes are streamed. */
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

/** The statement that keeps state changes for the event stream. */
export function writeChanges(scope: BucketScope, changes: readonly StateChange[]): Query[] {
  if (changes.length === 0) return []
  return [
    {
      name: nameFor(scope, 'notify_stream'),
      text: textFor(
        scope,
        `INSERT INTO notify.outbox (bucket, id, payload)
         SELECT o.bucket, o.id, o.payload::jsonb
           FROM unnest($1::smallint[], $2::uuid[], $3::text[]) AS o (bucket, id, payload)`,
      ),
      values: [
        bucketsOfIds(scope, changes, ({ deliveryId }) => deliveryId),
        changes.map(({ deliveryId }) => newIdBeside(deliveryId)),
        changes.map((change) => JSON.stringify(changeRecord(change))),
      ],
    },
  ]
}

/** A state change as consumers of the event stream see it. */
export function changeRecord({
  deliveryId,
  userId,
  channel,
  event,
  state,
  ended,
  at,
}: StateChange): Record<string, unknown> {
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
