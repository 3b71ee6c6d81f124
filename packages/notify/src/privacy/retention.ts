import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Retention } from '../options.ts'
import type { Privacy } from '../store.ts'

export interface RetentionWorkerOptions {
  readonly privacy: Privacy
  readonly buckets: readonly number[]
  readonly retention: Retention
  readonly clock: Clock
  readonly log: Log
}

const idleMs = 600_000

/** The worker that removes what has been kept long enough, in small batches. */
export function startRetentionWorker({ privacy, buckets, retention, clock, log }: RetentionWorkerOptions): Worker {
  const pass = async (): Promise<boolean> => {
    let removed = 0
    for (const bucket of buckets) removed += await privacy.purge(bucket, retention, clock.now())
    if (removed > 0) log.info({ removed }, 'old records were removed')
    return removed > 0
  }
  return startWorker({ name: 'retention', log, pass, idleMs })
}
