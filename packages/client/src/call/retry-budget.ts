const slotMs = 10_000
// Seven, so that they cover the whole of the last minute whenever it begins.
const slots = 7
const share = 0.1
const minPerMinute = 10

/**
 * Bounds retries to a tenth of the calls of the last minute, or ten a minute where there are few, so that clients do not
 * multiply an outage.
 */
export class RetryBudget {
  #begin = 0
  #calls: number[] = Array(slots).fill(0)
  #retries: number[] = Array(slots).fill(0)

  /** Counts a call. */
  record(nowMs: number): void {
    this.#advance(nowMs)
    this.#calls[0] = (this.#calls[0] ?? 0) + 1
  }

  /** Takes one retry out of the budget; false when there is none left. */
  take(nowMs: number): boolean {
    this.#advance(nowMs)
    if (sum(this.#retries) >= Math.max(minPerMinute, share * sum(this.#calls))) return false
    this.#retries[0] = (this.#retries[0] ?? 0) + 1
    return true
  }

  /** The first slot is the current one; a clock that is set back stays in it. */
  #advance(nowMs: number): void {
    const passed = Math.min(slots, Math.floor((nowMs - this.#begin) / slotMs))
    if (passed <= 0) return
    this.#begin = passed === slots ? nowMs : this.#begin + passed * slotMs
    const empty: number[] = Array(passed).fill(0)
    this.#calls = [...empty, ...this.#calls].slice(0, slots)
    this.#retries = [...empty, ...this.#retries].slice(0, slots)
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
