import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { Survey } from '../store/ownership.ts'
import { Agenda } from './agenda.ts'
import type { Agendas } from './agendas.ts'
import { workOnDue } from './pass.ts'

/** What the surveyor needs. */
export interface SurveyorOptions {
  readonly survey: Survey
  readonly agendas: Agendas
  /** From one survey to the next, in milliseconds, where one statement looks at all buckets. */
  readonly idleMs: number
  /** Within this time each bucket is looked at where they are apart, and sooner where something was due, in milliseconds. */
  readonly sweepMs: number
  readonly clock: Clock
  readonly log: Log
  /** Called after each pass, whatever came of it. */
  readonly onSurveyed: () => void
}

/** The one worker of a process that looks which buckets have something to do. */
export interface Surveyor extends Worker {
  /** How many buckets could not be looked at when that was last tried. */
  readonly failing: number
  /** Makes it look at these buckets alone, at once at those that are new. */
  own(buckets: readonly number[]): void
  /** Hints were missed: every bucket of its own is looked at now. */
  missed(): void
  /** The node of these buckets is back: those that could not be looked at are looked at now. */
  returned(buckets: readonly number[]): void
}

/** After a survey that took long, as with an old snapshot in the database, the next one waits for twice that time. */
const pauseFactor = 2
const maxPauseMs = 5_000

/** Starts the surveyor, which lets the workers know what they did not hear of by a hint. */
export function startSurveyor(options: SurveyorOptions): Surveyor {
  const { survey, agendas, idleMs, sweepMs, clock, log, onSurveyed } = options
  const { apart } = survey
  const rounds = new Agenda({ sweepMs })
  let pauseMs = idleMs
  const look = async (buckets: readonly number[]) => {
    const begun = performance.now()
    const found = await survey.survey(buckets, clock.now())
    const now = clock.now()
    for (const { kind, bucket, dueAt } of found) agendas.receive(kind, [bucket], dueAt <= now ? undefined : dueAt)
    agendas.surveyed(buckets)
    pauseMs = Math.max(idleMs, Math.min(maxPauseMs, (performance.now() - begun) * pauseFactor))
    return { done: buckets, more: [] }
  }
  const lookAtDue = async (): Promise<boolean> => {
    if (!apart) {
      if (rounds.buckets.length > 0) await look(rounds.buckets)
      return false
    }
    rounds.hint(agendas.takeServed())
    return workOnDue({ name: 'survey', agenda: rounds, now: clock.now(), log, apart, work: look })
  }
  const pass = () => lookAtDue().finally(onSurveyed)
  const worker = startWorker({ name: 'survey', log, pass, idleMs: () => pauseMs })
  return {
    ...worker,
    get failing() {
      return rounds.failing
    },
    own(buckets) {
      const added = rounds.own(buckets)
      rounds.hint(added)
      if (added.length > 0) worker.resume()
    },
    missed() {
      rounds.hint(rounds.buckets)
      worker.resume()
    },
    returned(buckets) {
      rounds.returned(buckets)
      worker.resume()
    },
  }
}
