import type { Database } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { ClaimedDelivery, ClaimKey, Deliveries, MarkedCall } from '../../store/store.ts'
import { type BucketScope, type Buckets, bucketsOfIds, groupByBucket, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'
import { inGroups } from '../sql/in-groups.ts'
import { keyOf, queryQueue } from '../sql/plans.ts'
import type { Claimer } from './claim/claim.ts'
import { placeAt } from './claim/claim-marks.ts'
import { type RecordOptions, record } from './record.ts'
import { applyReports } from './reports/reports.ts'

/** Options of {@link postgresDeliveries}. */
export interface DeliveriesOptions extends RecordOptions {
  readonly buckets: Buckets
  readonly claimer: Claimer
}

/** Deliveries on PostgreSQL. */
export function postgresDeliveries(
  database: Database,
  { buckets, claimer, ...options }: DeliveriesOptions,
): Deliveries {
  return {
    claim: claimer.claim,
    async record(records) {
      const groups = groupByBucket(buckets, records, ({ claimed }) => claimed.bucket)
      const { results, failed } = await inGroups(groups, ({ scope, items }) => record(database, scope, items, options))
      for (const { claimed, next } of records)
        if (next.kind === 'again') claimer.lower(claimed.bucket, claimed.channel, claimed.event, placeAt(next.dueAt))
      const late = results.reduce((sum, each) => sum + each.late, 0)
      return { late, deadDevices: results.flatMap((each) => each.deadDevices), failed }
    },
    async release(claimed, dueAt, waitsSince) {
      const groups = groupByBucket(buckets, claimed, ({ bucket }) => bucket)
      const { results, failed } = await inGroups(groups, ({ scope, items }) =>
        release(database, scope, items, { dueAt, waitsSince }),
      )
      for (const row of results.flat())
        claimer.lower(row.bucket, row.channel, row.event, { dueAt: row.due_at, id: row.delivery_id })
      return failed
    },
    async findStillClaimed(claimed) {
      const groups = groupByBucket(buckets, claimed, ({ bucket }) => bucket)
      const { results, failed } = await inGroups(groups, ({ scope, items }) => findStillClaimed(database, scope, items))
      const rows = results.flat()
      const tokens = new Map(rows.flatMap((row) => (row.tokens ? [[row.delivery_id, row.tokens] as const] : [])))
      return { ids: new Set(rows.map((row) => row.delivery_id)), tokens, failed }
    },
    async markCalled(calls) {
      const groups = groupByBucket(buckets, calls, ({ claimed }) => claimed.bucket)
      const { results, failed } = await inGroups(groups, ({ scope, items }) => markCalled(database, scope, items))
      return { ids: new Set(results.flat()), failed }
    },
    report: (reports, now, onFresh) =>
      applyReports(database, reports, { buckets, now, streaming: options.streaming, ...(onFresh && { onFresh }) }),
  }
}

interface ReleasedRow {
  readonly bucket: number
  readonly delivery_id: string
  readonly channel: Channel
  readonly event: string
  readonly due_at: number
}

interface StillClaimedRow {
  readonly delivery_id: string
  /** Null of what is no push. */
  readonly tokens: string[] | null
}

const idOf = ({ deliveryId }: ClaimKey) => deliveryId
const attemptOf = ({ attempt }: ClaimKey) => attempt

async function findStillClaimed(
  database: Database,
  scope: BucketScope,
  claimed: readonly ClaimKey[],
): Promise<StillClaimedRow[]> {
  const { rows } = await queryQueue<StillClaimedRow>(database, scope, {
    name: nameFor(scope, 'notify_find_still_claimed'),
    text: textFor(
      scope,
      `SELECT c.delivery_id,
              CASE WHEN found.channel = 'push' THEN (
                SELECT coalesce(json_agg(d.token), '[]') FROM notify.device d
                 WHERE d.bucket = c.bucket AND d.user_id = found.user_id AND d.dead_at IS NULL) END AS tokens
         FROM unnest($1::smallint[], $2::uuid[], $3::integer[]) AS c (bucket, delivery_id, attempt)
        CROSS JOIN LATERAL (
          SELECT w.attempt, w.channel, w.user_id FROM notify.delivery_queue w
           WHERE w.bucket = c.bucket AND w.delivery_id = c.delivery_id LIMIT 1) AS found
        WHERE found.attempt = c.attempt`,
    ),
    values: [bucketsOfIds(scope, claimed, idOf), ...columns(claimed, idOf, attemptOf)],
  })
  return rows
}

async function markCalled(database: Database, scope: BucketScope, calls: readonly MarkedCall[]): Promise<string[]> {
  const byClaim = Map.groupBy(calls, ({ claimed }) => `${claimed.deliveryId} ${claimed.attempt}`)
  const marks = [...byClaim.values()].flatMap((own) => {
    const unresolved = Object.fromEntries(own.map(({ target, provider }) => [target, provider]))
    return own[0] ? [{ ...own[0].claimed, unresolved: JSON.stringify(unresolved) }] : []
  })
  const { rows } = await queryQueue<{ delivery_id: string }>(database, scope, {
    name: nameFor(scope, 'notify_mark_called'),
    text: textFor(
      scope,
      `UPDATE notify.delivery_queue w
          SET message = jsonb_set(w.message::jsonb, '{unresolved}',
                          coalesce(w.message::jsonb->'unresolved', '{}') || c.unresolved::jsonb)::json
         FROM unnest($1::smallint[], $2::uuid[], $3::integer[], $4::text[]) AS c (bucket, delivery_id, attempt, unresolved)
        WHERE ${keyOf('w', 'c', 'delivery_id')} AND w.attempt = c.attempt
    RETURNING w.delivery_id`,
    ),
    values: [bucketsOfIds(scope, marks, idOf), ...columns(marks, idOf, attemptOf, ({ unresolved }) => unresolved)],
  })
  return rows.map((row) => row.delivery_id)
}

async function release(
  database: Database,
  scope: BucketScope,
  claimed: readonly ClaimedDelivery[],
  { dueAt, waitsSince }: { readonly dueAt: number; readonly waitsSince: number | undefined },
): Promise<ReleasedRow[]> {
  const { rows } = await queryQueue<ReleasedRow>(database, scope, {
    name: nameFor(scope, 'notify_release'),
    text: textFor(
      scope,
      `UPDATE notify.delivery_queue w
          SET lease_until = NULL, due_at = greatest(w.due_at, $4::timestamptz),
              message = ($5::jsonb || w.message::jsonb)::json
         FROM unnest($1::smallint[], $2::uuid[], $3::integer[]) AS r (bucket, delivery_id, attempt)
        WHERE ${keyOf('w', 'r', 'delivery_id')} AND w.attempt = r.attempt
    RETURNING w.bucket, w.delivery_id, w.channel, w.event, w.due_at`,
    ),
    values: [
      bucketsOfIds(scope, claimed, idOf),
      ...columns(claimed, idOf, attemptOf),
      timestamp(dueAt),
      JSON.stringify({ waitsSince }),
    ],
  })
  return rows
}
