import { isAllowed, windowAdmits } from '../algorithms/counters.ts'
import type { CounterResult } from '../store.ts'
import { cell } from './ledger.ts'
import type { LedgerEntry } from './plan.ts'

/**
 * Spends `cost` here, when every rule admits it and the allowance covers it: as pending, to be sent to the store, or as
 * reserved until it is known whether other policies admit the request. Undefined where the store has to be called.
 */
export function spend(
  { plan, slot }: LedgerEntry,
  cost: number,
  now: number,
  into: typeof cell.pending | typeof cell.reserved,
): CounterResult | undefined {
  const { rules } = plan.policy
  const { ledger } = plan
  const { cells } = ledger
  let violated = 0
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule === undefined) continue
    const at = ledger.at(slot, i)
    const fits = windowAdmits(rule, cells[at + cell.prev] ?? 0, (cells[at + cell.cur] ?? 0) + cost, now)
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

/** Decides on a request of `cost` by the counts known here, without spending. */
export function assess({ plan, slot }: LedgerEntry, cost: number, now: number): CounterResult {
  const { rules } = plan.policy
  const { ledger } = plan
  let violated = 0
  const counters = rules.flatMap((rule, i) => {
    const at = ledger.at(slot, i)
    const [prev = 0, cur = 0] = [ledger.cells[at + cell.prev], ledger.cells[at + cell.cur]]
    if (!windowAdmits(rule, prev, cur + cost, now)) violated |= 1 << i
    return [prev, cur]
  })
  return { allowed: isAllowed(rules, violated), violated, counters, now }
}
