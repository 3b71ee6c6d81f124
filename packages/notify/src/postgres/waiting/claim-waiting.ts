import type { Database } from '@gatehouse/kit'
import { type BucketScope, type Buckets, nameFor, textFor } from '../sql/buckets.ts'
import { timestamp } from '../sql/columns.ts'
import { queryByIndex } from '../sql/index-plans.ts'

/** What is to be claimed of something that waits. */
export interface WaitingClaim {
  readonly buckets: readonly number[]
  readonly limit: number
  readonly leaseMs: number
  /** Unix milliseconds. */
  readonly now: number
}

/** Runs a claim of what waits: on all buckets together, or one after the other where they are on different nodes. */
export async function claimWaiting<Row extends object>(
  database: Database,
  { count, distributed }: Buckets,
  query: { readonly name: string; readonly text: string },
  { buckets, limit, leaseMs, now }: WaitingClaim,
): Promise<Row[]> {
  const claimed: Row[] = []
  const scopes: readonly BucketScope[] = distributed ? buckets.map((bucket) => ({ count, bucket })) : [{ count }]
  for (const scope of scopes) {
    if (claimed.length >= limit) break
    const { rows } = await queryByIndex<Row>(database, scope, {
      name: nameFor(scope, query.name),
      text: textFor(scope, query.text),
      values: [scope.bucket ?? buckets, limit - claimed.length, leaseMs, timestamp(now)],
    })
    claimed.push(...rows)
  }
  return claimed
}
