import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import {
  type AddRequest,
  type Completion,
  type CounterResult,
  type CounterStore,
  NotCountedError,
  startAdd,
} from '../store.ts'
import { cell } from './ledger.ts'
import { advance, allowance, blockMs, type LedgerEntry, type LocalPlan } from './plan.ts'
import type { SendOptions } from './round.ts'
import { collectEnded, collectPending, putBack, type SpentUnits } from './units.ts'

/** Calls of all rounds that may be unanswered. A store that keeps up never has as many; further counts wait here. */
const maxUnanswered = 8_192

/** An entry for which the store was called. */
export interface CalledEntry extends LedgerEntry {
  /** {@link Ledger.resultsOf} the slot when the call began. */
  readonly since: number
}

/** What a {@link Reconciler} reports. */
interface Listeners {
  /** Called with the units of a call that failed. */
  readonly onUnconfirmed: (units: number) => void
  /** Called when units of a call are to be sent again. */
  readonly onReturned: () => void
}

/** Sends local counts to the shared store, and applies the results. */
export class Reconciler {
  readonly #shared: CounterStore
  readonly #instances: () => number
  readonly #listeners: Listeners
  #unanswered = 0

  constructor(shared: CounterStore, instances: () => number, listeners: Listeners) {
    this.#shared = shared
    this.#instances = instances
    this.#listeners = listeners
  }

  /** Whether so many calls are unanswered that rounds send nothing. */
  get isFull(): boolean {
    return this.#unanswered >= maxUnanswered
  }

  /** Moves the windows of a slot to the time. */
  advance(entry: LedgerEntry, now: number): void {
    advance(entry, now, this.#instances())
  }

  /**
   * Sends what a slot has spent, of its short windows alone where `isBrief` allows it. What gets no response is not sent
   * again: the store may have counted it. What the store is known not to have counted is. It sends while `isFull`, too:
   * units before which the store acquired others of the same key would seem to be lost.
   */
  send(plan: LocalPlan, slot: number, now: number, { isBrief, onComplete }: SendOptions): void {
    const { ledger } = plan
    const identifier = { kind: ledger.kind, id: ledger.idOf(slot) }
    const entry = { plan, slot, identifier }
    this.advance(entry, now)
    const isPreviousKnown = knowsPrevious(entry, now)
    const policy = isPreviousKnown ? ((isBrief ? plan.shortOnly : undefined) ?? plan.currentOnly) : plan.policy
    const ended = collectEnded(entry, now)
    const amounts = collectPending(ledger, slot, policy.rules.length)
    ledger.markClean(slot)
    if (policy === plan.shortOnly) ledger.markDirty(slot)
    let unanswered = ended.length + (amounts === undefined ? 0 : 1)
    if (unanswered === 0) {
      onComplete()
      return
    }
    this.#unanswered += unanswered
    const onAnswer = (unconfirmed: number): void => {
      this.#unanswered--
      unanswered--
      if (unconfirmed > 0) this.#listeners.onUnconfirmed(unconfirmed)
      if (unanswered === 0) onComplete()
    }
    // First, since the counts that follow may read them.
    for (const spent of ended) {
      const reject = (error: unknown): void => onAnswer(this.takeBack(spent, error))
      startAdd(this.#shared, spent, { resolve: () => onAnswer(0), reject })
    }
    if (amounts === undefined) return
    const [since, indexes] = [ledger.resultsOf(slot), ledger.indexesOf(slot)]
    const withPrevious = !isPreviousKnown
    const sent = { plan, slot, policy, identifier, amounts, now, since, indexes, withPrevious, onAnswer }
    startAdd(this.#shared, sent, new SentCounts(this, sent))
  }

  /**
   * Applies the store's counts after it has counted `amounts` of ours: the sum of what all processes have spent. Counts
   * below those it had confirmed were lost, and are raised to what is remembered here, or an operator adjusted them, and
   * then the store's result is right. Of a result that another one overtook, lower counts are only older. A result may
   * cover the first windows alone.
   */
  receive(entry: CalledEntry, result: CounterResult, amounts: readonly number[], withPrevious = true): void {
    const { plan, slot, identifier } = entry
    const { ledger, policy } = plan
    // The slot may have been freed for another id.
    if (ledger.idOf(slot) !== identifier.id) return
    this.advance(entry, result.now)
    const isLower = isBelowConfirmed(entry, result, ledger.hasFailed(slot) ? amounts : [])
    if (isLower && ledger.resultsOf(slot) !== entry.since) return
    if (isLower) void this.#restoreCounts(entry, amounts, result.now)
    else this.#applyCounts(entry, result, withPrevious)
    ledger.markSynced(slot, result.now, result.allowed ? result.now : result.now + blockMs(policy, result))
  }

  /**
   * Takes units back that a call which failed is known not to have counted. Returns how many are not confirmed: those of
   * any other call, and those whose slot was freed for another id.
   */
  takeBack(spent: SpentUnits, error: unknown): number {
    const { plan, slot, identifier, amounts } = spent
    if (!(error instanceof NotCountedError) || plan.ledger.idOf(slot) !== identifier.id) return Math.max(...amounts)
    putBack(spent)
    this.#listeners.onReturned()
    return 0
  }

  #applyCounts({ plan, slot }: LedgerEntry, { counters, now }: CounterResult, withPrevious: boolean): void {
    const { ledger } = plan
    const { rules } = plan.policy
    const { cells } = ledger
    const instances = this.#instances()
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      const at = ledger.at(slot, i)
      if (rule === undefined || cells[at + cell.index] !== windowIndex(now, rule.windowMs)) continue
      const confirmed = counters[2 * i + 1]
      if (confirmed === undefined) continue
      const known = counters[2 * i]
      const prev =
        withPrevious && known !== undefined ? known + (cells[at + cell.ended] ?? 0) : (cells[at + cell.prev] ?? 0)
      const unconfirmed = ledger.unconfirmedUnits(at)
      const cur = confirmed + unconfirmed
      cells[at + cell.prev] = prev
      cells[at + cell.cur] = cur
      cells[at + cell.confirmed] = confirmed
      cells[at + cell.allowance] = allowance(rule, { prev, cur, unconfirmed }, now, instances)
    }
  }

  /** Raises the counts of the windows of `now`: for a late result those before the windows that the slot counts in. */
  async #restoreCounts(entry: LedgerEntry, amounts: readonly number[], now: number): Promise<void> {
    const { plan, slot, identifier } = entry
    const { ledger, policy } = plan
    const min = policy.rules.flatMap(({ windowMs }, i) => {
      const at = ledger.at(slot, i)
      const prev = (ledger.cells[at + cell.prev] ?? 0) - (ledger.cells[at + cell.ended] ?? 0)
      const windowsAgo = (ledger.cells[at + cell.index] ?? 0) - windowIndex(now, windowMs)
      if (windowsAgo > 0) return [0, windowsAgo === 1 ? prev : 0]
      return [prev, (ledger.cells[at + cell.confirmed] ?? 0) + (amounts[i] ?? 0)]
    })
    try {
      const raised = await this.#shared.raise(policy, identifier, min, now)
      if (ledger.idOf(slot) !== identifier.id) return
      policy.rules.forEach((_, i) => {
        ledger.cells[ledger.at(slot, i) + cell.confirmed] = 0
      })
      this.receive({ ...entry, since: ledger.resultsOf(slot) }, raised, [])
    } catch {
      // The next check that calls the store finds out that it is unavailable.
    }
  }
}

/** So long after their turn all processes have sent what they spent in a window that has ended. */
const marginMs = 3_000

/**
 * Whether the last result of the store is younger than the last change of the previous windows' counts. A reset may have
 * changed them since, which is noticed by the check that calls the store before it rejects.
 */
function knowsPrevious({ plan, slot }: LedgerEntry, now: number): boolean {
  const { rules } = plan.policy
  const settledMs = plan.ages.quietMs + marginMs
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule !== undefined && !plan.ledger.isFresh(slot, now, elapsedMs(now, rule.windowMs) - settledMs)) return false
  }
  return true
}

/** Whether the store, after it has counted `amounts`, reports less in a window than those and what it had confirmed. */
function isBelowConfirmed(
  { plan, slot }: LedgerEntry,
  { counters, now }: CounterResult,
  amounts: readonly number[],
): boolean {
  const { ledger } = plan
  const { rules } = plan.policy
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    const at = ledger.at(slot, i)
    if (rule === undefined || ledger.cells[at + cell.index] !== windowIndex(now, rule.windowMs)) continue
    const expected = (ledger.cells[at + cell.confirmed] ?? 0) + (amounts[i] ?? 0)
    if ((counters[2 * i + 1] ?? Number.POSITIVE_INFINITY) < expected) return true
  }
  return false
}

/** Counts of a slot on their way to the store. */
interface Sent extends CalledEntry, AddRequest, SpentUnits {
  readonly identifier: LedgerEntry['identifier']
  readonly amounts: readonly number[]
  readonly withPrevious: boolean
  /** Called with the number of units that are not confirmed, since the call has failed. */
  readonly onAnswer: (unconfirmed: number) => void
}

/** Applies the store's response to the counts of a slot. */
class SentCounts implements Completion {
  readonly #reconciler: Reconciler
  readonly #sent: Sent

  constructor(reconciler: Reconciler, sent: Sent) {
    this.#reconciler = reconciler
    this.#sent = sent
  }

  resolve(result: CounterResult): void {
    this.#settle(false)
    this.#reconciler.receive(this.#sent, result, this.#sent.amounts, this.#sent.withPrevious)
    this.#sent.onAnswer(0)
  }

  /**
   * The remaining allowance is spent; the next check that calls the store finds out that it is unavailable. Unless it is
   * known not to have counted what was sent, it is expected to have: when it next responds and reports less, its counts
   * are raised.
   */
  reject(error: unknown): void {
    const unconfirmed = this.#reconciler.takeBack(this.#sent, error)
    this.#settle(unconfirmed > 0)
    this.#sent.onAnswer(unconfirmed)
  }

  #settle(hasFailed: boolean): void {
    const { plan, slot, identifier, amounts, indexes } = this.#sent
    const { ledger } = plan
    // The slot may have been freed for another id.
    if (ledger.idOf(slot) !== identifier.id) return
    const { cells } = ledger
    if (hasFailed) ledger.markFailed(slot)
    for (let i = 0; i < amounts.length; i++) {
      const at = ledger.at(slot, i)
      const amount = amounts[i] ?? 0
      if (cells[at + cell.index] !== indexes[i]) continue
      cells[at + cell.sent] = Math.max(0, (cells[at + cell.sent] ?? 0) - amount)
      if (hasFailed) cells[at + cell.confirmed] = (cells[at + cell.confirmed] ?? 0) + amount
    }
  }
}
