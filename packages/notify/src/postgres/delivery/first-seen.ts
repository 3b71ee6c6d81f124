import type { Transaction } from '@gatehouse/kit'
import { bucketOfId } from '../../model/id.ts'
import type { ProviderReport } from '../../store/store.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'

/** Keeps the event ids, in an order that two writers share. Answers the reports whose id was not there before. */
export async function firstSeen(
  tx: Transaction,
  scope: BucketScope,
  reports: readonly ProviderReport[],
  now: number,
): Promise<ProviderReport[]> {
  const keyOf = (provider: string, eventId: string, bucket: number) => JSON.stringify([provider, eventId, bucket])
  const first = new Map<string, ProviderReport>()
  for (const report of reports) {
    const { provider, eventId, deliveryId } = report
    const key = keyOf(provider, eventId, scope.bucket ?? bucketOfId(deliveryId, scope.count))
    if (!first.has(key)) first.set(key, report)
  }
  if (first.size === 0) return []
  const inOrder = [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, report]) => report)
  const { rows } = await tx.query<{ provider: string; event_id: string; bucket: number }>({
    name: nameFor(scope, 'notify_first_seen'),
    text: textFor(
      scope,
      `INSERT INTO notify.provider_event (bucket, provider, event_id, at)
       SELECT e.bucket, e.provider, e.event_id, $4::timestamptz
         FROM unnest($1::smallint[], $2::text[], $3::text[]) WITH ORDINALITY AS e (bucket, provider, event_id, place)
        ORDER BY e.place
       ON CONFLICT (bucket, provider, event_id) DO NOTHING RETURNING provider, event_id, bucket`,
    ),
    values: [
      bucketsOfIds(scope, inOrder, (r) => r.deliveryId),
      ...columns(
        inOrder,
        (r) => r.provider,
        (r) => r.eventId,
      ),
      timestamp(now),
    ],
  })
  const inserted = new Set(rows.map((row) => keyOf(row.provider, row.event_id, row.bucket)))
  return [...first].flatMap(([key, report]) => (inserted.has(key) ? [report] : []))
}
