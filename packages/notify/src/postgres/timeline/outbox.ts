import type { Query } from '@gatehouse/kit'
import { newIdBeside } from '../../model/id.ts'
import type { StateChange } from '../../model/notification/state-change.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'

/** Whether state changes are streamed. */
export interface StreamOptions {
  /** Whether state changes go to the outbox of the event stream. */
  readonly streaming: boolean
}

/** The statement that keeps state changes for the event stream. */
export function writeChanges(scope: BucketScope, changes: readonly StateChange[]): Array<Query & Statement> {
  if (changes.length === 0) return []
  return [
    {
      name: nameFor(scope, 'notify_stream'),
      text: textFor(
        scope,
        `INSERT INTO notify.outbox (bucket, id, changes)
         SELECT o.bucket, (array_agg(o.id ORDER BY o.id))[1],
                array_agg((o.id, o.delivery_id, o.at, o.user_id, o.event, o.state, o.ended)::notify.change ORDER BY o.id)
           FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[])
                AS o (bucket, id, delivery_id, at, user_id, event, state, ended)
          GROUP BY o.bucket`,
      ),
      values: [
        bucketsOfIds(scope, changes, ({ deliveryId }) => deliveryId),
        ...columns(
          changes,
          ({ deliveryId }) => newIdBeside(deliveryId),
          ({ deliveryId }) => deliveryId,
          ({ at }) => timestamp(at),
          ({ userId }) => userId,
          ({ event }) => event,
          ({ state }) => state,
          ({ ended }) => ended,
        ),
      ],
    },
  ]
}
