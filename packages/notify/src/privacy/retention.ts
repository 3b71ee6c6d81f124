import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Retention } from '../config/options.ts'
import type { Privacy, StateChanges } from '../store/store.ts'

/** What the worker that removes old rows needs. */
export interface RetentionWorkerOptions {
  readonly privacy: Privacy
  readonly stateChanges: StateChanges
  /** Whether state changes stay until they are published, however old they are. */
  readonly publishes: boolean
  readonly buckets: readonly number[]
  readonly retention: Retention
  readonly clock: Clock
  readonly log: Log
}

const idleMs = 600_000
const dayMs = 86_400_000
const changesAtOnce = 10_000

/** The worker that removes what has been kept long enough, in small batches. */
export function startRetentionWorker(options: RetentionWorkerOptions): Worker {
  const { privacy, stateChanges, publishes, buckets, retention, clock, log } = options
  const pass = async (): Promise<boolean> => {
    let removed = 0
    for (const bucket of buckets) removed += await privacy.purge(bucket, retention, clock.now())
    const recordedBefore = clock.now() - retention.stateChangeDays * dayMs
    removed += await stateChanges.purge(recordedBefore, publishes, changesAtOnce)
    if (removed > 0) log.info({ removed }, 'old records were removed')
    return removed > 0
  }
  return startWorker({ name: 'retention', log, pass, idleMs })
}
