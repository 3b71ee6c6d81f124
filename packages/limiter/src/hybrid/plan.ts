import { remaining, waitMs } from '../algorithms/counters.ts'
import { windowIndex } from '../algorithms/window.ts'
import type { Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterResult } from '../store.ts'
import { cell, type Ledger } from './ledger.ts'

/** How the rules of one policy are spent from a ledger. */
export interface Plan {
  readonly policy: Policy
  readonly kind: string
  /** The policy with windows that do not look at the one before: the same counters. */
  readonly currentOnly: Policy
  /** Of those the first ones, as far as they are short; undefined when all are alike. */
  readonly shortOnly: Policy | undefined
  /** Undefined when the policy is exact: not advisory, with a bucket, or too small to be shared out. */
  readonly ledger: Ledger | undefined
  /** Number of the policy in its ledger. */
  readonly number: number
  /** How long a share may be spent after the store was last heard. */
  readonly staleMs: number
}

/** A policy of windows, counted without looking at the window before. */
export function currentOnly(policy: Policy): Policy {
  const rules = policy.rules.map((rule) =>
    rule.algorithm === 'sliding-window' ? { ...rule, algorithm: 'fixed-window' as const } : rule,
  )
  return { ...policy, rules }
}

/** Windows up to so long are short. */
const maxShortWindowMs = 600_000

/** The short windows at the head of a policy, when long ones follow. */
export function shortOnly(policy: Policy): Policy | undefined {
  const long = policy.rules.findIndex(({ windowMs }) => windowMs > maxShortWindowMs)
  return long > 0 ? { ...policy, rules: policy.rules.slice(0, long) } : undefined
}

/**
 * All instances together may spend this part of a limit without the store having counted it: the bound of what is admitted
 * beyond a limit, wherever the traffic moves (decision 0319).
 */
const unconfirmedPart = 0.1

/** The least a process's share of a limit must be, or asking the store every time costs no more. */
const minShare = 2

/**
 * Whether a policy may be counted locally: its limits are advisory windows, each so large that a tenth of it, shared out
 * among all instances, is worth spending.
 */
export function canBeHybrid(policy: Policy, instances: number): boolean {
  return (
    policy.advisory &&
    policy.shards === 1 &&
    policy.rules.every(
      (rule) => rule.algorithm !== 'token-bucket' && (rule.limit * unconfirmedPart) / instances >= minShare,
    )
  )
}

/** A twelfth of the shortest window, but no less than some rounds of reconciling. */
export function staleMs(policy: Policy): number {
  return Math.max(1_000, Math.min(...policy.rules.map((rule) => rule.windowMs)) / 12)
}

/**
 * What one instance may spend before it asks again: its share of a tenth of what is left, less what it has spent that the
 * store has not counted yet. The share shrinks as the limit comes near.
 */
export function allowance(
  rule: CountedRule,
  counts: { readonly prev: number; readonly cur: number; readonly unconfirmed: number },
  now: number,
  instances: number,
): number {
  const left = remaining(rule, counts.prev, counts.cur, now)
  return Math.max(0, Math.floor((left * unconfirmedPart) / instances) - counts.unconfirmed)
}

/** All instances together presume that a hundredth of what is left may be spent unheard. */
const provisionalPart = 100

/**
 * Leaves of the allowance of a slot that was not heard of lately what may be presumed: its share of a hundredth of what is
 * left, by what is known here.
 */
export function limitAllowance(plan: Plan, ledger: Ledger, slot: number, now: number, instances: number): void {
  const { rules } = plan.policy
  const { cells } = ledger
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule === undefined) continue
    const at = ledger.at(slot, i)
    const left = remaining(rule, cells[at + cell.prev] ?? 0, cells[at + cell.cur] ?? 0, now)
    const provisional = Math.floor(left / (provisionalPart * instances))
    if (provisional < (cells[at + cell.allowance] ?? 0)) cells[at + cell.allowance] = provisional
  }
}

/** How long a rejection is believed: no longer, lest a grant elsewhere goes unnoticed; no shorter, lest a flood asks anew. */
const maxBlockMs = 1_000
const minBlockMs = 10

/** How long to believe a rejection, unless a request is admitted sooner. */
export function blockMs(policy: Policy, { counters, now }: CounterResult): number {
  const waits = policy.rules.map((rule, i) =>
    rule.shadow ? 0 : waitMs(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, 1, now),
  )
  return Math.max(minBlockMs, Math.min(maxBlockMs, Math.max(...waits)))
}

/**
 * Moves one window of a slot to the time. What of the old window had not been told is answered, with the old window's
 * index, to be told still.
 */
export function rollWindow(
  ledger: Ledger,
  at: number,
  rule: CountedRule,
  now: number,
  instances: number,
): { readonly index: number; readonly unsent: number } | undefined {
  const { cells } = ledger
  const index = windowIndex(now, rule.windowMs)
  const old = cells[at + cell.index] ?? 0
  if (index <= old) return undefined
  const untold = cells[at + cell.pending] ?? 0
  const prev = index === old + 1 ? (cells[at + cell.cur] ?? 0) : 0
  cells[at + cell.index] = index
  cells[at + cell.prev] = prev
  cells[at + cell.cur] = 0
  cells[at + cell.pending] = 0
  cells[at + cell.reserved] = 0
  cells[at + cell.confirmed] = 0
  cells[at + cell.sent] = 0
  cells[at + cell.allowance] = allowance(rule, { prev, cur: 0, unconfirmed: 0 }, now, instances)
  return untold === 0 ? undefined : { index: old, unsent: untold }
}
