import type { CallerCount } from './caller-key.ts'
import type { Dimension, LabelCount, Period, Rejection } from './period.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Steps of one length, and how long they are kept, in milliseconds. */
export interface Resolution {
  readonly stepMs: number
  readonly keepMs: number
}

/** How long a history reaches back in processes that share one, and in the memory of a single process. */
export const maxAgeMs = { shared: 7 * dayMs, process: dayMs } as const

/** The steps in which callers are counted. The last resolution is kept as long as the history reaches back. */
export const callerResolutions = (ageMs: number): readonly Resolution[] => [
  { stepMs: minuteMs, keepMs: hourMs + 5 * minuteMs },
  { stepMs: hourMs, keepMs: ageMs + hourMs },
]

/** The steps in which labels are counted. */
export const labelResolutions = (ageMs: number): readonly Resolution[] => [
  { stepMs: minuteMs, keepMs: 3 * hourMs + 5 * minuteMs },
  { stepMs: 10 * minuteMs, keepMs: dayMs + 20 * minuteMs },
  { stepMs: hourMs, keepMs: ageMs + hourMs },
]

/** Callers that one step keeps for each outcome; those with the lowest counts are dropped. */
export const maxCallersPerStep = 500

/** The steps from `from` to the one that includes `to` (Unix milliseconds). */
export interface Steps {
  readonly stepMs: number
  readonly from: number
  readonly to: number
}

/** The callers of one step. */
export interface CallerStep {
  /** When it begins, in Unix milliseconds. */
  readonly at: number
  readonly callers: readonly CallerCount[]
  /** By how much a count, also one that is not there, is too low at most. */
  readonly missed: number
}

/** The labels of one step. */
export interface LabelStep {
  readonly at: number
  readonly labels: readonly LabelCount[]
}

/** What requests added up to, for days. */
export interface History {
  /** How long it reaches back, in milliseconds. */
  readonly maxAgeMs: number
  /** Adds what happened in a period. */
  add(period: Period): Promise<void>
  /** The steps in which there were callers with an outcome. */
  callers(outcome: 'allowed' | 'rejected', steps: Steps): Promise<CallerStep[]>
  /** The steps in which there were requests. */
  labels(by: Dimension, steps: Steps): Promise<LabelStep[]>
  /** The last rejections, newest first. */
  rejections(): Promise<Rejection[]>
}

/** The beginning of the step that includes a time. */
export const stepAt = (time: number, stepMs: number): number => time - (time % stepMs)

/** The beginnings of steps, oldest first. */
export function stepStarts({ stepMs, from, to }: Steps): number[] {
  const first = stepAt(from, stepMs)
  return Array.from({ length: Math.max(0, Math.floor((to - first) / stepMs) + 1) }, (_, nth) => first + nth * stepMs)
}
