/** Promises that began in one turn of the event loop and share one timer. */
export class Turn {
  /** When they were sent, by `performance.now()`. */
  sentAt = performance.now()
  /** True once one of them has settled in time. */
  answered = false
  timer: NodeJS.Timeout | undefined
  readonly #waiting: { expire(): void }[] = []
  #unsettled = 0

  get isWaiting(): boolean {
    return this.#unsettled > 0
  }

  add(entry: { expire(): void }): void {
    this.#waiting.push(entry)
    this.#unsettled++
  }

  settled(): void {
    if (--this.#unsettled === 0) clearTimeout(this.timer)
  }

  expire(): void {
    for (const entry of this.#waiting) entry.expire()
  }
}

/** What becomes of a promise with a deadline; `context` is what the caller knows about it. */
export interface Outcomes<C, T, R> {
  answered(context: C, value: T, turn: Turn): R | Promise<R>
  failed(context: C, error: unknown, turn: Turn): R
  late(context: C, turn: Turn): R
}

/**
 * Gives promises so many milliseconds. A busy event loop cannot trip it falsely: the time runs from the end of the turn,
 * when what was batched has been sent, and when the timer fires, the loop first reads what has arrived meanwhile.
 */
export class Deadline {
  readonly #ms: number
  #turn: Turn | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Settles as `outcomes` says of the promise, or of its being late; what comes after that is ignored. */
  race<C, T, R>(promise: Promise<T>, context: C, outcomes: Outcomes<C, T, R>): Promise<R> {
    const turn = this.#currentTurn()
    return new Promise((resolve, reject) => {
      const entry = new Entry(turn, context, outcomes, resolve, reject)
      turn.add(entry)
      promise.then(entry.answered, entry.failed)
    })
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

class Entry<C, T, R> {
  readonly #turn: Turn
  readonly #context: C
  readonly #outcomes: Outcomes<C, T, R>
  readonly #resolve: (value: R | Promise<R>) => void
  readonly #reject: (error: unknown) => void
  #done = false

  constructor(
    turn: Turn,
    context: C,
    outcomes: Outcomes<C, T, R>,
    resolve: (value: R | Promise<R>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#turn = turn
    this.#context = context
    this.#outcomes = outcomes
    this.#resolve = resolve
    this.#reject = reject
  }

  readonly answered = (value: T): void => this.#settle(() => this.#outcomes.answered(this.#context, value, this.#turn))

  readonly failed = (error: unknown): void =>
    this.#settle(() => this.#outcomes.failed(this.#context, error, this.#turn))

  expire(): void {
    this.#settle(() => this.#outcomes.late(this.#context, this.#turn))
  }

  #settle(outcome: () => R | Promise<R>): void {
    if (this.#done) return
    this.#done = true
    this.#turn.settled()
    try {
      this.#resolve(outcome())
    } catch (error) {
      this.#reject(error)
    }
  }
}
