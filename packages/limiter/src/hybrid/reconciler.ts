import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import type { Identifier } from '../key.ts'
import { type Completion, type CounterResult, type CounterStore, startAdd } from '../store.ts'
import { cell, type Ledger } from './ledger.ts'
import { allowance, blockMs, type Plan, rollWindow } from './plan.ts'

/** Whoever asks the store next finds out that it is away. */
const ignore = (): void => {}

/** Tells the shared store what slots have spent, and takes over what it answers. */
export class Reconciler {
  readonly #shared: CounterStore
  readonly #instances: () => number

  constructor(shared: CounterStore, instances: () => number) {
    this.#shared = shared
    this.#instances = instances
  }

  /** Moves a slot's windows to the time, and tells the store what of those that have ended it had not heard. */
  advance(plan: Plan, ledger: Ledger, slot: number, identifier: Identifier, now: number): void {
    const { rules } = plan.policy
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]
      if (rule === undefined) continue
      const untold = rollWindow(ledger, ledger.at(slot, i), rule, now, this.#instances())
      if (untold === undefined) continue
      const amounts = rules.map((_, j) => (j === i ? untold.unsent : 0))
      const then = untold.index * rule.windowMs
      Promise.resolve(this.#shared.add(plan.policy, identifier, amounts, now, then)).catch(ignore)
    }
  }

  /**
   * Tells the store what a slot has spent, `briefly` of its short windows alone where that will do; `heard` is called when it
   * has answered or failed, or had nothing to hear. What it does not hear is not told twice: it may have heard it after all.
   */
  send(plan: Plan, ledger: Ledger, slot: number, now: number, briefly: boolean, heard: () => void): void {
    const identifier = { kind: ledger.kind, id: ledger.idOf(slot) }
    this.advance(plan, ledger, slot, identifier, now)
    const knows = knowsPrevious(plan, ledger, slot, now)
    const policy = knows ? ((briefly ? plan.shortOnly : undefined) ?? plan.currentOnly) : plan.policy
    const amounts = collectPending(ledger, slot, policy.rules.length)
    ledger.markClean(slot)
    if (policy === plan.shortOnly) ledger.markDirty(slot)
    if (amounts === undefined) {
      heard()
      return
    }
    const telling = new SentCounts({
      teller: this,
      plan,
      ledger,
      slot,
      identifier,
      amounts,
      now,
      withPrevious: !knows,
      heard,
    })
    startAdd(this.#shared, telling, policy, identifier, amounts, now)
  }

  /**
   * Takes over what the store told, having counted what we `took`: the sum of what all processes have spent. When it
   * knows less than it once told, it has lost counts, and is raised to what is remembered here; or some were given
   * back, and then what it answers is believed. It may speak of the first windows alone.
   */
  receive(
    plan: Plan,
    ledger: Ledger,
    slot: number,
    identifier: Identifier,
    result: CounterResult,
    took: readonly number[],
    withPrevious = true,
  ): void {
    // Its place may be another's by now.
    if (ledger.idOf(slot) !== identifier.id) return
    const { rules } = plan.policy
    const { cells } = ledger
    const instances = this.#instances()
    this.advance(plan, ledger, slot, identifier, result.now)
    const lost = hasLost(plan, ledger, slot, result)
    if (lost) void this.#restoreCounts(plan, ledger, slot, identifier, took, result.now)
    for (let i = 0; i < rules.length && !lost; i++) {
      const rule = rules[i]
      const at = ledger.at(slot, i)
      if (rule === undefined || cells[at + cell.index] !== windowIndex(result.now, rule.windowMs)) continue
      const told = result.counters[2 * i + 1]
      if (told === undefined) continue
      const prev = (withPrevious ? result.counters[2 * i] : cells[at + cell.prev]) ?? 0
      const unheard = ledger.unconfirmed(at)
      const cur = told + unheard
      cells[at + cell.prev] = prev
      cells[at + cell.cur] = cur
      cells[at + cell.confirmed] = told
      cells[at + cell.allowance] = allowance(rule, { prev, cur, unconfirmed: unheard }, result.now, instances)
    }
    ledger.markSynced(slot, result.now, result.allowed ? result.now : result.now + blockMs(plan.policy, result))
  }

  async #restoreCounts(
    plan: Plan,
    ledger: Ledger,
    slot: number,
    identifier: Identifier,
    took: readonly number[],
    now: number,
  ): Promise<void> {
    const least = plan.policy.rules.flatMap((_, i) => {
      const at = ledger.at(slot, i)
      return [ledger.cells[at + cell.prev] ?? 0, (ledger.cells[at + cell.confirmed] ?? 0) + (took[i] ?? 0)]
    })
    try {
      const raised = await this.#shared.raise(plan.policy, identifier, least, now)
      if (ledger.idOf(slot) !== identifier.id) return
      plan.policy.rules.forEach((_, i) => {
        ledger.cells[ledger.at(slot, i) + cell.confirmed] = 0
      })
      this.receive(plan, ledger, slot, identifier, raised, [])
    } catch {
      ignore()
    }
  }
}

/** What the first windows of a slot have to tell, which is told now; undefined when it is nothing. */
function collectPending(ledger: Ledger, slot: number, windows: number): number[] | undefined {
  const amounts = new Array<number>(windows)
  let most = 0
  for (let i = 0; i < windows; i++) {
    const at = ledger.at(slot, i) + cell.pending
    const amount = ledger.cells[at] ?? 0
    ledger.cells[at] = 0
    ledger.cells[at - cell.pending + cell.sent] = (ledger.cells[at - cell.pending + cell.sent] ?? 0) + amount
    amounts[i] = amount
    if (amount > most) most = amount
  }
  return most === 0 ? undefined : amounts
}

/** So long after a window's end all processes have told what they spent in it. */
const settledMs = 5_000

/**
 * Whether the store was heard of a slot when the counts of the windows before no longer changed; that they did after all,
 * by a reset, is found out by whoever asks the store before rejecting.
 */
function knowsPrevious({ policy: { rules } }: Plan, ledger: Ledger, slot: number, now: number): boolean {
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule !== undefined && !ledger.isFresh(slot, now, elapsedMs(now, rule.windowMs) - settledMs)) return false
  }
  return true
}

/** Whether the store knows less of a window than it once told. */
function hasLost({ policy: { rules } }: Plan, ledger: Ledger, slot: number, { counters, now }: CounterResult): boolean {
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    const at = ledger.at(slot, i)
    if (rule === undefined || ledger.cells[at + cell.index] !== windowIndex(now, rule.windowMs)) continue
    if ((counters[2 * i + 1] ?? Number.POSITIVE_INFINITY) < (ledger.cells[at + cell.confirmed] ?? 0)) return true
  }
  return false
}

/** What a slot has sent to the store. */
interface Sent {
  readonly teller: Reconciler
  readonly plan: Plan
  readonly ledger: Ledger
  readonly slot: number
  readonly identifier: Identifier
  readonly amounts: readonly number[]
  /** When it was sent. */
  readonly now: number
  readonly withPrevious: boolean
  readonly heard: () => void
}

/** Waits for what the store says to what a slot has sent. */
class SentCounts implements Completion {
  readonly #sent: Sent

  constructor(sent: Sent) {
    this.#sent = sent
  }

  resolve(result: CounterResult): void {
    const { teller, plan, ledger, slot, identifier, amounts, withPrevious, heard } = this.#sent
    this.#arrived()
    teller.receive(plan, ledger, slot, identifier, result, amounts, withPrevious)
    heard()
  }

  /** The next share is spent from what is remembered; whoever asks the store next finds out that it is away. */
  reject(): void {
    this.#arrived()
    this.#sent.heard()
  }

  #arrived(): void {
    const { plan, ledger, slot, identifier, amounts, now } = this.#sent
    // Its place may be another's by now.
    if (ledger.idOf(slot) !== identifier.id) return
    const { cells } = ledger
    for (let i = 0; i < amounts.length; i++) {
      const at = ledger.at(slot, i)
      const { windowMs } = plan.policy.rules[i] ?? { windowMs: 1 }
      if (cells[at + cell.index] === windowIndex(now, windowMs))
        cells[at + cell.sent] = Math.max(0, (cells[at + cell.sent] ?? 0) - (amounts[i] ?? 0))
    }
  }
}
