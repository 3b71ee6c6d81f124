import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Parked } from '../store/store.ts'

/** What the worker that releases parked events needs. */
export interface ReleaseWorkerOptions {
  readonly parked: Parked
  readonly catalog: CatalogKeeper
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<NotifyMetrics, 'released'>
  /** Told when something was released, so that it is fired at once. */
  readonly onReleased: () => void
}

/**
 * The worker that lets parked events of the topic follow as their type's rate allows: the oldest first, so many a pass.
 * A type that has no rate any more, or is gone, lets all of them go.
 */
export function startReleaseWorker(settings: ReleaseWorkerOptions): Worker {
  const { parked, catalog, buckets, options, clock, log, metrics, onReleased } = settings
  const pass = async (): Promise<boolean> => {
    const heads = []
    for (const bucket of buckets) heads.push(...(await parked.heads(bucket)).map((head) => ({ ...head, bucket })))
    if (heads.length === 0) return false
    const { eventTypes } = await catalog.current()
    let released = 0
    for (const { event, bucket } of heads.sort((a, b) => a.place - b.place)) {
      const rate = eventTypes.get(event)?.rate
      const count = await parked.release(bucket, event, rate, options.claimSize, clock.now())
      if (count > 0) metrics.released.inc({ event }, count)
      released += count
    }
    if (released > 0) onReleased()
    return released > 0
  }
  return startWorker({ name: 'release', log, pass, idleMs: options.idleMs })
}
