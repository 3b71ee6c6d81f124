import type { Database, Transaction } from '@gatehouse/kit'
import { atEach } from '../nodes/spread-database.ts'
import { type Buckets, groupByBucket, scopeOf } from '../sql/buckets.ts'
import { byIndexes, queryByIndexes } from '../sql/plans.ts'
import { bucketOfToken, releaseToken } from '../users/devices.ts'

/** Devices of a bucket that have been dead since before a time, so many at most. */
interface DeadDevices {
  readonly bucket: number
  readonly deadBefore: string
  readonly limit: number
}

/**
 * Removes devices that have been dead for long, with their tokens: where these are on other nodes, those of each bucket by
 * themselves, so that a node that is away keeps its own alone. Answers how many.
 * @throws the first error of those that could not be removed
 */
export async function purgeDevices(database: Database, layout: Buckets, dead: DeadDevices): Promise<number> {
  const { rows } = await queryByIndexes<{ token: string }>(database, scopeOf(layout, dead.bucket), {
    text: 'SELECT token FROM notify.device WHERE bucket = $1 AND dead_at < $2::timestamptz ORDER BY dead_at LIMIT $3',
    values: [dead.bucket, dead.deadBefore, dead.limit],
  })
  let removed = 0
  const failures: unknown[] = []
  const tokens = rows.map(({ token }) => token)
  for (const { scope, items } of groupByBucket(layout, tokens, bucketOfToken))
    try {
      const own = atEach(database, [dead.bucket, scope.bucket ?? dead.bucket])
      removed += await own.transaction((tx) => removeDead(tx, layout.count, dead, items))
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
  return removed
}

async function removeDead(
  tx: Transaction,
  buckets: number,
  { bucket, deadBefore }: DeadDevices,
  tokens: readonly string[],
): Promise<number> {
  await tx.query(byIndexes)
  const { rows } = await tx.query<{ user_id: string; device_id: string; token: string }>(
    `WITH old AS MATERIALIZED (
       SELECT user_id, device_id FROM notify.device
        WHERE bucket = $1 AND dead_at < $2::timestamptz AND token = ANY ($3::text[])
        ORDER BY dead_at FOR UPDATE SKIP LOCKED
     ) DELETE FROM notify.device d USING old
        WHERE d.bucket = $1 AND d.user_id = old.user_id AND d.device_id = old.device_id
     RETURNING d.user_id, d.device_id, d.token`,
    [bucket, deadBefore, tokens],
  )
  for (const { user_id: userId, device_id: deviceId, token } of rows)
    await releaseToken(tx, buckets, { token, userId, deviceId })
  return rows.length
}
