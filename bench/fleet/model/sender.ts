import type { Cores } from '../engine/cores.ts'
import type { Cohort } from './cohort.ts'
import type { Attempt, Delivery } from './delivery.ts'

/** Cohorts that a process has pulled and not acknowledged. */
export interface Pulled {
  readonly cohorts: readonly Cohort[]
  readonly atMs: number
  settle(): void
}

/** Whoever is to record what was sent. */
export interface Completer {
  /** A result that is to be recorded. */
  complete(attempt: Attempt): void
  /** Claims what waits for a channel where the process has room. */
  claim(channel: number): void
}

/** A process as its flows see it. */
export interface Sender {
  readonly cpu: Cores
  readonly isAlive: boolean
  take(cohorts: readonly Cohort[]): Pulled
  /** How many more notifications of a channel may be leased to it. */
  room(channel: number): number
  hasRoom(channel: number): boolean
  /** Sends a delivery that is leased to it, as soon as a slot is free. */
  send(attempt: Attempt, completer: Completer): void
  /** A delivery that it has recorded, or given up. */
  release(delivery: Delivery, completer: Completer): void
}
