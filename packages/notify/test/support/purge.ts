import type { Retention } from '../../src/config/options.ts'
import type { NotifyStore } from '../../src/store/store.ts'

/** One purge of each bucket; returns how many rows were removed. `now` is Unix milliseconds. */
export async function purgeBuckets(
  { intake, privacy }: Pick<NotifyStore, 'intake' | 'privacy'>,
  retention: Retention,
  now: number,
): Promise<number> {
  let removed = 0
  for (let bucket = 0; bucket < intake.buckets; bucket++) removed += await privacy.purge(bucket, retention, now)
  return removed
}
