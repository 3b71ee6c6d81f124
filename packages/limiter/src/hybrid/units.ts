import type { AddRequest } from '../store.ts'
import { cell, type Ledger } from './ledger.ts'
import type { LedgerEntry } from './plan.ts'

/** Units of a slot that a call was to count. */
export interface SpentUnits extends LedgerEntry {
  readonly amounts: readonly number[]
  /** The windows in which they were spent. */
  readonly indexes: readonly number[]
}

/** Units of a window that has ended, and the request that adds them to it. */
type EndedUnits = SpentUnits & AddRequest

/** Collects the units that windows which have ended had not sent: one request for each of those windows. */
export function collectEnded(entry: LedgerEntry, now: number): EndedUnits[] {
  const { plan, slot } = entry
  const { policy, ledger } = plan
  const { cells } = ledger
  const requests: EndedUnits[] = []
  for (let i = 0; i < policy.rules.length; i++) {
    const at = ledger.at(slot, i)
    const ended = cells[at + cell.ended] ?? 0
    if (ended === 0) continue
    cells[at + cell.ended] = 0
    const amounts = policy.rules.map((_, j) => (j === i ? ended : 0))
    const countedAt = ((cells[at + cell.index] ?? 0) - 1) * (policy.rules[i]?.windowMs ?? 1)
    const indexes = ledger.indexesOf(slot).map((index) => index - 1)
    requests.push({ ...entry, policy, amounts, now, countedAt, indexes })
  }
  return requests
}

/** Collects the pending units of the first windows of a slot as sent; undefined when there are none. */
export function collectPending(ledger: Ledger, slot: number, windows: number): number[] | undefined {
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

/** Puts units back into their windows, to be sent again. No decision reads those of windows before the previous one. */
export function putBack({ plan, slot, amounts, indexes }: SpentUnits): void {
  const { ledger } = plan
  amounts.forEach((amount, i) => {
    const at = ledger.at(slot, i)
    const windowsAgo = (ledger.cells[at + cell.index] ?? 0) - (indexes[i] ?? 0)
    const place = at + (windowsAgo === 0 ? cell.pending : cell.ended)
    if (windowsAgo <= 1) ledger.cells[place] = (ledger.cells[place] ?? 0) + amount
  })
  ledger.markReturned(slot)
}
