/** Work that is either started or skipped. */
export interface SlotWork {
  start(): Promise<unknown>
  skip(): void
}

interface WaitingWork {
  readonly work: SlotWork
  /** By `performance.now()`. */
  readonly startBy: number
}

interface Waiter {
  readonly isMet: () => boolean
  readonly resolve: () => void
}

/** What a timer takes, about 25 days. One that is set to more fires at once, and again and again. */
const maxTimerMs = 2 ** 31 - 1

/** The slots of a channel: work runs beside its caller, at most `max` pieces at a time; the rest waits its turn. */
export class Concurrency {
  readonly #max: number
  readonly #onError: (error: unknown) => void
  #running = 0
  #waiting: WaitingWork[] = []
  #waiters: Waiter[] = []
  #timer: NodeJS.Timeout | undefined
  /** When the timer fires, by `performance.now()`. */
  #timerAt = Number.POSITIVE_INFINITY
  #isClosed = false

  /** `onError` is given what started work rejects with. */
  constructor(max: number, onError: (error: unknown) => void) {
    this.#max = max
    this.#onError = onError
  }

  /** Starts work as soon as a slot is free. What found none by `startBy` (by `performance.now()`) is skipped then. */
  run(work: SlotWork, startBy: number): void {
    if (this.#isClosed) {
      work.skip()
      return
    }
    this.#waiting.push({ work, startBy })
    this.#startNext()
    if (this.#waiting.length > 0 && startBy < this.#timerAt) this.#setTimer()
  }

  /** Resolves when no work waits for a slot. */
  waitForSlot(): Promise<void> {
    return this.#until(() => this.#waiting.length === 0)
  }

  /** Skips what waits and what still comes; resolves when nothing runs. */
  close(): Promise<void> {
    this.#isClosed = true
    this.#skipUntil(Number.POSITIVE_INFINITY)
    clearTimeout(this.#timer)
    return this.#until(() => this.#running === 0)
  }

  #startNext(): void {
    while (this.#running < this.#max) {
      const next = this.#waiting.shift()
      if (!next) break
      if (next.startBy <= performance.now()) next.work.skip()
      else this.#start(next.work)
    }
    this.#resolveWaiters()
  }

  #start(work: SlotWork): void {
    this.#running++
    work
      .start()
      .catch(this.#onError)
      .finally(() => {
        this.#running--
        this.#startNext()
      })
  }

  #skipUntil(time: number): void {
    const late = this.#waiting.filter(({ startBy }) => startBy <= time)
    this.#waiting = this.#waiting.filter(({ startBy }) => startBy > time)
    for (const { work } of late) work.skip()
    this.#resolveWaiters()
  }

  #setTimer(): void {
    clearTimeout(this.#timer)
    const at = Math.min(...this.#waiting.map(({ startBy }) => startBy))
    this.#timerAt = at
    if (this.#waiting.length === 0) return
    const onTime = () => {
      this.#skipUntil(performance.now())
      this.#setTimer()
    }
    this.#timer = setTimeout(onTime, Math.min(Math.max(0, at - performance.now()), maxTimerMs))
  }

  #resolveWaiters(): void {
    if (this.#waiters.length === 0) return
    const met = this.#waiters.filter(({ isMet }) => isMet())
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter))
    for (const { resolve } of met) resolve()
  }

  #until(isMet: () => boolean): Promise<void> {
    return isMet() ? Promise.resolve() : new Promise<void>((resolve) => this.#waiters.push({ isMet, resolve }))
  }
}
