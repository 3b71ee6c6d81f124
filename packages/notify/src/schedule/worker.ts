import { type Clock, type Log, Problem, startWorker, type Worker } from '@gatehouse/kit'
import type { Settled } from '../admission.ts'
import type { NotifyRequest } from '../notification.ts'
import type { NotifyOptions } from '../options.ts'
import type { Schedule, Scheduled } from '../store.ts'

export interface ScheduleWorkerOptions {
  readonly schedule: Schedule
  /** The way in; it takes the scheduled row away in its own transaction. */
  readonly accept: (event: {
    readonly request: NotifyRequest
    readonly source: string
    readonly settles: Settled
  }) => Promise<{ readonly refused: Problem } | object>
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
}

/** It names what there is not, or an event type that belongs to another service: later is no better. */
const refusedForGood: ReadonlySet<number> = new Set([403, 422])

/** The worker that fires what is due: up to 1000 rows a pass that no other holds, each once, late ones too. */
export function startScheduleWorker({ schedule, accept, buckets, options, clock, log }: ScheduleWorkerOptions): Worker {
  const fire = async (scheduled: Scheduled): Promise<void> => {
    const settles = { kind: 'scheduled', id: scheduled.id } as const
    const result = await accept({ request: scheduled.payload, source: scheduled.source, settles })
    if ('refused' in result && result.refused instanceof Problem && refusedForGood.has(result.refused.status))
      await schedule.bury(scheduled, 'invalid_schedule', result.refused.message, clock.now())
  }
  const pass = async (): Promise<boolean> => {
    let found = false
    for (const bucket of buckets) {
      const due = await schedule.claim(bucket, options.schedulePassSize, options.leaseMs, clock.now())
      if (due.length > 0) found = true
      await Promise.all(due.map(fire))
    }
    return found
  }
  return startWorker({ name: 'schedule', log, pass, idleMs: options.idleMs })
}
