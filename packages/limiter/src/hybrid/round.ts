import { cell, type Ledger } from './ledger.ts'

/** Keys told, and looked at, before the event loop gets its turn. */
const chunk = 256
const maxVisited = 8_192
/** Keys told whose answer is awaited at most. */
const maxUnanswered = 1_024
/** With more keys to tell than this, those that moved little wait for one round in so many, and their long windows for a few such. */
const manyDirty = 4_096
const quietRounds = 20
const longTurns = 5
/** No round lasts longer, even when the store never answers. */
const maxRoundMs = 1_000

/**
 * Tells what a slot has spent, `briefly` of its short windows alone, and calls `heard` when the store has answered or failed,
 * or when there was nothing to tell.
 */
export type SendSlot = (slot: number, briefly: boolean, heard: () => void) => void

/**
 * Tells the store what the dirty slots of a ledger have spent, a chunk at a time and so many unheard at most: a store that
 * cannot keep up is told less often instead of faster and faster. `number` 0 leaves nothing out.
 */
export function reconcileDirty(ledger: Ledger, number: number, tell: SendSlot): Promise<void> {
  const slots = ledger.dirty
  if (slots.length === 0) return Promise.resolve()
  ledger.dirty = []
  return new Promise((resolve) => new Round(ledger, number, tell, slots, resolve).go())
}

class Round {
  readonly #ledger: Ledger
  readonly #number: number
  readonly #sparesQuiet: boolean
  readonly #send: SendSlot
  readonly #slots: readonly number[]
  readonly #resolve: () => void
  readonly #timer: NodeJS.Timeout
  #next = 0
  #unanswered = 0
  #scheduled = false
  readonly #completeOne = (): void => {
    this.#unanswered--
    if (this.#next === this.#slots.length) {
      if (this.#unanswered === 0) this.#end()
    } else this.#schedule()
  }

  constructor(ledger: Ledger, number: number, tell: SendSlot, slots: readonly number[], resolve: () => void) {
    this.#ledger = ledger
    this.#number = number
    this.#sparesQuiet = number > 0 && slots.length > manyDirty
    this.#send = tell
    this.#slots = slots
    this.#resolve = resolve
    this.#timer = setTimeout(() => this.#end(), maxRoundMs).unref()
  }

  /** Tells a chunk; answers call for the next. */
  go(): void {
    this.#scheduled = false
    let told = 0
    const end = Math.min(this.#slots.length, this.#next + maxVisited)
    // One more than those told, so that a store that answers at once doesn't end the round from within.
    this.#unanswered++
    while (this.#next < end && told < chunk && this.#unanswered <= maxUnanswered) {
      const slot = this.#slots[this.#next++] ?? 0
      const quiet = this.#sparesQuiet && isQuiet(this.#ledger, slot)
      if (quiet && (slot - this.#number) % quietRounds !== 0) {
        this.#ledger.dirty.push(slot)
        continue
      }
      told++
      this.#unanswered++
      this.#send(slot, quiet && (slot - Math.floor(this.#number / quietRounds)) % longTurns !== 0, this.#completeOne)
    }
    this.#completeOne()
  }

  #schedule(): void {
    if (this.#scheduled || this.#unanswered >= maxUnanswered) return
    this.#scheduled = true
    setImmediate(() => this.go())
  }

  /** What there was no time for waits for the next round. */
  #end(): void {
    clearTimeout(this.#timer)
    while (this.#next < this.#slots.length) this.#ledger.dirty.push(this.#slots[this.#next++] ?? 0)
    this.#resolve()
  }
}

/** A slot that has spent but a small part of its share. */
function isQuiet(ledger: Ledger, slot: number): boolean {
  const { cells, windows } = ledger
  for (let i = 0; i < windows; i++) {
    const at = ledger.at(slot, i)
    if ((cells[at + cell.pending] ?? 0) * 4 > (cells[at + cell.allowance] ?? 0)) return false
  }
  return true
}
