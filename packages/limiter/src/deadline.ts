/** Promises that began in one turn of the event loop and share one timer. */
export interface Turn {
  /** When they were sent, by `performance.now()`. */
  sentAt: number
  /** True once one of them has settled in time. */
  answered: boolean
  readonly waiting: Set<() => void>
  timer: NodeJS.Timeout | undefined
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

  /** Settles as `promise` does, or with `late()` when it takes too long; what comes after that is ignored. */
  race<T, R>(
    promise: Promise<T>,
    answered: (value: T, turn: Turn) => R,
    failed: (error: unknown, turn: Turn) => R,
    late: (turn: Turn) => R,
  ): Promise<R> {
    const turn = this.#currentTurn()
    return new Promise<R>((resolve, reject) => {
      const settle = (answer: () => R): void => {
        if (!turn.waiting.delete(onLate)) return
        if (turn.waiting.size === 0) clearTimeout(turn.timer)
        try {
          resolve(answer())
        } catch (error) {
          reject(error)
        }
      }
      const onLate = (): void => settle(() => late(turn))
      turn.waiting.add(onLate)
      promise.then(
        (value) => settle(() => answered(value, turn)),
        (error: unknown) => settle(() => failed(error, turn)),
      )
    })
  }

  #currentTurn(): Turn {
    if (this.#turn) return this.#turn
    const turn: Turn = { sentAt: performance.now(), answered: false, waiting: new Set(), timer: undefined }
    this.#turn = turn
    setImmediate(() => {
      this.#turn = undefined
      turn.sentAt = performance.now()
      if (turn.waiting.size > 0) turn.timer = setTimeout(() => setImmediate(() => expire(turn)), this.#ms)
    })
    return turn
  }
}

function expire(turn: Turn): void {
  for (const late of [...turn.waiting]) late()
}
