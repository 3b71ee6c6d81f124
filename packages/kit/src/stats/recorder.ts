import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { startWorker, type Worker } from '../worker.ts'
import type { StatBatch, StatReader, StatStore } from './store.ts'
import type { StatCount, Tally } from './tally.ts'

/** Writes what is counted. */
export interface StatRecorder extends Worker {
  /** What is counted and not written yet. */
  unwritten(): readonly StatCount[]
}

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
export function startStatRecorder(options: StatRecorderOptions): StatRecorder {
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
    keepsAlive: false,
    idleMs: () => minuteMs - (clock.now() % minuteMs) + Math.random() * spreadMs,
    async pass() {
      await write()
      await purge()
      return false
    },
  })
  return {
    ...worker,
    unwritten: () => [...(unwritten?.counts ?? []), ...tally.peek()],
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

/** A reader that adds what this process has not written yet, as of now. */
export function withUnwritten(reader: StatReader, recorder: Pick<StatRecorder, 'unwritten'>, clock: Clock): StatReader {
  return {
    async read(query) {
      const rows = await reader.read(query)
      const { measure: wanted, from, to, stepMs } = query
      const now = clock.now()
      if (now < from || now >= to) return rows
      const at = from + Math.floor((now - from) / stepMs) * stepMs
      const counts = recorder.unwritten().filter(({ measure }) => measure === wanted)
      return [...rows, ...counts.map(({ labels, value }) => ({ at, labels, value }))]
    },
  }
}
