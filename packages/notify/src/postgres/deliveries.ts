import type { Database } from '@gatehouse/kit'
import type { Channel } from '../channel.ts'
import type { ClaimedDelivery, Deliveries } from '../store.ts'
import type { Claimer } from './claim.ts'
import { placeAt } from './claim-marks.ts'
import { record } from './record.ts'
import { applyReports } from './reports.ts'
import type { StreamOptions } from './stream-changes.ts'
import { among, columns, timestamp } from './words.ts'

export interface DeliveriesOptions extends StreamOptions {
  readonly buckets: number
  readonly claimer: Claimer
}

export function postgresDeliveries(
  database: Database,
  { buckets, claimer, ...options }: DeliveriesOptions,
): Deliveries {
  return {
    claim: claimer.claim,
    async record(bucket, records) {
      const late = await record(database, bucket, records, options)
      for (const { claimed, next } of records)
        if (next.kind === 'again') claimer.lower(bucket, claimed.channel, claimed.event, placeAt(next.dueAt))
      return late
    },
    async release(bucket, claimed, dueAt, waitsSince) {
      for (const row of await release(database, bucket, claimed, { dueAt, waitsSince }))
        claimer.lower(bucket, row.channel, row.event, { dueAt: row.due_at, id: row.delivery_id })
    },
    report: (reports, now) => applyReports(database, reports, buckets, now, options),
  }
}

interface ReleasedRow {
  readonly delivery_id: string
  readonly channel: Channel
  readonly event: string
  readonly due_at: number
}

async function release(
  database: Database,
  bucket: number,
  claimed: readonly ClaimedDelivery[],
  { dueAt, waitsSince }: { readonly dueAt: number; readonly waitsSince: number | undefined },
): Promise<ReleasedRow[]> {
  const { rows } = await database.query<ReleasedRow>({
    name: 'notify_release',
    text: `UPDATE notify.work w
              SET lease_until = NULL, due_at = greatest(w.due_at, $4::timestamptz),
                  message = CASE WHEN $5::bigint IS NULL OR w.message->'waitsSince' IS NOT NULL THEN w.message
                                 ELSE (w.message::jsonb || jsonb_build_object('waitsSince', $5::bigint))::json END
             FROM unnest($2::uuid[], $3::integer[]) AS r (delivery_id, attempt)
            WHERE w.bucket = $1 AND ${among('w.delivery_id', '$2')} AND w.delivery_id = r.delivery_id
              AND w.attempt = r.attempt
        RETURNING w.delivery_id, w.channel, w.event, w.due_at`,
    values: [
      bucket,
      ...columns(
        claimed,
        (c) => c.deliveryId,
        (c) => c.attempt,
      ),
      timestamp(dueAt),
      waitsSince ?? null,
    ],
  })
  return rows
}
