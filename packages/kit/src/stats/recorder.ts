import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { startWorker, type Worker } from '../worker.ts'
import type { StatBatch, StatStore } from './store.ts'
import type { Tally } from './tally.ts'

/** What a recorder is started with. */
export interface StatRecorderOptions {
  readonly name: string
  readonly tally: Tally
  readonly store: Pick<StatStore, 'add' | 'purge'>
  readonly clock: Clock
  readonly log: Log
}

const minuteMs = 60_000
/** Processes write within this time after the minute and not all at once. */
const spreadMs = 5_000
const purgeEveryMs = 600_000

/**
 * Writes what a tally counted, once a minute and at the stop. A batch that could not be written is sent again as it is and
 * stored once; meanwhile the tally goes on counting, so that no more than two of them are in memory however long the
 * database is away. A crash loses what was counted since the last write.
 */
export function startStatRecorder(options: StatRecorderOptions): Worker {
  const { name, tally, store, clock, log } = options
  let unwritten: StatBatch | undefined
  let purgedAt = clock.now()
  const write = async () => {
    const now = clock.now()
    if (unwritten === undefined) {
      const { since, counts } = tally.take(now)
      unwritten = counts.length === 0 ? undefined : { id: randomUUID(), at: since, counts }
    }
    if (unwritten === undefined) return
    await store.add(unwritten)
    unwritten = undefined
  }
  const purge = async () => {
    const now = clock.now()
    if (now - purgedAt < purgeEveryMs) return
    const isMore = await store.purge(now)
    if (!isMore) purgedAt = now
  }
  const worker = startWorker({
    name,
    log,
    idleMs: () => minuteMs - (clock.now() % minuteMs) + Math.random() * spreadMs,
    async pass() {
      await write()
      await purge()
      return false
    },
  })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      try {
        // What a failed pass left, then what was counted since.
        await write()
        await write()
      } catch (error) {
        log.error({ err: error, worker: name }, 'the counts of the last minute could not be written')
      }
    },
  }
}
