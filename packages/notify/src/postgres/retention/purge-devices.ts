import { hash } from 'node:crypto'
import type { Database, Transaction } from '@gatehouse/kit'
import { bucketOfHash } from '../../model/id.ts'
import { atEach } from '../nodes/spread-database.ts'
import { type BucketScope, type Buckets, groupByBucket, scopeOf, textFor } from '../sql/buckets.ts'
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
      removed += await own.transaction((tx) => removeDead(tx, scope, dead, items))
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
  return removed
}

/**
 * The tokens first, as all who need both lock them. A device that somebody else has something to do with, or its token, is
 * left to the next purge.
 */
async function removeDead(
  tx: Transaction,
  scope: BucketScope,
  { bucket, deadBefore }: DeadDevices,
  tokens: readonly string[],
): Promise<number> {
  await tx.query(byIndexes)
  const free = await lockFree(tx, scope, tokens)
  const { rows } = await tx.query<{ user_id: string; device_id: string; token: string }>(
    `WITH old AS MATERIALIZED (
       SELECT user_id, device_id FROM notify.device
        WHERE bucket = $1 AND dead_at < $2::timestamptz AND token = ANY ($3::text[])
        ORDER BY dead_at FOR UPDATE SKIP LOCKED
     ) DELETE FROM notify.device d USING old
        WHERE d.bucket = $1 AND d.user_id = old.user_id AND d.device_id = old.device_id
     RETURNING d.user_id, d.device_id, d.token`,
    [bucket, deadBefore, free],
  )
  for (const { user_id: userId, device_id: deviceId, token } of rows)
    await releaseToken(tx, scope.count, { token, userId, deviceId })
  return rows.length
}

/** Locks those of the tokens that nobody else has locked; answers which. */
async function lockFree(tx: Transaction, scope: BucketScope, tokens: readonly string[]): Promise<string[]> {
  const byHash = new Map(tokens.map((token) => [hash('sha256', token), token]))
  const hashes = [...byHash.keys()]
  const buckets = scope.bucket ?? hashes.map((tokenHash) => bucketOfHash(tokenHash, scope.count))
  const { rows } = await tx.query<{ token_hash: string }>(textFor(scope, lockFreeSql), [buckets, hashes])
  return rows.flatMap(({ token_hash }) => byHash.get(token_hash) ?? [])
}

const lockFreeSql = `
SELECT p.token_hash FROM unnest($1::smallint[], $2::text[]) AS r (bucket, token_hash)
  JOIN notify.push_token p ON p.bucket = r.bucket AND p.token_hash = r.token_hash
   FOR UPDATE OF p SKIP LOCKED`
