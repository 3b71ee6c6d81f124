import { Slots } from '../memory/slots.ts'
import type { Policy } from '../policy.ts'

/** Numbers stored for one window, from `Ledger.at(slot, rule)` on. */
export const cell = {
  /** Index of the window. */
  index: 0,
  /** Count of the previous window, by the store's last result. */
  prev: 1,
  /** Count of this window: that of the store's last result, and what was spent here since. */
  cur: 2,
  /** Spent here and not yet sent to the store. */
  pending: 3,
  /** Units that may still be spent here before the store has to be called. */
  allowance: 4,
  /** Count of this window by the store's last result. */
  confirmed: 5,
  /** Acquired here for requests that wait for another policy; part of `cur`, and not sent. */
  reserved: 6,
  /** Sent to the store, which has not responded yet; part of `cur`. */
  sent: 7,
  /** Spent here in the previous window and not yet sent to the store; part of `prev`. */
  ended: 8,
} as const
const perWindow = 9

/**
 * Numbers stored for a whole slot, from `Ledger.tail(slot)` on. Times are the low 32 bits of Unix milliseconds. They
 * repeat after 49 days, which does no harm, since the counts are checked as well.
 */
export const tail = { syncedAt: 0, blockedUntil: 1, policy: 2, flags: 3, results: 4 } as const
const perSlot = 5

/** More than any configuration has. */
const maxPolicies = 1_024

/**
 * Bits of `tail.flags`: the slot has counts to send; the store has reported its counts; the known counts are invalid; its
 * counts wait for a later round, as a quiet slot; a call that sent some has failed since the store's last result.
 */
const dirtyFlag = 1
const syncedFlag = 2
const invalidFlag = 4
const quietFlag = 8
const failedFlag = 16

/** How long a rejection is repeated without a call: not longer, to notice grants of other processes. */
export const maxBlockMs = 1_000

/** With more dirty slots than this, quiet ones wait for their round. */
export const manyDirty = 4_096

/** Options of a {@link Ledger}. */
export interface LedgerOptions {
  /** Kind of the identifiers. */
  readonly kind: string
  /** Windows of its policies. */
  readonly windows: number
  /** Maximum number of identifiers. */
  readonly maxKeys: number
  /** A quiet slot is sent in one round of so many, which its number decides. */
  readonly quietRounds: number
}

/** What this process has spent of shared limits: a table of 32-bit numbers with a slot for each identifier. */
export class Ledger {
  cells = new Int32Array(0)
  readonly windows: number
  readonly kind: string
  readonly quietRounds: number
  readonly #policies: Policy[] = []
  #oldestPolicy = 0
  /** Slots with counts to send, except quiet ones that wait for their round. */
  dirty: number[] = []
  /** Quiet slots, by the round in which they are sent. A slot that is no longer quiet may be left here. */
  readonly #quiet: readonly number[][]
  #quietCount = 0
  readonly #stride: number
  readonly #maxKeys: number
  readonly #slots: Slots

  constructor({ kind, windows, maxKeys, quietRounds }: LedgerOptions) {
    this.kind = kind
    this.windows = windows
    this.quietRounds = quietRounds
    this.#quiet = Array.from({ length: quietRounds }, () => [])
    this.#stride = windows * perWindow + perSlot
    this.#maxKeys = maxKeys
    this.#slots = new Slots(maxKeys)
  }

  /**
   * The number under which slots remember the policy they were counted by last. When reloads have created very many
   * policies, the oldest loses its number and `onRetire` is called. Counts that its slots still have to send are then sent
   * under another policy of the same windows, which has the same counters.
   */
  numberOf(policy: Policy, onRetire: () => void): number {
    const known = this.#policies.indexOf(policy)
    if (known >= 0) return known
    if (this.#policies.length < maxPolicies) return this.#policies.push(policy) - 1
    const number = this.#oldestPolicy
    this.#oldestPolicy = (number + 1) % maxPolicies
    this.#policies[number] = policy
    onRetire()
    return number
  }

  /** The policy by which a slot was counted last. */
  policyOf(slot: number): Policy | undefined {
    return this.#policies[this.cells[this.tail(slot) + tail.policy] ?? 0]
  }

  get size(): number {
    return this.#slots.size
  }

  at(slot: number, window: number): number {
    return slot * this.#stride + window * perWindow
  }

  tail(slot: number): number {
    return slot * this.#stride + this.windows * perWindow
  }

  find(id: string): number | undefined {
    return this.#slots.find(id)
  }

  idOf(slot: number): string {
    return this.#slots.idOf(slot) ?? ''
  }

  /** A slot for a new id; undefined when every slot visited has counts to send or is blocked. */
  insert(id: string, now: number): number | undefined {
    const slot = this.#slots.add(id) ?? (this.#evict(now) ? this.#slots.add(id) : undefined)
    if (slot === undefined) return undefined
    if ((slot + 1) * this.#stride > this.cells.length) this.#grow()
    this.cells.fill(0, slot * this.#stride, (slot + 1) * this.#stride)
    return slot
  }

  /** Slots with counts to send, quiet ones included. */
  get dirtyCount(): number {
    return this.dirty.length + this.#quietCount
  }

  /**
   * Records that a slot has counts to send. A quiet one waits for its round where there are many; when it has become busy
   * there, it is sent in the next round.
   */
  markDirty(slot: number): void {
    const at = this.tail(slot) + tail.flags
    const flags = this.cells[at] ?? 0
    const isNew = (flags & dirtyFlag) === 0
    if (!isNew && ((flags & quietFlag) === 0 || this.isQuiet(slot))) return
    this.cells[at] = (flags | dirtyFlag) & ~quietFlag
    if (isNew && this.dirtyCount > manyDirty && this.isQuiet(slot)) this.postpone(slot)
    else this.dirty.push(slot)
  }

  /** Lets a quiet slot wait for its round: visiting all of them in every round would cost more than sending them. */
  postpone(slot: number): void {
    const at = this.tail(slot) + tail.flags
    this.cells[at] = (this.cells[at] ?? 0) | quietFlag
    this.#quiet[slot % this.quietRounds]?.push(slot)
    this.#quietCount++
  }

  /** Records that counts of a slot came back from a store that refused them: they wait as those of a quiet slot do. */
  markReturned(slot: number): void {
    const at = this.tail(slot) + tail.flags
    const flags = this.cells[at] ?? 0
    if ((flags & dirtyFlag) !== 0) return
    this.cells[at] = flags | dirtyFlag
    this.postpone(slot)
  }

  /** Removes and returns the slots to visit in a round, of the quiet ones those whose turn it is, or all. */
  collectDirty(round: number, withAllQuiet: boolean): number[] {
    const slots = this.dirty
    this.dirty = []
    const rings = withAllQuiet ? this.#quiet : [this.#quiet[round % this.quietRounds] ?? []]
    for (const ring of rings) {
      this.#quietCount -= ring.length
      for (const slot of ring) {
        const at = this.tail(slot) + tail.flags
        const flags = this.cells[at] ?? 0
        if ((flags & quietFlag) === 0) continue
        this.cells[at] = flags & ~quietFlag
        slots.push(slot)
      }
      ring.length = 0
    }
    return slots
  }

  /** Whether a slot has spent only a small part of its allowance. */
  isQuiet(slot: number): boolean {
    const { cells, windows } = this
    for (let i = 0; i < windows; i++) {
      const at = this.at(slot, i)
      const unsent = (cells[at + cell.pending] ?? 0) + (cells[at + cell.ended] ?? 0)
      if (unsent * 4 > (cells[at + cell.allowance] ?? 0)) return false
    }
    return true
  }

  /** Records that a slot has sent all its counts. */
  markClean(slot: number): void {
    const at = this.tail(slot) + tail.flags
    this.cells[at] = (this.cells[at] ?? 0) & ~(dirtyFlag | quietFlag)
  }

  /** Records that the store has reported its counts, and until when it rejects. */
  markSynced(slot: number, now: number, blockedUntil: number): void {
    const end = this.tail(slot)
    this.cells[end + tail.syncedAt] = now | 0
    this.cells[end + tail.blockedUntil] = blockedUntil | 0
    this.cells[end + tail.results] = (this.resultsOf(slot) + 1) | 0
    this.cells[end + tail.flags] = ((this.cells[end + tail.flags] ?? 0) | syncedFlag) & ~(invalidFlag | failedFlag)
  }

  /** Records that a call which sent counts has failed: whether the store has counted them is not known. */
  markFailed(slot: number): void {
    const at = this.tail(slot) + tail.flags
    this.cells[at] = (this.cells[at] ?? 0) | failedFlag
  }

  /** Whether a call that sent counts has failed since the store's last result. */
  hasFailed(slot: number): boolean {
    return ((this.cells[this.tail(slot) + tail.flags] ?? 0) & failedFlag) !== 0
  }

  /** How many results of the store were applied to a slot: a call that began at another number may be answered late. */
  resultsOf(slot: number): number {
    return this.cells[this.tail(slot) + tail.results] ?? 0
  }

  /** The windows that a slot counts in. After a clock has gone back they are later than the time. */
  indexesOf(slot: number): number[] {
    const indexes = new Array<number>(this.windows)
    for (let i = 0; i < this.windows; i++) indexes[i] = this.cells[this.at(slot, i) + cell.index] ?? 0
    return indexes
  }

  /** Units of a window that were spent here and that the store has not confirmed. */
  unconfirmedUnits(at: number): number {
    const { cells } = this
    return (cells[at + cell.pending] ?? 0) + (cells[at + cell.reserved] ?? 0) + (cells[at + cell.sent] ?? 0)
  }

  /** Discards the store's last result for a slot: the store has to be called before more is spent. */
  invalidate(slot: number): void {
    const end = this.tail(slot)
    this.cells[end + tail.flags] = ((this.cells[end + tail.flags] ?? 0) & ~syncedFlag) | invalidFlag
    for (let i = 0; i < this.windows; i++) this.cells[this.at(slot, i) + cell.confirmed] = 0
  }

  /** Whether the store has reported the counts of a slot within so many milliseconds. */
  isFresh(slot: number, now: number, withinMs: number): boolean {
    const end = this.tail(slot)
    const age = (now - (this.cells[end + tail.syncedAt] ?? 0)) | 0
    return ((this.cells[end + tail.flags] ?? 0) & syncedFlag) !== 0 && age <= withinMs
  }

  /** Whether the known counts of a slot are invalid, because this process changed them at the store. */
  isInvalid(slot: number): boolean {
    return ((this.cells[this.tail(slot) + tail.flags] ?? 0) & invalidFlag) !== 0
  }

  isBlocked(slot: number, now: number): boolean {
    const end = this.tail(slot)
    const left = ((this.cells[end + tail.blockedUntil] ?? 0) - now) | 0
    // More is left only where the clock went back.
    return left > 0 && left <= maxBlockMs && ((this.cells[end + tail.flags] ?? 0) & syncedFlag) !== 0
  }

  #grow(): void {
    const slots = Math.min(this.#maxKeys, Math.max(1024, 2 * this.#slots.count))
    const cells = new Int32Array(slots * this.#stride)
    cells.set(this.cells)
    this.cells = cells
  }

  #evict(now: number): boolean {
    for (let visited = 0; visited < 32; visited++) {
      const slot = this.#slots.next()
      const isDirty = ((this.cells[this.tail(slot) + tail.flags] ?? 0) & dirtyFlag) !== 0
      if (isDirty || this.isBlocked(slot, now)) continue
      this.#slots.remove(slot)
      return true
    }
    return false
  }
}
