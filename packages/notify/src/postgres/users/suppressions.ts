import type { Database, Queryable } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { bucketOfId, bucketOfUser, newIdOfUser } from '../../model/id.ts'
import { all, type SuppressionReason } from '../../model/suppression.ts'
import type {
  AttemptRecord,
  NewSuppression,
  SuppressionFilter,
  SuppressionRecord,
  Suppressions,
} from '../../store/store.ts'
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
const matching = `bucket = $1 AND ($2::uuid[] IS NULL OR id = ANY($2)) AND ($3::text IS NULL OR user_id = $3)
  AND ($4::text IS NULL OR channel = $4)
  AND ($5::text IS NULL OR address = $5 OR (channel = 'email' AND lower(address) = lower($5))) AND ($6::text IS NULL OR scope = $6)
  AND ($7::text IS NULL OR reason = $7)`

function valuesOf(bucket: number, filter: SuppressionFilter): unknown[] {
  const { ids, userId, channel, address, scope, reason } = filter
  return [bucket, ids ?? null, userId ?? null, channel ?? null, address ?? null, scope ?? null, reason ?? null]
}

const listSql = `
SELECT ${fields} FROM notify.suppression
 WHERE ${matching} AND ($8::uuid IS NULL OR id < $8) AND (expires_at IS NULL OR expires_at > $9)
 ORDER BY id DESC LIMIT $10`

/** Suppressions on PostgreSQL. */
export function postgresSuppressions(database: Database, buckets: number): Suppressions {
  const bucketsOf = ({ userId, ids }: SuppressionFilter): number[] => {
    if (userId !== undefined) return [bucketOfUser(userId, buckets)]
    if (ids) return [...new Set(ids.map((id) => bucketOfId(id, buckets)))]
    return Array.from({ length: buckets }, (_, bucket) => bucket)
  }
  return {
    async list(filter, limit, before, now) {
      const found: SuppressionRow[] = []
      for (const bucket of bucketsOf(filter)) {
        const values = [...valuesOf(bucket, filter), before ?? null, timestamp(now), limit]
        const { rows } = await database.query<SuppressionRow>(listSql, values)
        found.push(...rows)
      }
      return found
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit)
        .map(recordOf)
    },
    async add(entries, now) {
      const stored = new Map<NewSuppression, SuppressionRecord>()
      const byBucket = Map.groupBy(entries, ({ userId }) => bucketOfUser(userId, buckets))
      for (const [bucket, mine] of byBucket)
        for (const record of await addSuppressions(database, bucket, mine, now))
          for (const entry of mine) if (keyOf(entry) === keyOf(record)) stored.set(entry, record)
      return entries.flatMap((entry) => stored.get(entry) ?? [])
    },
    async lift(filter) {
      let lifted = 0
      for (const bucket of bucketsOf(filter)) {
        const { rowCount } = await database.query(
          `DELETE FROM notify.suppression WHERE ${matching}`,
          valuesOf(bucket, filter),
        )
        lifted += rowCount
      }
      return lifted
    },
  }
}

/** Adds suppressions of one bucket in one statement, in an order that two writers share. */
export async function addSuppressions(
  on: Queryable,
  bucket: number,
  entries: readonly NewSuppression[],
  now: number,
): Promise<SuppressionRecord[]> {
  if (entries.length === 0) return []
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]))
  const distinct = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
  const { rows } = await on.query<SuppressionRow>({
    name: 'notify_suppress',
    text: `INSERT INTO notify.suppression (bucket, id, user_id, channel, address, scope, reason, since, expires_at, detail)
           SELECT $1, s.id, s.user_id, s.channel, s.address, s.scope, s.reason, $2, s.expires_at, s.detail
             FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[], $10::text[])
                  WITH ORDINALITY AS s (id, user_id, channel, address, scope, reason, expires_at, detail, place)
            ORDER BY s.place
           ON CONFLICT (bucket, user_id, channel, address, scope, reason) DO UPDATE
              SET expires_at = CASE WHEN suppression.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                                    ELSE greatest(suppression.expires_at, excluded.expires_at) END,
                  detail = coalesce(excluded.detail, suppression.detail)
           RETURNING ${fields}`,
    values: [
      bucket,
      timestamp(now),
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
    ],
  })
  return rows.map(recordOf)
}

/** Suppresses the addresses that a batch of tries found to be at fault. */
export async function suppressAddresses(
  on: Queryable,
  bucket: number,
  records: readonly AttemptRecord[],
): Promise<void> {
  const entries = records.flatMap(({ claimed: { userId, channel }, suppressed }) =>
    suppressed && channel !== 'in-app' ? [{ userId, channel, scope: all, ...suppressed }] : [],
  )
  await addSuppressions(on, bucket, entries, records[0]?.at ?? 0)
}

function keyOf({ userId, channel, address, scope, reason }: NewSuppression): string {
  return JSON.stringify([userId, channel, address, scope, reason])
}

function recordOf({ user_id: userId, expires_at, detail, ...row }: SuppressionRow): SuppressionRecord {
  return { ...row, userId, ...withoutNulls({ expiresAt: expires_at, detail }) }
}
