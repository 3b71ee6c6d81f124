import { findViolations, isAllowed } from '../algorithms/counters.ts'
import { windowIndex } from '../algorithms/window.ts'
import { encodedKey, type Identifier } from '../key.ts'
import { type Policy, retentionMs } from '../policy.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterResult } from '../store.ts'
import { addAmount, addToPrevious, clearRow, countersOf, type Row, raiseRow } from './row.ts'

/** The rows of one call: those of the policy's rules, in their order, and the adjustment by an operator. */
interface Rows {
  readonly rules: readonly (readonly [rule: CountedRule, row: Row])[]
  readonly adjustment: Row
}

/** The rule that a call applies to its locked rows, at the time of the database. */
export type Change = (rows: Rows, now: number) => Pick<CounterResult, 'allowed' | 'violated'>

const done = { allowed: true, violated: 0 } as const

/** Acquires from all rules or from none; a fixed window also counts what it rejects itself. */
export function acquireUnits(cost: number): Change {
  return (rows, now) => {
    const { allowed, violated } = check(rows, cost, now)
    rows.rules.forEach(([rule, row], i) => {
      const fits = (violated & (1 << i)) === 0
      if (fits ? allowed : rule.algorithm === 'fixed-window') addAmount(rule, row, cost, now)
    })
    return { allowed, violated }
  }
}

/** Adds amounts, whatever the limits, to the windows of `countedAt`. */
export function addAmounts(amounts: readonly number[], countedAt?: number): Change {
  return ({ rules }, now) => {
    rules.forEach(([rule, row], i) => {
      const amount = amounts[i] ?? 0
      const windowsAgo = countWindows(rule, countedAt ?? now, now)
      if (windowsAgo <= 0) addAmount(rule, row, amount, now)
      else addToPrevious(rule, row, windowsAgo === 1 ? amount : 0, now)
    })
    return done
  }
}

/** Returns units to every rule, and records the adjustment. */
export function grantUnits(policy: Policy, amount: number): Change {
  return (rows, now) => {
    recordAdjustment(rows, policy, now)
    return addAmounts(policy.rules.map(() => -amount))(rows, now)
  }
}

/** Raises counters to what a process remembers of the windows of `countedAt`, unless an operator has adjusted them. */
export function raiseCounters(counters: readonly number[], countedAt: number): Change {
  return ({ rules, adjustment }, now) => {
    if ((adjustment.at ?? 0) > now) return done
    rules.forEach(([rule, row], i) => {
      const [a = 0, b = 0] = counters.slice(2 * i)
      const windowsAgo = countWindows(rule, countedAt, now)
      if (windowsAgo <= 0) raiseRow(rule, row, [a, b], now)
      else if (windowsAgo === 1) raiseRow(rule, row, [b, 0], now)
    })
    return done
  }
}

/** How many windows of a rule have begun since `then`; none of a bucket. */
function countWindows({ algorithm, windowMs }: CountedRule, then: number, now: number): number {
  return algorithm === 'token-bucket' ? 0 : windowIndex(now, windowMs) - windowIndex(then, windowMs)
}

/** Deletes the counters, and records the adjustment. */
export function resetCounters(policy: Policy): Change {
  return (rows, now) => {
    recordAdjustment(rows, policy, now)
    for (const [, row] of rows.rules) clearRow(row, now)
    return done
  }
}

function recordAdjustment({ adjustment }: Rows, policy: Policy, now: number): void {
  adjustment.at = now + retentionMs(policy)
  adjustment.keptUntil = adjustment.at
}

/** Decides on a request of cost 1. */
export function checkRules(): Change {
  return (rows, now) => check(rows, 1, now)
}

function check({ rules: pairs }: Rows, cost: number, now: number): Pick<CounterResult, 'allowed' | 'violated'> {
  const rules = pairs.map(([rule]) => rule)
  const counters = pairs.flatMap(([rule, row]) => countersOf(rule, row, now))
  const violated = findViolations(rules, { counters, now }, cost)
  return { allowed: isAllowed(rules, violated), violated }
}

/** The keys of an encoded identifier's rows, that of the adjustment last. */
export function rowKeys(policy: Policy, { kind, id }: Identifier): string[] {
  const keys = policy.rules.map(({ scope, subject, algorithm, windowMs }) => {
    const suffix = algorithm === 'token-bucket' ? 'bucket' : windowMs
    return `${encodedKey(scope, subject?.kind ?? kind, subject?.id ?? id)}:${suffix}`
  })
  return [...keys, `${encodedKey('', kind, id)}:adjusted`]
}

/** Applies a change to the rows of a call, in the order of their keys. */
export function applyChange(policy: Policy, rows: readonly Row[], change: Change, now: number): CounterResult {
  const adjustment = rows.at(-1)
  if (adjustment === undefined) throw new RangeError(`the rows of policy "${policy.name}" are missing`)
  const rules = policy.rules.flatMap((rule, i) => {
    const row = rows[i]
    return row === undefined ? [] : [[rule, row] as const]
  })
  const outcome = change({ rules, adjustment }, now)
  return { ...outcome, counters: rules.flatMap(([rule, row]) => countersOf(rule, row, now)), now }
}
