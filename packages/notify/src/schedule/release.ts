import { type Clock, isUnavailable, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Agenda } from '../agenda/agenda.ts'
import { type BucketsDone, workOnDue } from '../agenda/pass.ts'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Parked } from '../store/store.ts'

/** What the worker that releases parked events needs. */
export interface ReleaseWorkerOptions {
  readonly parked: Parked
  readonly catalog: CatalogKeeper
  readonly agenda: Agenda
  /** Whether each bucket is worked by itself. */
  readonly apart: boolean
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<NotifyMetrics, 'released'>
  /** Called with the buckets in which something was released, so that it is fired at once. */
  readonly onReleased: (buckets: readonly number[]) => void
}

/**
 * The worker that lets parked events of the topic follow as their type's rate allows: the oldest first, so many a pass.
 * A type that has no rate any more, or is gone, lets all of them go. One whose events cannot be released holds up no
 * other: a bucket backs off only where that is so for all of its types.
 */
export function startReleaseWorker(settings: ReleaseWorkerOptions): Worker {
  const { parked, catalog, agenda, apart, options, clock, log, metrics, onReleased } = settings
  const work = async (buckets: readonly number[]): Promise<BucketsDone> => {
    const heads = []
    for (const bucket of buckets) heads.push(...(await parked.heads(bucket)).map((head) => ({ ...head, bucket })))
    if (heads.length === 0) return { done: buckets, more: [] }
    const { eventTypes } = await catalog.current()
    const released = new Set<number>()
    const sound = new Set<number>()
    const failed = new Map<number, unknown>()
    // For the next pass: where buckets are apart no survey comes soon that finds what the rate did not allow yet.
    if (apart) agenda.hint(new Set(heads.map(({ bucket }) => bucket)))
    for (const { event, bucket } of heads.sort((a, b) => a.place - b.place)) {
      const type = { event, rate: eventTypes.get(event)?.rate }
      const count = await parked.release(bucket, type, options.claimSize, clock.now()).catch((err) => {
        if (isUnavailable(err)) throw err
        log.error({ err, worker: 'release', event, bucket }, 'parked events of a type failed; those of others go on')
        failed.set(bucket, err)
      })
      if (count === undefined) continue
      sound.add(bucket)
      if (count === 0) continue
      metrics.released.inc({ event }, count)
      released.add(bucket)
    }
    if (released.size > 0) onReleased([...released])
    for (const bucket of sound) failed.delete(bucket)
    return { done: buckets.filter((bucket) => !released.has(bucket)), more: [...released], failed }
  }
  const pass = () => workOnDue({ name: 'release', agenda, now: clock.now(), log, apart, work })
  return startWorker({ name: 'release', log, pass, idleMs: options.idleMs })
}
