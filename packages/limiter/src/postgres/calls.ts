import { admits } from '../algorithms/counters.ts'
import { encodedKey, type Identifier } from '../key.ts'
import { type Policy, retentionMs } from '../policy.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterResult } from '../store.ts'
import { clear, count, countersOf, type Row, raise } from './row.ts'

/** The rows of one call: of the policy's rules in their order, and the note that counters were given back. */
interface Rows {
  readonly rules: readonly (readonly [rule: CountedRule, row: Row])[]
  readonly adjustment: Row
}

/** What a call does to its rows, at the time of the database. */
export type Change = (rows: Rows, now: number) => Pick<CounterResult, 'allowed' | 'violated'>

const changed = { allowed: true, violated: 0 } as const

/** Takes from all rules or from none; a fixed window counts also what it rejects itself. */
export function acquireUnits(cost: number): Change {
  return ({ rules }, now) => {
    const fits = rules.map(([rule, row]) => admits(rule, ...countersOf(rule, row, now), cost, now))
    const violated = fits.reduce((bits, fit, i) => bits | (fit ? 0 : 1 << i), 0)
    const allowed = rules.every(([rule], i) => rule.shadow || fits[i])
    rules.forEach(([rule, row], i) => {
      if (fits[i] ? allowed : rule.algorithm === 'fixed-window') count(rule, row, cost, now)
    })
    return { allowed, violated }
  }
}

/** Counts amounts, whatever the limits, in the windows of `then`. */
export function addAmounts(amounts: readonly number[], then?: number): Change {
  return ({ rules }, now) => {
    rules.forEach(([rule, row], i) => {
      count(rule, row, amounts[i] ?? 0, now, then)
    })
    return changed
  }
}

/** Takes back from every rule, and notes it. */
export function grantUnits(policy: Policy, amount: number): Change {
  return (rows, now) => {
    recordAdjustment(rows, policy, now)
    return addAmounts(policy.rules.map(() => -amount))(rows, now)
  }
}

/** Raises counters to what somebody remembers, unless they were given back or reset. */
export function raiseCounters(counters: readonly number[]): Change {
  return ({ rules, adjustment: note }, now) => {
    if ((note.at ?? 0) > now) return changed
    rules.forEach(([rule, row], i) => {
      raise(rule, row, [counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0], now)
    })
    return changed
  }
}

/** Forgets the counters, and notes it. */
export function resetCounters(policy: Policy): Change {
  return (rows, now) => {
    recordAdjustment(rows, policy, now)
    for (const [, row] of rows.rules) clear(row, now)
    return changed
  }
}

function recordAdjustment({ adjustment: note }: Rows, policy: Policy, now: number): void {
  note.at = now + retentionMs(policy)
  note.keptUntil = note.at
}

/** Whether a request of cost 1 would be admitted. */
export function checkRules(): Change {
  return ({ rules }, now) => {
    const violated = rules.reduce(
      (bits, [rule, row], i) => bits | (admits(rule, ...countersOf(rule, row, now), 1, now) ? 0 : 1 << i),
      0,
    )
    return { allowed: rules.every(([rule], i) => rule.shadow || (violated & (1 << i)) === 0), violated }
  }
}

/** The keys of an encoded identifier's rows, the note's last. */
export function rowKeys(policy: Policy, { kind, id }: Identifier): string[] {
  const keys = policy.rules.map(({ scope, subject, algorithm, windowMs }) => {
    const place = algorithm === 'token-bucket' ? 'bucket' : windowMs
    return `${encodedKey(scope, subject?.kind ?? kind, subject?.id ?? id)}:${place}`
  })
  return [...keys, `${encodedKey('', kind, id)}:adjusted`]
}

/** Makes a change to rows found by their keys. */
export function applyChange(policy: Policy, rows: readonly Row[], make: Change, now: number): CounterResult {
  const note = rows.at(-1)
  if (note === undefined) throw new RangeError(`the rows of policy "${policy.name}" are missing`)
  const rules = policy.rules.flatMap((rule, i) => {
    const row = rows[i]
    return row === undefined ? [] : [[rule, row] as const]
  })
  const made = make({ rules, adjustment: note }, now)
  return { ...made, counters: rules.flatMap(([rule, row]) => countersOf(rule, row, now)), now }
}
