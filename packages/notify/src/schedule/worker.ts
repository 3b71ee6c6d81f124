import { type Clock, isFaultOfInput, isUnavailable, type Log, Problem, startWorker, type Worker } from '@gatehouse/kit'
import type { Settled } from '../admission/planned.ts'
import type { Agenda } from '../agenda/agenda.ts'
import { type BucketsDone, claimDone, pauseUntilDue, workOnDue } from '../agenda/pass.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
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
  readonly agenda: Agenda
  /** Whether each bucket is worked by itself. */
  readonly apart: boolean
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
}

/** It names what there is not, or an event type that belongs to another service: later is no better. */
const refusedForGood: ReadonlySet<number> = new Set([403, 422])

/** The worker that fires what is due: up to 1000 rows a pass that no other holds, each once, late ones too. */
export function startScheduleWorker(settings: ScheduleWorkerOptions): Worker {
  const { waiting, agenda, apart, options, clock, log } = settings
  const { schedulePassSize: limit, leaseMs, idleMs } = options
  const work = async (buckets: readonly number[]): Promise<BucketsDone> => {
    const due = await waiting.claimScheduled(buckets, limit, leaseMs, clock.now())
    const failed = new Map<number, unknown>()
    const fireOrFail = (each: (typeof due)[number]) =>
      fire(settings, each).catch((error: unknown) => failed.set(each.bucket, error))
    await Promise.all(due.map(fireOrFail))
    for (const error of failed.values()) if (!apart && isUnavailable(error)) throw error
    const claimed = due.map(({ bucket }) => bucket)
    return { ...claimDone(buckets, claimed, limit), failed }
  }
  const pass = () => workOnDue({ name: 'schedule', agenda, now: clock.now(), log, apart, work })
  return startWorker({ name: 'schedule', log, pass, idleMs: () => pauseUntilDue(agenda, clock.now(), idleMs) })
}

async function fire(settings: ScheduleWorkerOptions, scheduled: Scheduled): Promise<void> {
  const { accept, schedule, clock } = settings
  const settles = { kind: 'scheduled', id: scheduled.id } as const
  const { payload: request, source, occurredAt = scheduled.fireAt } = scheduled
  const event = { request, source, settles, occurredAt }
  const result = await accept(event).catch((error: unknown) => recordFailure(settings, scheduled, error))
  if ('refused' in result && result.refused instanceof Problem && refusedForGood.has(result.refused.status))
    await schedule.moveToDeadLetters(scheduled, 'invalid_schedule', result.refused.message, clock.now())
}

async function recordFailure(
  { schedule, options, clock, log }: ScheduleWorkerOptions,
  scheduled: Scheduled,
  error: unknown,
): Promise<object> {
  if (!isFaultOfInput(error)) throw error
  const reason = error instanceof Error ? error.message : String(error)
  const isDead = await schedule.recordFailure(scheduled, options.topicAttempts, reason, clock.now())
  log.error({ err: error, id: scheduled.id, isDead }, 'a scheduled event failed by its own fault')
  return {}
}
