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
    return this.#reject(this.#sentAt + spentMs / (1 - responseShare), message)
  }

  /** Removes the calls with the shortest wait and rejects them: all of them, where no wait is limited. */
  rejectFirstToExpire(message: string): void {
    this.#reject(this.#minUntil, message)
  }

  #reject(lastUntil: number, message: string): number {
    if (this.#minUntil > lastUntil) return 0
    const isRejected = ({ until = Number.POSITIVE_INFINITY }: Call): boolean => until <= lastUntil
    const rejected = this.#calls.filter(isRejected)
    this.#calls = this.#calls.filter((call) => !isRejected(call))
    this.#minUntil = minUntil(this.#calls)
    const error = new Error(message)
    for (const { completion } of rejected) completion.reject(error)
    return rejected.length
  }
}

function minUntil(calls: readonly Call[]): number {
  return calls.reduce((min, { until = min }) => Math.min(min, until), Number.POSITIVE_INFINITY)
}
