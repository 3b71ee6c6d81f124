import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../src/model/channel.ts'
import { bucketOfId, deliveryIdOf, newIdOfUser } from '../../src/model/id.ts'

/** Deliveries to be written into the queue as admission writes them. */
export interface QueuedRows {
  readonly buckets: number
  readonly count: number
  readonly dueAt: number
  readonly channel?: Channel
  readonly event?: string
  readonly priority?: 0 | 1 | 2
  /** Only those of users of this bucket. */
  readonly bucket?: number
}

let users = 0

/** Writes queued deliveries, each of a user of its own; answers their ids. */
export async function writeQueued(database: Database, rows: QueuedRows): Promise<string[]> {
  const { buckets, count, dueAt, channel = 'email', event = 'order.shipped', priority = 1, bucket } = rows
  const ids: string[] = []
  while (ids.length < count) {
    const id = deliveryIdOf(newIdOfUser(`queued-${users++}`), channel)
    if (bucket === undefined || bucketOfId(id, buckets) === bucket) ids.push(id)
  }
  await database.query(
    `WITH written AS (
       INSERT INTO notify.delivery (bucket, id, user_id, channel, state)
       SELECT bucket, id, 'user-' || id, $3, 'queued' FROM unnest($1::smallint[], $2::uuid[]) AS d (bucket, id)
     )
     INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message)
     SELECT bucket, id, 'user-' || id, $3, $4, $5, $6::timestamptz, false,
            '{"body": "on its way", "locale": "en", "targets": [{"id": "email", "address": "a@example.com"}]}'
       FROM unnest($1::smallint[], $2::uuid[]) AS d (bucket, id)`,
    [ids.map((id) => bucketOfId(id, buckets)), ids, channel, event, priority, new Date(dueAt).toISOString()],
  )
  return ids
}
