import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Agenda } from '../agenda/agenda.ts'
import { type BucketsDone, pauseUntilDue, workOnDue } from '../agenda/pass.ts'
import type { Retention } from '../config/options.ts'
import type { Privacy, StateChanges } from '../store/store.ts'

/** What the worker that removes old rows needs. */
export interface RetentionWorkerOptions {
  readonly privacy: Privacy
  readonly stateChanges: StateChanges
  /** Whether state changes stay until they are published, however old they are. */
  readonly publishes: boolean
  /** Names each bucket once in {@link purgeEveryMs}. */
  readonly agenda: Agenda
  readonly retention: Retention
  readonly clock: Clock
  readonly log: Log
}

/** From one purge of a bucket to the next, in milliseconds. */
export const purgeEveryMs = 600_000
const dayMs = 86_400_000
const changesAtOnce = 10_000

/** The worker that removes what has been kept long enough, in small batches. */
export function startRetentionWorker(options: RetentionWorkerOptions): Worker {
  const { privacy, agenda, retention, clock, log } = options
  const work = async (buckets: readonly number[]): Promise<BucketsDone> => {
    const more: number[] = []
    for (const bucket of buckets) {
      let removed = bucket === 0 ? await purgeStateChanges(options) : 0
      removed += await privacy.purge(bucket, retention, clock.now())
      if (removed === 0) continue
      log.info({ removed, bucket }, 'old records were removed')
      more.push(bucket)
    }
    return { done: buckets.filter((bucket) => !more.includes(bucket)), more }
  }
  const name = 'retention'
  const pass = () => workOnDue({ name, agenda, now: clock.now(), log, apart: true, work })
  return startWorker({ name, log, pass, idleMs: () => pauseUntilDue(agenda, clock.now(), purgeEveryMs) })
}

/** The log is not divided into buckets: it belongs to whoever has the first. */
function purgeStateChanges({
  stateChanges,
  publishes,
  retention,
  clock,
}: Pick<RetentionWorkerOptions, 'stateChanges' | 'publishes' | 'retention' | 'clock'>): Promise<number> {
  const recordedBefore = clock.now() - retention.stateChangeDays * dayMs
  return stateChanges.purge(recordedBefore, publishes, changesAtOnce)
}
