import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import { type AddRequest, type Completion, type CounterResult, type CounterStore, startAdd } from '../store.ts'
import { cell, type Ledger } from './ledger.ts'
import { allowance, blockMs, type LedgerEntry, type LocalPlan, rollWindow } from './plan.ts'
import type { SendOptions } from './round.ts'

/** The next check that calls the store finds out that it is unavailable. */
const ignore = (): void => {}

/** An entry for which the store was called. */
export interface CalledEntry extends LedgerEntry {
  /** {@link Ledger.resultsOf} the slot when the call began. */
  readonly since: number
}

/** Sends local counts to the shared store, and applies the results. */
export class Reconciler {
  readonly #shared: CounterStore
  readonly #instances: () => number

  constructor(shared: CounterStore, instances: () => number) {
    this.#shared = shared
    this.#instances = instances
  }

  /** Moves the windows of a slot to the time, and sends what those that have ended had not sent. */
  advance(entry: LedgerEntry, now: number): void {
    const { policy } = entry.plan
    const { rules } = policy
    for (let i = 0; i < rules.length; i++) {
      const ended = rollWindow(entry, i, now, this.#instances())
      if (ended === undefined) continue
      const amounts = rules.map((_, j) => (j === i ? ended.unsent : 0))
      const countedAt = ended.index * (rules[i]?.windowMs ?? 0)
      const { identifier } = entry
      Promise.resolve(this.#shared.add({ policy, identifier, amounts, now, countedAt })).catch(ignore)
    }
  }

  /**
   * Sends what a slot has spent, of its short windows alone where `isBrief` allows it. What gets no response is not sent
   * again: the store may have counted it.
   */
  send(plan: LocalPlan, slot: number, now: number, { isBrief, onComplete }: SendOptions): void {
    const { ledger } = plan
    const identifier = { kind: ledger.kind, id: ledger.idOf(slot) }
    const entry = { plan, slot, identifier }
    this.advance(entry, now)
    const isPreviousKnown = knowsPrevious(entry, now)
    const policy = isPreviousKnown ? ((isBrief ? plan.shortOnly : undefined) ?? plan.currentOnly) : plan.policy
    const amounts = collectPending(ledger, slot, policy.rules.length)
    ledger.markClean(slot)
    if (policy === plan.shortOnly) ledger.markDirty(slot)
    if (amounts === undefined) {
      onComplete()
      return
    }
    const since = ledger.resultsOf(slot)
    const sent = { plan, slot, policy, identifier, amounts, now, since, withPrevious: !isPreviousKnown, onComplete }
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
    const isLower = isBelowConfirmed(entry, result)
    if (isLower && ledger.resultsOf(slot) !== entry.since) return
    if (isLower) void this.#restoreCounts(entry, amounts, result.now)
    else this.#applyCounts(entry, result, withPrevious)
    ledger.markSynced(slot, result.now, result.allowed ? result.now : result.now + blockMs(policy, result))
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
      const prev = (withPrevious ? counters[2 * i] : cells[at + cell.prev]) ?? 0
      const unconfirmed = ledger.unconfirmedUnits(at)
      const cur = confirmed + unconfirmed
      cells[at + cell.prev] = prev
      cells[at + cell.cur] = cur
      cells[at + cell.confirmed] = confirmed
      cells[at + cell.allowance] = allowance(rule, { prev, cur, unconfirmed }, now, instances)
    }
  }

  async #restoreCounts(entry: LedgerEntry, amounts: readonly number[], now: number): Promise<void> {
    const { plan, slot, identifier } = entry
    const { ledger, policy } = plan
    const min = policy.rules.flatMap((_, i) => {
      const at = ledger.at(slot, i)
      return [ledger.cells[at + cell.prev] ?? 0, (ledger.cells[at + cell.confirmed] ?? 0) + (amounts[i] ?? 0)]
    })
    try {
      const raised = await this.#shared.raise(policy, identifier, min, now)
      if (ledger.idOf(slot) !== identifier.id) return
      policy.rules.forEach((_, i) => {
        ledger.cells[ledger.at(slot, i) + cell.confirmed] = 0
      })
      this.receive({ ...entry, since: ledger.resultsOf(slot) }, raised, [])
    } catch {
      ignore()
    }
  }
}

/** Collects the pending units of the first windows of a slot as sent; undefined when there are none. */
function collectPending(ledger: Ledger, slot: number, windows: number): number[] | undefined {
  const amounts = new Array<number>(windows)
  let max = 0
  for (let i = 0; i < windows; i++) {
    const at = ledger.at(slot, i) + cell.pending
    const amount = ledger.cells[at] ?? 0
    ledger.cells[at] = 0
    ledger.cells[at - cell.pending + cell.sent] = (ledger.cells[at - cell.pending + cell.sent] ?? 0) + amount
    amounts[i] = amount
    if (amount > max) max = amount
  }
  return max === 0 ? undefined : amounts
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

/** Whether the store reports less in a window than it had confirmed. */
function isBelowConfirmed({ plan, slot }: LedgerEntry, { counters, now }: CounterResult): boolean {
  const { ledger } = plan
  const { rules } = plan.policy
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    const at = ledger.at(slot, i)
    if (rule === undefined || ledger.cells[at + cell.index] !== windowIndex(now, rule.windowMs)) continue
    if ((counters[2 * i + 1] ?? Number.POSITIVE_INFINITY) < (ledger.cells[at + cell.confirmed] ?? 0)) return true
  }
  return false
}

/** Counts of a slot on their way to the store. */
interface Sent extends CalledEntry, AddRequest {
  readonly identifier: LedgerEntry['identifier']
  readonly withPrevious: boolean
  readonly onComplete: () => void
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
    this.#settle()
    this.#reconciler.receive(this.#sent, result, this.#sent.amounts, this.#sent.withPrevious)
    this.#sent.onComplete()
  }

  /** The remaining allowance is spent; the next check that calls the store finds out that it is unavailable. */
  reject(): void {
    this.#settle()
    this.#sent.onComplete()
  }

  #settle(): void {
    const { plan, slot, identifier, amounts, now } = this.#sent
    const { ledger, policy } = plan
    // The slot may have been freed for another id.
    if (ledger.idOf(slot) !== identifier.id) return
    const { cells } = ledger
    for (let i = 0; i < amounts.length; i++) {
      const at = ledger.at(slot, i)
      const { windowMs } = policy.rules[i] ?? { windowMs: 1 }
      if (cells[at + cell.index] === windowIndex(now, windowMs))
        cells[at + cell.sent] = Math.max(0, (cells[at + cell.sent] ?? 0) - (amounts[i] ?? 0))
    }
  }
}
