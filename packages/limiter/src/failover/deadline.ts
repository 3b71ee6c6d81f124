/** Promises that began in one turn of the event loop and share one timer. */
export class Turn {
  /** When they were sent, by `performance.now()`. */
  sentAt = performance.now()
  /** True once one of them has settled in time. */
  hasAnswer = false
  timer: NodeJS.Timeout | undefined
  readonly #entries: { expire(): void }[] = []
  #unsettled = 0

  get isWaiting(): boolean {
    return this.#unsettled > 0
  }

  add(entry: { expire(): void }): void {
    this.#entries.push(entry)
    this.#unsettled++
  }

  settle(): void {
    if (--this.#unsettled === 0) clearTimeout(this.timer)
  }

  expire(): void {
    for (const entry of this.#entries) entry.expire()
  }
}

/** What becomes of a promise with a deadline; `context` is what the caller knows about it. */
export interface Outcomes<C, T, R> {
  onResult(context: C, value: T, turn: Turn): R | Promise<R>
  onError(context: C, error: unknown, turn: Turn): R
  onTimeout(context: C, turn: Turn): R
}

/**
 * Limits how long promises may take. A busy event loop does not cause timeouts: the time runs from the end of the turn,
 * when the batch has been sent, and when the timer fires, the loop first reads what has arrived in the meantime.
 */
export class Deadline {
  readonly #ms: number
  #turn: Turn | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Settles by the outcome of the promise, or by its timeout; a result after that is ignored. */
  race<C, T, R>(promise: Promise<T>, context: C, outcomes: Outcomes<C, T, R>): Promise<R> {
    const entry = this.start(context, outcomes)
    promise.then(
      (value) => entry.resolve(value),
      (error) => entry.reject(error),
    )
    return entry.promise
  }

  /** As `race`, for a result that is reported to the entry. */
  start<C, T, R>(context: C, outcomes: Outcomes<C, T, R>): Entry<C, T, R> {
    const turn = this.#currentTurn()
    const entry = new Entry(turn, context, outcomes)
    turn.add(entry)
    return entry
  }

  #currentTurn(): Turn {
    if (this.#turn) return this.#turn
    const turn = new Turn()
    this.#turn = turn
    setImmediate(() => {
      this.#turn = undefined
      turn.sentAt = performance.now()
      if (turn.isWaiting) turn.timer = setTimeout(() => setImmediate(() => turn.expire()), this.#ms)
    })
    return turn
  }
}

/** A call with a deadline, and the promise of its outcome. */
export class Entry<C, T, R> {
  readonly promise: Promise<R>
  readonly #turn: Turn
  readonly #context: C
  readonly #outcomes: Outcomes<C, T, R>
  #resolve!: (value: R | Promise<R>) => void
  #reject!: (error: unknown) => void
  #isSettled = false

  constructor(turn: Turn, context: C, outcomes: Outcomes<C, T, R>) {
    this.#turn = turn
    this.#context = context
    this.#outcomes = outcomes
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  resolve(value: T): void {
    if (!this.#settleOnce()) return
    try {
      this.#resolve(this.#outcomes.onResult(this.#context, value, this.#turn))
    } catch (error) {
      this.#reject(error)
    }
  }

  reject(error: unknown): void {
    if (!this.#settleOnce()) return
    try {
      this.#resolve(this.#outcomes.onError(this.#context, error, this.#turn))
    } catch (fault) {
      this.#reject(fault)
    }
  }

  expire(): void {
    if (!this.#settleOnce()) return
    try {
      this.#resolve(this.#outcomes.onTimeout(this.#context, this.#turn))
    } catch (error) {
      this.#reject(error)
    }
  }

  /** Ends the entry without an outcome. */
  cancel(): void {
    this.#settleOnce()
  }

  /** False when it has settled already. */
  #settleOnce(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#turn.settle()
    return true
  }
}
