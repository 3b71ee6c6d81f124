import type { Clock } from '../../src/platform/platform.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** A clock that stands still until it is moved, and then moves from timer to timer. */
export class VirtualClock implements Clock {
  #now: number
  readonly #timers = new Set<Timer>()

  constructor(now = Date.UTC(2026, 10, 22)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#now + milliseconds, callback }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Timers that are still set. */
  get pending(): number {
    return this.#timers.size
  }

  /** Moves on, past all timers until then. */
  async advance(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds
    await settleMicrotasks()
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) await this.#fire(next)
    this.#now = until
    await settleMicrotasks()
  }

  /** Moves from timer to timer until the promise is settled. */
  async settle<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false
    const settled = () => {
      isSettled = true
    }
    promise.then(settled, settled)
    for (let idle = 0; idle < 100; idle++) {
      await settleMicrotasks()
      if (isSettled) return promise
      const next = this.#next(Number.POSITIVE_INFINITY)
      if (next === undefined) continue
      idle = 0
      await this.#fire(next)
    }
    throw new Error('the promise waits for something that is no timer')
  }

  #next(until: number): Timer | undefined {
    const [first] = [...this.#timers].sort((a, b) => a.at - b.at)
    return first !== undefined && first.at <= until ? first : undefined
  }

  async #fire(timer: Timer): Promise<void> {
    this.#timers.delete(timer)
    this.#now = Math.max(this.#now, timer.at)
    timer.callback()
    await settleMicrotasks()
  }
}

/** Lets everything go on that waits for nothing else. */
async function settleMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
