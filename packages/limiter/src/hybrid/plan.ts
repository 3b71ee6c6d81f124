import { maxWaitMs, windowRemaining } from '../algorithms/counters.ts'
import { windowIndex } from '../algorithms/window.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'
import type { CounterResult } from '../store.ts'
import { cell, type Ledger, maxBlockMs } from './ledger.ts'

/** How a policy is counted for one kind of identifier: in a ledger, or by the shared store alone. */
export type Plan = LocalPlan | ExactPlan

/** The shared store counts: the policy is not advisory, has a bucket, or its limits are too small to be divided. */
export interface ExactPlan {
  readonly policy: Policy
  readonly kind: string
  readonly ledger: undefined
}

/** This process counts in a ledger, and reconciles. */
export interface LocalPlan {
  readonly policy: Policy
  readonly kind: string
  readonly ledger: Ledger
  /** The policy with windows that do not read the previous one: the same counters. */
  readonly currentOnly: Policy
  /** Of those the short windows at the head of the policy; undefined when no long ones follow. */
  readonly shortOnly: Policy | undefined
  /** Number of the policy in its ledger. */
  readonly number: number
  readonly ages: Ages
}

/** An identifier's slot in the ledger of a plan. */
export interface LedgerEntry {
  readonly plan: LocalPlan
  readonly slot: number
  readonly identifier: Identifier
}

/** The same windows, counted without reading the previous one. */
export function currentOnly(policy: Policy): Policy {
  const rules = policy.rules.map((rule) =>
    rule.algorithm === 'sliding-window' ? { ...rule, algorithm: 'fixed-window' as const } : rule,
  )
  return { ...policy, rules }
}

const maxShortWindowMs = 600_000

/** The short windows at the head of a policy, when long ones follow. */
export function shortOnly(policy: Policy): Policy | undefined {
  const long = policy.rules.findIndex(({ windowMs }) => windowMs > maxShortWindowMs)
  return long > 0 ? { ...policy, rules: policy.rules.slice(0, long) } : undefined
}

/**
 * The part of a limit that all instances together may spend before the store has counted it. It bounds the overshoot,
 * wherever the traffic moves (decision 0319).
 */
const unconfirmedPart = 0.1

/** Below this share of a limit, calling the store for every check costs no more. */
const minShare = 2

/** Whether a policy may be counted locally: all its limits are advisory windows, large enough to be divided. */
export function canBeHybrid(policy: Policy, instances: number): boolean {
  return (
    policy.advisory &&
    policy.shards === 1 &&
    policy.rules.every(
      (rule) => rule.algorithm !== 'token-bucket' && (rule.limit * unconfirmedPart) / instances >= minShare,
    )
  )
}

/** How old the store's last result of a slot may be, in milliseconds. */
export interface Ages {
  /** The whole allowance may be spent. */
  readonly freshMs: number
  /** A little may be spent. */
  readonly knownMs: number
  /** A quiet slot waits no longer than so for its round. */
  readonly quietMs: number
}

/** In proportion to the shortest window, and no less than some rounds of reconciliation. */
export function agesOf(policy: Policy): Ages {
  const windowMs = Math.min(...policy.rules.map((rule) => rule.windowMs))
  return {
    freshMs: Math.max(1_000, windowMs / 12),
    knownMs: windowMs,
    quietMs: Math.max(2_000, Math.min(10_000, windowMs / 6)),
  }
}

/**
 * Units that one instance may spend before it calls the store again: its share of a tenth of what is left, less what it
 * has spent that the store has not counted yet. The share shrinks as the limit comes near.
 */
export function allowance(
  rule: CountedRule,
  counts: { readonly prev: number; readonly cur: number; readonly unconfirmed: number },
  now: number,
  instances: number,
): number {
  const left = windowRemaining(rule, counts.prev, counts.cur, now)
  return Math.max(0, Math.floor((left * unconfirmedPart) / instances) - counts.unconfirmed)
}

/** All instances together may spend a hundredth of what is left from slots whose counts are stale. */
const provisionalPart = 100

/** Limits the allowance of a slot with stale counts to this instance's share of a hundredth of what is left. */
export function limitAllowance({ plan, slot }: LedgerEntry, now: number, instances: number): void {
  const { rules } = plan.policy
  const { ledger } = plan
  const { cells } = ledger
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule === undefined) continue
    const at = ledger.at(slot, i)
    const left = windowRemaining(rule, cells[at + cell.prev] ?? 0, cells[at + cell.cur] ?? 0, now)
    const provisional = Math.floor(left / (provisionalPart * instances))
    if (provisional < (cells[at + cell.allowance] ?? 0)) cells[at + cell.allowance] = provisional
  }
}

/** A rejection is repeated no shorter, so that a flood does not call the store for every check. */
const minBlockMs = 10

/** How long to repeat a rejection, unless a request is admitted sooner. */
export function blockMs({ rules }: Policy, result: CounterResult): number {
  return Math.max(minBlockMs, Math.min(maxBlockMs, maxWaitMs(rules, result, 1)))
}

/**
 * Moves the windows of a slot to the time. What a window that has just ended had not sent is kept, to be sent to it with
 * the next counts of the slot. That of earlier windows is dropped: no decision reads them any more.
 */
export function advance({ plan, slot }: LedgerEntry, now: number, instances: number): void {
  const { rules } = plan.policy
  const { cells } = plan.ledger
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule === undefined) continue
    const at = plan.ledger.at(slot, i)
    const index = windowIndex(now, rule.windowMs)
    const old = cells[at + cell.index] ?? 0
    if (index <= old) continue
    const isNext = index === old + 1
    const prev = isNext ? (cells[at + cell.cur] ?? 0) : 0
    cells[at + cell.index] = index
    cells[at + cell.prev] = prev
    cells[at + cell.ended] = isNext ? (cells[at + cell.pending] ?? 0) : 0
    cells[at + cell.cur] = 0
    cells[at + cell.pending] = 0
    cells[at + cell.reserved] = 0
    cells[at + cell.confirmed] = 0
    cells[at + cell.sent] = 0
    cells[at + cell.allowance] = allowance(rule, { prev, cur: 0, unconfirmed: 0 }, now, instances)
  }
}
