/** A discrete-event simulation: actions at points in time, run in order; at one time in the order in which they were added. */
export class Simulation {
  /** Milliseconds since the begin. */
  now = 0
  /** Actions run so far. */
  steps = 0
  readonly #times: number[] = []
  readonly #orders: number[] = []
  readonly #actions: Array<() => void> = []
  #order = 0

  /** Runs `action` so many milliseconds from now. */
  after(delayMs: number, action: () => void): void {
    this.#push(this.now + Math.max(0, delayMs), this.#order++, action)
  }

  /** Runs what is due until then. Actions that are due later stay. */
  run(untilMs: number): void {
    while (this.#times.length > 0 && (this.#times[0] as number) <= untilMs) {
      this.now = this.#times[0] as number
      const action = this.#actions[0] as () => void
      this.#removeFirst()
      this.steps++
      action()
    }
    this.now = Math.max(this.now, untilMs)
  }

  #push(time: number, order: number, action: () => void): void {
    let place = this.#times.length
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(time, order, this.#times[parent] as number, this.#orders[parent] as number)) break
      this.#move(parent, place)
      place = parent
    }
    this.#put(place, time, order, action)
  }

  #removeFirst(): void {
    const [time, order, action] = [this.#times.pop(), this.#orders.pop(), this.#actions.pop()]
    const { length } = this.#times
    if (length === 0) return
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= length) break
      const right = child + 1
      if (right < length && this.#isBefore(right, child)) child = right
      if (isBefore(time as number, order as number, this.#times[child] as number, this.#orders[child] as number)) break
      this.#move(child, place)
      place = child
    }
    this.#put(place, time as number, order as number, action as () => void)
  }

  #isBefore(a: number, b: number): boolean {
    return isBefore(
      this.#times[a] as number,
      this.#orders[a] as number,
      this.#times[b] as number,
      this.#orders[b] as number,
    )
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#times[from] as number, this.#orders[from] as number, this.#actions[from] as () => void)
  }

  #put(place: number, time: number, order: number, action: () => void): void {
    this.#times[place] = time
    this.#orders[place] = order
    this.#actions[place] = action
  }
}

function isBefore(time: number, order: number, otherTime: number, otherOrder: number): boolean {
  return time < otherTime || (time === otherTime && order < otherOrder)
}
