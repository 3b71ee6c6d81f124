import type { StatCount, StatLabels } from './tally.ts'

/** What one process counted in about a minute. Stored once, however often it is sent. */
export interface StatBatch {
  readonly id: string
  /** The minute it belongs to, as any moment of it (Unix milliseconds). */
  readonly at: number
  readonly counts: readonly StatCount[]
}

/** A part of the history of a measure. Times are Unix milliseconds, multiples of the step. */
export interface StatQuery {
  readonly measure: string
  readonly from: number
  readonly to: number
  readonly stepMs: number
}

/** How much was counted in a step. */
export interface StatRow {
  /** When the step began, in Unix milliseconds. */
  readonly at: number
  readonly labels: StatLabels
  readonly value: number
}

/** Reads the history of measures. @throws Problem when it cannot be read within its time */
export interface StatReader {
  read(query: StatQuery): Promise<readonly StatRow[]>
}

/** The history of what the processes of a service counted. */
export interface StatStore extends StatReader {
  /** Adds a batch in one statement. A batch that is there already changes nothing. */
  add(batch: StatBatch): Promise<void>
  /** Deletes what is too old, a bounded number of rows; true when more is left. */
  purge(now: number): Promise<boolean>
  /** The first and the last hour in which a measure was counted, but for some values of a label; undefined for none. */
  seen(measure: string, without?: StatExclusion): Promise<StatSpan | undefined>
}

/** Values of a label that are left out. */
export interface StatExclusion {
  readonly label: string
  readonly values: readonly string[]
}

/** Between which hours something was counted, as their beginnings (Unix milliseconds). */
export interface StatSpan {
  readonly first: number
  readonly last: number
}

/** How long minutes are kept: 7 days. Hours: 400 days. In milliseconds. */
export const statRetentionMs = { minute: 7 * 86_400_000, hour: 400 * 86_400_000 } as const
