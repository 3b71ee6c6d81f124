import type { Completion } from '../store.ts'
import type { ScriptCall } from './request.ts'

/** One call of a method of the store. */
export interface Call extends ScriptCall {
  /** The hash tag of its keys, in braces; '' for none. */
  readonly tag: string
  readonly completion: Completion
  /** Until when its caller waits, by `performance.now()`, where nothing may be counted after that. */
  readonly until?: number | undefined
}

/** The part of a caller's wait that is left for the response. */
const responseShare = 0.2

/** The calls of one script call that have no result yet, and the time in which the script has to run for each of them. */
export class WaitingCalls {
  #calls: readonly Call[]
  /** Until when the caller with the shortest wait waits; infinite where no wait is limited. */
  #minUntil: number
  readonly #sentAt = performance.now()

  constructor(calls: readonly Call[]) {
    this.#calls = calls
    this.#minUntil = minUntil(calls)
  }

  get calls(): readonly Call[] {
    return this.#calls
  }

  get areTimed(): boolean {
    return this.#minUntil !== Number.POSITIVE_INFINITY
  }

  /** Milliseconds in which the script has to run, for the call with the shortest wait. */
  get leftMs(): number {
    return (this.#minUntil - this.#sentAt) * (1 - responseShare) - (performance.now() - this.#sentAt)
  }

  /** Removes the calls whose time has expired and rejects them; the others go on. Returns how many it removed. */
  rejectExpired(message: string): number {
    const spentMs = performance.now() - this.#sentAt
    const expiredUntil = this.#sentAt + spentMs / (1 - responseShare)
    if (this.#minUntil > expiredUntil) return 0
    const isExpired = ({ until = Number.POSITIVE_INFINITY }: Call): boolean => until <= expiredUntil
    const expired = this.#calls.filter(isExpired)
    this.#calls = this.#calls.filter((call) => !isExpired(call))
    this.#minUntil = minUntil(this.#calls)
    const error = new Error(message)
    for (const { completion } of expired) completion.reject(error)
    return expired.length
  }
}

function minUntil(calls: readonly Call[]): number {
  return calls.reduce((min, { until = min }) => Math.min(min, until), Number.POSITIVE_INFINITY)
}
