import type { Database, Queryable } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { all, type SuppressionReason } from '../../model/delivery/suppression.ts'
import { bucketOfId, bucketOfUser, newIdOfUser } from '../../model/id.ts'
import type {
  AttemptRecord,
  NewSuppression,
  SuppressionFilter,
  SuppressionRecord,
  Suppressions,
} from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { type BucketScope, type Buckets, bucketsOfUsers, groupByBucket, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp, withoutNulls } from '../sql/columns.ts'

interface SuppressionRow {
  readonly id: string
  readonly user_id: string
  readonly channel: Channel
  readonly address: string
  readonly scope: string
  readonly reason: SuppressionReason
  readonly since: number
  readonly expires_at: number | null
  readonly detail: string | null
}

const fields = 'id, user_id, channel, address, scope, reason, since, expires_at, detail'
const matching = `s.bucket = b.bucket AND ($2::uuid[] IS NULL OR s.id = ANY($2)) AND ($3::text IS NULL OR s.user_id = $3)
  AND ($4::text IS NULL OR s.channel = $4)
  AND ($5::text IS NULL OR s.address = $5 OR (s.channel = 'email' AND lower(s.address) = lower($5)))
  AND ($6::text IS NULL OR s.scope = $6) AND ($7::text IS NULL OR s.reason = $7)
  AND ($8::boolean IS NULL OR (s.reason = 'complained') = $8)`

/** `$1` to `$8` of a statement about buckets: all of these, or the one of the scope. */
function valuesOf({ bucket }: BucketScope, buckets: readonly number[], filter: SuppressionFilter): unknown[] {
  const { ids, userId, channel, address, scope, reason, complaints } = filter
  return [
    bucket ?? buckets,
    ids ?? null,
    userId ?? null,
    channel ?? null,
    address ?? null,
    scope ?? null,
    reason ?? null,
    complaints ?? null,
  ]
}

const listSql = `
SELECT s.* FROM unnest($1::smallint[]) AS b (bucket)
 CROSS JOIN LATERAL (
   SELECT ${fields} FROM notify.suppression s
    WHERE ${matching} AND ($9::uuid IS NULL OR s.id < $9) AND (s.expires_at IS NULL OR s.expires_at > $10)
    ORDER BY s.id DESC LIMIT $11) AS s
 ORDER BY s.id DESC LIMIT $11`

const liftSql = `DELETE FROM notify.suppression s USING unnest($1::smallint[]) AS b (bucket) WHERE ${matching}`

const countSql = `
SELECT count(*)::integer AS matched, count(*) FILTER (WHERE reason = 'complained')::integer AS complaints
  FROM unnest($1::smallint[]) AS b (bucket)
 CROSS JOIN LATERAL (SELECT s.reason FROM notify.suppression s WHERE ${matching}) AS s`

/** Suppressions on PostgreSQL. */
export function postgresSuppressions(database: Database, layout: Buckets): Suppressions {
  const { count: buckets } = layout
  const bucketsOf = ({ userId, ids }: SuppressionFilter): number[] => {
    if (userId !== undefined) return [bucketOfUser(userId, buckets)]
    if (ids) return [...new Set(ids.map((id) => bucketOfId(id, buckets)))]
    return Array.from({ length: buckets }, (_, bucket) => bucket)
  }
  const groupsOf = (filter: SuppressionFilter) => groupByBucket(layout, bucketsOf(filter), (bucket) => bucket)
  return {
    async list(filter, limit, before, now) {
      const found: SuppressionRow[] = []
      for (const { scope, items } of groupsOf(filter)) {
        const values = [...valuesOf(scope, items, filter), before ?? null, timestamp(now), limit]
        const { rows } = await at(database, scope.bucket).query<SuppressionRow>(textFor(scope, listSql), values)
        found.push(...rows)
      }
      return found
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit)
        .map(recordOf)
    },
    async add(entries, now) {
      const stored = new Map<NewSuppression, SuppressionRecord>()
      for (const { scope, items } of groupByBucket(layout, entries, ({ userId }, count) =>
        bucketOfUser(userId, count),
      )) {
        const records = await addSuppressions(at(database, scope.bucket), scope, items, now)
        const byKey = new Map(records.map((record) => [keyOf(record), record]))
        for (const entry of items) {
          const record = byKey.get(keyOf(entry))
          if (record) stored.set(entry, record)
        }
      }
      return entries.flatMap((entry) => stored.get(entry) ?? [])
    },
    async count(filter) {
      let [matched, complaints] = [0, 0]
      for (const { scope, items } of groupsOf(filter)) {
        const { rows } = await at(database, scope.bucket).query<{ matched: number; complaints: number }>(
          textFor(scope, countSql),
          valuesOf(scope, items, filter),
        )
        matched += rows[0]?.matched ?? 0
        complaints += rows[0]?.complaints ?? 0
      }
      return { matched, complaints }
    },
    async lift(filter) {
      let lifted = 0
      for (const { scope, items } of groupsOf(filter)) {
        const { rowCount } = await at(database, scope.bucket).transaction((tx) =>
          tx.query(textFor(scope, liftSql), valuesOf(scope, items, filter)),
        )
        lifted += rowCount
      }
      return lifted
    },
  }
}

/** Adds suppressions in one statement, in an order that two writers share. */
export async function addSuppressions(
  on: Queryable,
  scope: BucketScope,
  entries: readonly NewSuppression[],
  now: number,
): Promise<SuppressionRecord[]> {
  if (entries.length === 0) return []
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]))
  const distinct = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
  const { rows } = await on.query<SuppressionRow>({
    name: nameFor(scope, 'notify_suppress'),
    text: textFor(
      scope,
      `INSERT INTO notify.suppression (bucket, id, user_id, channel, address, scope, reason, since, expires_at, detail)
       SELECT s.bucket, s.id, s.user_id, s.channel, s.address, s.scope, s.reason, $10::timestamptz, s.expires_at, s.detail
         FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                     $8::timestamptz[], $9::text[])
              WITH ORDINALITY AS s (bucket, id, user_id, channel, address, scope, reason, expires_at, detail, place)
        ORDER BY s.place
       ON CONFLICT (bucket, user_id, channel, address, scope, reason) DO UPDATE
          SET expires_at = CASE WHEN suppression.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                                ELSE greatest(suppression.expires_at, excluded.expires_at) END,
              detail = coalesce(excluded.detail, suppression.detail)
       RETURNING ${fields}`,
    ),
    values: [
      bucketsOfUsers(
        scope,
        distinct.map(({ userId }) => userId),
      ),
      ...columns(
        distinct,
        (s) => newIdOfUser(s.userId),
        (s) => s.userId,
        (s) => s.channel,
        (s) => s.address,
        (s) => s.scope,
        (s) => s.reason,
        (s) => (s.expiresAt === undefined ? null : timestamp(s.expiresAt)),
        (s) => s.detail?.slice(0, 500) ?? null,
      ),
      timestamp(now),
    ],
  })
  return rows.map(recordOf)
}

/** Suppresses the addresses that a batch of tries found to be at fault. */
export async function suppressAddresses(
  on: Queryable,
  scope: BucketScope,
  records: readonly AttemptRecord[],
): Promise<void> {
  const suppressing = records.filter(({ suppressed }) => suppressed !== undefined)
  const entries = suppressing.flatMap(({ claimed: { userId, channel }, suppressed }) =>
    suppressed && channel !== 'in-app' ? [{ userId, channel, scope: all, ...suppressed }] : [],
  )
  await addSuppressions(on, scope, entries, suppressing[0]?.at ?? 0)
}

function keyOf({ userId, channel, address, scope, reason }: NewSuppression): string {
  return JSON.stringify([userId, channel, address, scope, reason])
}

function recordOf({ user_id: userId, expires_at, detail, ...row }: SuppressionRow): SuppressionRecord {
  return { ...row, userId, ...withoutNulls({ expiresAt: expires_at, detail }) }
}
