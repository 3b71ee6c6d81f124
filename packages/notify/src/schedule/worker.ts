import { type Clock, isFaultOfInput, type Log, Problem, startWorker, type Worker } from '@gatehouse/kit'
import type { Settled } from '../admission/planned.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { NotifyRequest } from '../model/notification.ts'
import type { Schedule, Scheduled, Waiting } from '../store/store.ts'

/** What the worker that fires scheduled notifications needs. */
export interface ScheduleWorkerOptions {
  readonly schedule: Pick<Schedule, 'moveToDeadLetters' | 'recordFailure'>
  readonly waiting: Pick<Waiting, 'claimScheduled'>
  /** The way in; it takes the scheduled row away in its own transaction. */
  readonly accept: (event: {
    readonly request: NotifyRequest
    readonly source: string
    readonly settles: Settled
    readonly occurredAt: number
  }) => Promise<{ readonly refused: Problem } | object>
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
}

/** It names what there is not, or an event type that belongs to another service: later is no better. */
const refusedForGood: ReadonlySet<number> = new Set([403, 422])

/** The worker that fires what is due: up to 1000 rows a pass that no other holds, each once, late ones too. */
export function startScheduleWorker({
  schedule,
  waiting,
  accept,
  buckets,
  options,
  clock,
  log,
}: ScheduleWorkerOptions): Worker {
  const failed = async (scheduled: Scheduled, error: unknown): Promise<object> => {
    if (!isFaultOfInput(error)) throw error
    const reason = error instanceof Error ? error.message : String(error)
    const isDead = await schedule.recordFailure(scheduled, options.topicAttempts, reason, clock.now())
    log.error({ err: error, id: scheduled.id, isDead }, 'a scheduled event failed by its own fault')
    return {}
  }
  const fire = async (scheduled: Scheduled): Promise<void> => {
    const settles = { kind: 'scheduled', id: scheduled.id } as const
    const { payload: request, source, occurredAt = scheduled.fireAt } = scheduled
    const event = { request, source, settles, occurredAt }
    const result = await accept(event).catch((error: unknown) => failed(scheduled, error))
    if ('refused' in result && result.refused instanceof Problem && refusedForGood.has(result.refused.status))
      await schedule.moveToDeadLetters(scheduled, 'invalid_schedule', result.refused.message, clock.now())
  }
  const pass = async (): Promise<boolean> => {
    let found = false
    for (const bucket of buckets) {
      const due = await waiting.claimScheduled(bucket, options.schedulePassSize, options.leaseMs, clock.now())
      if (due.length > 0) found = true
      await Promise.all(due.map(fire))
    }
    return found
  }
  return startWorker({ name: 'schedule', log, pass, idleMs: options.idleMs })
}
