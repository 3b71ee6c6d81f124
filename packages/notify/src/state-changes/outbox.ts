import { randomUUID } from 'node:crypto'
import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Agenda } from '../agenda/agenda.ts'
import { type BucketsDone, workOnDue } from '../agenda/pass.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Topic } from '../model/work/topic.ts'
import type { StateChanges } from '../store/store.ts'

/** What the worker that numbers state changes needs. */
export interface OutboxWorkerOptions {
  readonly stateChanges: StateChanges
  readonly agenda: Agenda
  /** Whether each bucket is worked by itself. */
  readonly apart: boolean
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  /** Called when there is more to read in the log. */
  readonly onNumbered: () => void
}

/** Transactions, each of which has changed the state of many deliveries, or of one. */
const maxNumbered = 200
const maxPublished = 500

/** Moves state changes from the outbox to the log, where they have an order. */
export function startOutboxWorker(settings: OutboxWorkerOptions): Worker {
  const { stateChanges, agenda, apart, options, clock, log, onNumbered } = settings
  const work = async (buckets: readonly number[]): Promise<BucketsDone> => {
    const numbered = await stateChanges.number(buckets, maxNumbered, clock.now())
    if (numbered > 0) onNumbered()
    return numbered >= maxNumbered ? { done: [], more: buckets } : { done: buckets, more: [] }
  }
  const pass = () => workOnDue({ name: 'outbox', agenda, now: clock.now(), log, apart, work })
  return startWorker({ name: 'outbox', log, pass, idleMs: options.idleMs })
}

/** What the worker that publishes state changes needs. */
export interface StreamWorkerOptions extends Pick<OutboxWorkerOptions, 'stateChanges' | 'options' | 'log'> {
  readonly topic: Topic
  readonly metrics: Pick<NotifyMetrics, 'unpublishedChanges'>
}

/**
 * Publishes the log on `notifications.events`, in its order, by one process at a time: at least once, with an id that
 * lets the stream keep each once. While the stream is away the log keeps what it has not taken, whatever its age.
 */
export function startStreamWorker({ stateChanges, topic, options, metrics, log }: StreamWorkerOptions): Worker {
  const holder = randomUUID()
  const pass = async (): Promise<boolean> => {
    const { last, removed, published } = await stateChanges.positions()
    metrics.unpublishedChanges.set(Math.max(0, last - published))
    if (published >= last) return false
    const after = await stateChanges.acquire(holder, options.leaseMs)
    if (after === undefined) return false
    if (after < removed)
      log.error({ from: after + 1, to: removed }, 'state changes were removed before they were published')
    const { changes, through } = await stateChanges.read(after, maxPublished, {})
    try {
      if (changes.length > 0) await topic.publish(changes)
    } catch (error) {
      await stateChanges.recordPublished(holder, after, 0)
      throw error
    }
    const more = through < last
    await stateChanges.recordPublished(holder, through, more ? options.leaseMs : 0)
    metrics.unpublishedChanges.set(Math.max(0, last - through))
    return more
  }
  return startWorker({ name: 'stream', log, pass, idleMs: options.idleMs })
}
