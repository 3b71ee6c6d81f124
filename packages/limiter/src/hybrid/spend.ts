import { admits } from '../algorithms/counters.ts'
import type { CounterResult } from '../store.ts'
import { cell, type Ledger } from './ledger.ts'
import type { Plan } from './plan.ts'

/**
 * Spends `cost` here, when every rule admits it and this process's share of what is left covers it: at once, to be told to
 * the store, or as reserved until it is known whether other policies admit the request.
 */
export function spend(
  plan: Plan,
  ledger: Ledger,
  slot: number,
  cost: number,
  now: number,
  into: typeof cell.pending | typeof cell.reserved = cell.pending,
): CounterResult | undefined {
  const { rules } = plan.policy
  const { cells } = ledger
  let violated = 0
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule === undefined) continue
    const at = ledger.at(slot, i)
    const fits = admits(rule, cells[at + cell.prev] ?? 0, cells[at + cell.cur] ?? 0, cost, now)
    if (!rule.shadow && (!fits || (cells[at + cell.allowance] ?? 0) < cost)) return undefined
    if (!fits) violated |= 1 << i
  }
  const counters = rules.length === 2 ? [0, 0, 0, 0] : new Array<number>(2 * rules.length).fill(0)
  for (let i = 0; i < rules.length; i++) {
    const at = ledger.at(slot, i)
    if ((violated & (1 << i)) === 0) {
      cells[at + cell.cur] = (cells[at + cell.cur] ?? 0) + cost
      cells[at + into] = (cells[at + into] ?? 0) + cost
      cells[at + cell.allowance] = (cells[at + cell.allowance] ?? 0) - cost
    }
    counters[2 * i] = cells[at + cell.prev] ?? 0
    counters[2 * i + 1] = cells[at + cell.cur] ?? 0
  }
  return { allowed: true, violated, counters, now }
}

/** How a request of `cost` stands by what is known here, taking nothing. */
export function assess(plan: Plan, ledger: Ledger, slot: number, cost: number, now: number): CounterResult {
  let violated = 0
  let allowed = true
  const counters = plan.policy.rules.flatMap((rule, i) => {
    const at = ledger.at(slot, i)
    const [prev = 0, cur = 0] = [ledger.cells[at + cell.prev], ledger.cells[at + cell.cur]]
    if (!admits(rule, prev, cur, cost, now)) {
      violated |= 1 << i
      allowed &&= rule.shadow
    }
    return [prev, cur]
  })
  return { allowed, violated, counters, now }
}
