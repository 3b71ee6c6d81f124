import { cell, type Ledger, manyDirty } from './ledger.ts'

/** Slots sent, and visited, before the event loop gets its turn. */
const chunk = 256
const maxVisited = 8_192
/** Slots that a round may have sent without a response at a time. */
const maxUnanswered = 1_024
/**
 * The long windows of a quiet slot are sent in one of so many of its rounds, when it has spent so much in each of them
 * that it will be sent again soon. Others are sent as a whole, and are done with.
 */
const longTurns = 5
const frequentUnits = 4
/** No round lasts longer, even when the store never responds. */
const maxRoundMs = 1_000

/** How to send a slot. */
export interface SendOptions {
  /** Whether to send the short windows alone. */
  readonly isBrief: boolean
  /** Called when the store has responded or failed, or when there was nothing to send. */
  onComplete(): void
}

/** Sends the counts of slots. */
export interface SlotSender {
  send(slot: number, options: SendOptions): void
  /** Whether so many calls of this round and others are unanswered that nothing is sent. */
  readonly isFull: boolean
}

/**
 * Sends the dirty slots of a ledger to the store, in chunks and with a bounded number of unanswered calls, so that a store
 * that cannot keep up is called less often, not more. Round 0 leaves no slot out.
 */
export function reconcileDirty(ledger: Ledger, number: number, sender: SlotSender): Promise<void> {
  const sparesQuiet = number > 0 && ledger.dirtyCount > manyDirty
  const slots = ledger.collectDirty(number, !sparesQuiet)
  if (slots.length === 0) return Promise.resolve()
  return new Promise((resolve) => new Round(ledger, { number, slots, sparesQuiet, sender, resolve }).sendChunk())
}

interface RoundOptions {
  readonly number: number
  readonly slots: readonly number[]
  /** Whether quiet slots wait for their round. */
  readonly sparesQuiet: boolean
  readonly sender: SlotSender
  readonly resolve: () => void
}

class Round {
  readonly #ledger: Ledger
  readonly #options: RoundOptions
  readonly #timer: NodeJS.Timeout
  #next = 0
  #unanswered = 0
  #isScheduled = false
  readonly #complete = (): void => {
    this.#unanswered--
    if (this.#next === this.#options.slots.length) {
      if (this.#unanswered === 0) this.#end()
    } else this.#schedule()
  }
  readonly #fully: SendOptions = { isBrief: false, onComplete: this.#complete }
  readonly #briefly: SendOptions = { isBrief: true, onComplete: this.#complete }

  constructor(ledger: Ledger, options: RoundOptions) {
    this.#ledger = ledger
    this.#options = options
    this.#timer = setTimeout(() => this.#end(), maxRoundMs).unref()
  }

  /** Sends a chunk; responses cause the next. */
  sendChunk(): void {
    const { number, slots, sparesQuiet, sender } = this.#options
    const ledger = this.#ledger
    this.#isScheduled = false
    let sent = 0
    const end = Math.min(slots.length, this.#next + maxVisited)
    // One more than those sent, so that a store that responds at once does not end the round from within.
    this.#unanswered++
    while (this.#next < end && sent < chunk && this.#unanswered <= maxUnanswered && !sender.isFull) {
      const slot = slots[this.#next++] ?? 0
      const quiet = sparesQuiet && ledger.isQuiet(slot)
      if (quiet && (slot - number) % ledger.quietRounds !== 0) {
        ledger.postpone(slot)
        continue
      }
      sent++
      this.#unanswered++
      const isBrief =
        quiet &&
        (slot - Math.floor(number / ledger.quietRounds)) % longTurns !== 0 &&
        (ledger.cells[ledger.at(slot, 0) + cell.pending] ?? 0) >= frequentUnits
      sender.send(slot, isBrief ? this.#briefly : this.#fully)
    }
    this.#complete()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#unanswered >= maxUnanswered || this.#options.sender.isFull) return
    this.#isScheduled = true
    setImmediate(() => this.sendChunk())
  }

  /** Slots for which there was no time wait for the next round. */
  #end(): void {
    const { slots, resolve } = this.#options
    clearTimeout(this.#timer)
    while (this.#next < slots.length) this.#ledger.dirty.push(slots[this.#next++] ?? 0)
    resolve()
  }
}
