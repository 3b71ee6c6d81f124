import type { Cohort } from './cohort.ts'

/** Deliveries of one bucket and channel that are claimed, sent and recorded together. */
export interface Delivery {
  readonly cohort: Cohort
  readonly count: number
  readonly channel: number
  /** The fence: a record counts only for the attempt that is current. */
  attempt: number
  leaseUntil: number
  /** How often the provider was called. */
  calls: number
  isRecorded: boolean
}

/** One attempt at a delivery, by a process. */
export interface Attempt {
  readonly delivery: Delivery
  readonly number: number
}
