import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { ClaimedDelivery, Deliveries, MarkedCall } from '../../store/store.ts'
import { columns, timestamp } from '../sql/columns.ts'
import { among, queryWithCustomPlan } from '../sql/plans.ts'
import type { Claimer } from './claim.ts'
import { placeAt } from './claim-marks.ts'
import { type RecordOptions, record } from './record.ts'
import { applyReports } from './reports.ts'

/** Options of {@link postgresDeliveries}. */
export interface DeliveriesOptions extends RecordOptions {
  readonly buckets: number
  readonly claimer: Claimer
}

/** Deliveries on PostgreSQL. */
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
    findStillClaimed: (bucket, claimed) => findStillClaimed(database, bucket, claimed),
    markCalled: (bucket, calls) => markCalled(database, bucket, calls),
    report: (reports, now) => applyReports(database, reports, { buckets, now, streaming: options.streaming }),
  }
}

interface ReleasedRow {
  readonly delivery_id: string
  readonly channel: Channel
  readonly event: string
  readonly due_at: number
}

async function findStillClaimed(
  database: Database,
  bucket: number,
  claimed: ReadonlyArray<Pick<ClaimedDelivery, 'deliveryId' | 'attempt'>>,
): Promise<Set<string>> {
  const { rows } = await queryWithCustomPlan<{ delivery_id: string }>(database, {
    name: 'notify_find_still_claimed',
    text: `SELECT c.delivery_id FROM unnest($2::uuid[], $3::integer[]) AS c (delivery_id, attempt)
            CROSS JOIN LATERAL (
              SELECT w.attempt FROM notify.delivery_queue w WHERE w.bucket = $1 AND w.delivery_id = c.delivery_id LIMIT 1) AS found
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

async function markCalled(database: Database, bucket: number, calls: readonly MarkedCall[]): Promise<Set<string>> {
  const { rows } = await queryWithCustomPlan<{ delivery_id: string }>(database, {
    name: 'notify_mark_called',
    text: `UPDATE notify.delivery_queue w
              SET message = (w.message::jsonb || jsonb_build_object('unresolved',
                              coalesce(w.message::jsonb->'unresolved', '{}') || c.unresolved))::json
             FROM (SELECT delivery_id, attempt, jsonb_object_agg(target, provider) AS unresolved
                     FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[]) AS c (delivery_id, attempt, target, provider)
                    GROUP BY delivery_id, attempt) AS c
            WHERE w.bucket = $1 AND ${among('w.delivery_id', '$2')} AND w.delivery_id = c.delivery_id
              AND w.attempt = c.attempt
        RETURNING w.delivery_id`,
    values: [
      bucket,
      ...columns(
        calls,
        (c) => c.claimed.deliveryId,
        (c) => c.claimed.attempt,
        (c) => c.target,
        (c) => c.provider,
      ),
    ],
  })
  return new Set(rows.map((row) => row.delivery_id))
}

async function release(
  database: Database,
  bucket: number,
  claimed: readonly ClaimedDelivery[],
  { dueAt, waitsSince }: { readonly dueAt: number; readonly waitsSince: number | undefined },
): Promise<ReleasedRow[]> {
  const { rows } = await database.query<ReleasedRow>({
    name: 'notify_release',
    text: `UPDATE notify.delivery_queue w
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
