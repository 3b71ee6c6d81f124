import type { BucketErrors } from '../../store/store.ts'
import type { BucketScope } from './buckets.ts'

/** How many buckets are read or written at once where each needs a statement of its own. */
const concurrentBuckets = 4

/**
 * Runs work for groups of items. Where each is of one bucket, a group that fails stops no other; where all buckets are in
 * one group its error is the caller's.
 */
export async function inGroups<Group extends { readonly scope: BucketScope }, Result>(
  groups: readonly Group[],
  work: (group: Group) => Promise<Result>,
): Promise<{ readonly results: Result[]; readonly failed: BucketErrors }> {
  const results: Result[] = []
  const failed = new Map<number, unknown>()
  for (let first = 0; first < groups.length; first += concurrentBuckets) {
    const some = groups.slice(first, first + concurrentBuckets)
    for (const [index, settled] of (await Promise.allSettled(some.map(work))).entries()) {
      const bucket = some[index]?.scope.bucket
      if (settled.status === 'fulfilled') results.push(settled.value)
      else if (bucket === undefined) throw settled.reason
      else failed.set(bucket, settled.reason)
    }
  }
  return { results, failed }
}
