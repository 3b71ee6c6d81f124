import { type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { NotifyOptions } from '../options.ts'
import type { Outbox } from '../store.ts'
import type { Topic } from '../topic.ts'

export interface OutboxWorkerOptions {
  readonly outbox: Outbox
  readonly topic: Topic
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly log: Log
}

const mostAtOnce = 500

/** Publishes state changes on `notifications.events`: at least once, with an id that lets the stream keep each once. */
export function startOutboxWorker({ outbox, topic, buckets, options, log }: OutboxWorkerOptions): Worker {
  const pass = async (): Promise<boolean> => {
    let found = false
    for (const bucket of buckets) {
      const events = await outbox.claim(bucket, mostAtOnce, options.leaseMs)
      if (events.length === 0) continue
      found = true
      const ids = events.map(({ id }) => id)
      try {
        await topic.publish(events)
      } catch (error) {
        await outbox.release(bucket, ids)
        throw error
      }
      await outbox.remove(bucket, ids)
    }
    return found
  }
  return startWorker({ name: 'outbox', log, pass, idleMs: options.idleMs })
}
