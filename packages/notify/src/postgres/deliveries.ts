import type { Database } from '@gatehouse/kit'
import type { ClaimedDelivery, Deliveries } from '../store.ts'
import { claim } from './claim.ts'
import { type RecordOptions, record } from './record.ts'
import { applyReports } from './reports.ts'
import { among, columns, queryAfresh, timestamp } from './words.ts'

export function postgresDeliveries(database: Database, buckets: number, options: RecordOptions): Deliveries {
  return {
    claim: (bucket, channel, limit, leaseMs, now) => claim(database, bucket, channel, limit, leaseMs, now),
    record: (bucket, records) => record(database, bucket, records, options),
    held: (bucket, claimed) => held(database, bucket, claimed),
    release: (bucket, claimed, dueAt) => release(database, bucket, claimed, dueAt),
    report: (reports, now) => applyReports(database, reports, buckets, now, options),
  }
}

async function held(
  database: Database,
  bucket: number,
  claimed: ReadonlyArray<Pick<ClaimedDelivery, 'deliveryId' | 'attempt'>>,
): Promise<Set<string>> {
  const { rows } = await queryAfresh<{ delivery_id: string }>(database, {
    name: 'notify_held',
    text: `SELECT c.delivery_id FROM unnest($2::uuid[], $3::integer[]) AS c (delivery_id, attempt)
            CROSS JOIN LATERAL (
              SELECT w.attempt FROM notify.work w WHERE w.bucket = $1 AND w.delivery_id = c.delivery_id LIMIT 1) AS found
            WHERE found.attempt = c.attempt`,
    values: [
      bucket,
      ...columns(
        claimed,
        (c) => c.deliveryId,
        (c) => c.attempt,
      ),
    ],
  })
  return new Set(rows.map((row) => row.delivery_id))
}

async function release(
  database: Database,
  bucket: number,
  claimed: readonly ClaimedDelivery[],
  dueAt: number,
): Promise<void> {
  await database.query({
    name: 'notify_release',
    text: `UPDATE notify.work w SET lease_until = NULL, due_at = greatest(w.due_at, $4::timestamptz)
             FROM unnest($2::uuid[], $3::integer[]) AS r (delivery_id, attempt)
            WHERE w.bucket = $1 AND ${among('w.delivery_id', '$2')} AND w.delivery_id = r.delivery_id
              AND w.attempt = r.attempt`,
    values: [
      bucket,
      ...columns(
        claimed,
        (c) => c.deliveryId,
        (c) => c.attempt,
      ),
      timestamp(dueAt),
    ],
  })
}
