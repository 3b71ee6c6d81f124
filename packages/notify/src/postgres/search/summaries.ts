import type { Database } from '@gatehouse/kit'
import { channels } from '../../model/channel.ts'
import { outcomes } from '../../model/delivery/outcome.ts'
import { bucketOfId, deliveryIdOf, notificationIdOf } from '../../model/id.ts'
import type { NotificationSummary } from '../../store/store.ts'
import { type BucketScope, type Buckets, bucketsOfIds, groupByBucket, textFor } from '../sql/buckets.ts'
import { columns } from '../sql/columns.ts'
import { readTogether } from '../sql/plans.ts'
import { readDecisions } from '../timeline/decisions.ts'
import {
  type DeliveryRow,
  deliveriesOf,
  type EventRow,
  entryOf,
  type NotificationRow,
} from '../timeline/notifications.ts'

type OutcomeRow = EventRow & { readonly notification_id: string }

const notificationsSql = `
SELECT n.id, n.user_id, n.event, n.priority, n.dedup_key, n.decisions, n.accepted_at, n.expires_at
  FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
  JOIN notify.notification n ON n.bucket = r.bucket AND n.id = r.id`

const deliveriesSql = `
SELECT d.id, d.state, d.provider, d.ended
  FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
  JOIN notify.delivery d ON d.bucket = r.bucket AND d.id = r.id`

/** Outcomes that were decided later than when it was accepted. */
const outcomesSql = `
SELECT e.notification_id, e.id, e.channel, e.at, e.entry_type, e.state, e.detail
  FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
  JOIN notify.timeline_entry e ON e.bucket = r.bucket AND e.notification_id = r.id
 WHERE e.entry_type = ANY ($3::text[])`

/** Notifications with their deliveries, in the order of their ids in the parameter; those that are gone are left out. */
export async function readSummaries(
  database: Database,
  buckets: Buckets,
  ids: readonly string[],
): Promise<NotificationSummary[]> {
  const groups = groupByBucket(buckets, ids, bucketOfId)
  const read = await Promise.all(groups.map(({ scope, items }) => readGroup(database, scope, items)))
  const byId = new Map(read.flat().map((each) => [each.id, each]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

async function readGroup(
  database: Database,
  scope: BucketScope,
  ids: readonly string[],
): Promise<NotificationSummary[]> {
  const query = (text: string, own: readonly string[], ...more: unknown[]) => {
    const values = [bucketsOfIds(scope, own, (id) => id), ...columns(own, (id) => id), ...more]
    return { text: textFor(scope, text), values }
  }
  const ofChannels = ids.flatMap((id) => channels.map((channel) => deliveryIdOf(id, channel)))
  const [notifications, deliveries, decided] = await readTogether(database, scope, [
    query(notificationsSql, ids),
    query(deliveriesSql, ofChannels),
    query(outcomesSql, ids, [...outcomes, 'cancelled']),
  ])
  const deliveriesOfId = Map.groupBy((deliveries?.rows ?? []) as DeliveryRow[], ({ id }) => notificationIdOf(id))
  const decidedOfId = Map.groupBy((decided?.rows ?? []) as OutcomeRow[], (row) => row.notification_id)
  return ((notifications?.rows ?? []) as NotificationRow[]).map((row) => {
    const later = (decidedOfId.get(row.id) ?? []).sort((a, b) => (a.id < b.id ? -1 : 1))
    return summaryOf(row, deliveriesOfId.get(row.id) ?? [], later)
  })
}

function summaryOf(
  row: NotificationRow,
  rows: readonly DeliveryRow[],
  later: readonly EventRow[],
): NotificationSummary {
  const { id, user_id: userId, event, priority, accepted_at: acceptedAt } = row
  const own = { id, userId, event, priority, acceptedAt }
  const timeline = [...readDecisions(own, row.decisions), ...later.map(entryOf)]
  return { ...own, deliveries: deliveriesOf(timeline, rows) }
}
