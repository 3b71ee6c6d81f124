import { Histogram } from '../engine/histogram.ts'
import { type Cohort, forEachAge } from './cohort.ts'

/** Latencies of a span of time: from the producer to the commit of the acceptance, and to the recorded delivery. */
export interface Latencies {
  readonly accepted: Histogram
  readonly delivered: Histogram
}

/** Latencies by window of time and database node. */
export class Statistics {
  readonly #windowMs: number
  readonly #nodes: number
  readonly #windows: Latencies[][] = []
  #accepted = 0
  #duplicates = 0
  #sentAgain = 0

  constructor(windowMs: number, nodes: number) {
    this.#windowMs = windowMs
    this.#nodes = nodes
  }

  /** Notifications whose acceptance is committed, each once. */
  get accepted(): number {
    return this.#accepted
  }

  /** Messages delivered again whose acceptance was committed already. */
  get duplicates(): number {
    return this.#duplicates
  }

  /** Notifications that a provider was handed a second time, with the same idempotency key. */
  get sentAgain(): number {
    return this.#sentAgain
  }

  accept(cohort: Cohort, node: number, now: number): void {
    this.#accepted += cohort.count
    const { accepted } = this.#at(now, node)
    forEachAge(cohort, now, (age, count) => accepted.add(age, count))
  }

  repeat(cohort: Cohort): void {
    this.#duplicates += cohort.count
  }

  sendAgain(count: number): void {
    this.#sentAgain += count
  }

  deliver(cohort: Cohort, count: number, node: number, now: number): void {
    const { delivered } = this.#at(now, node)
    forEachAge({ ...cohort, count }, now, (age, part) => delivered.add(age, part))
  }

  /** The latencies of what was accepted and delivered in a span of time, on all nodes or on those that `isIn` selects. */
  between(fromMs: number, toMs: number, isIn: (node: number) => boolean = () => true): Latencies {
    const sum = { accepted: new Histogram(), delivered: new Histogram() }
    for (let index = Math.floor(fromMs / this.#windowMs); index < Math.ceil(toMs / this.#windowMs); index++)
      for (const [node, latencies] of (this.#windows[index] ?? []).entries())
        if (isIn(node)) {
          sum.accepted.merge(latencies.accepted)
          sum.delivered.merge(latencies.delivered)
        }
    return sum
  }

  #at(now: number, node: number): Latencies {
    const index = Math.floor(now / this.#windowMs)
    const empty = () => ({ accepted: new Histogram(), delivered: new Histogram() })
    const window = this.#windows[index] ?? Array.from({ length: this.#nodes }, empty)
    this.#windows[index] = window
    return window[node] as Latencies
  }
}
