import { maxWaitMs, remaining } from '../algorithms/counters.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'

/** One sub-counter: the policy with its part of the limits, and the identifier under which it is counted. */
export interface Shard {
  readonly policy: Policy
  readonly identifier: Identifier
}

/** Results of the sub-counters that were queried, by their index. */
export type ShardResults = ReadonlyMap<number, CounterResult>

/** The policy of each sub-counter: equal parts of every limit. */
export function createShardPolicies(policy: Policy): readonly Policy[] {
  return Array.from({ length: policy.shards }, () => {
    const rules = policy.rules.map((rule) => ({
      ...rule,
      limit: rule.limit / policy.shards,
      refillPerMs: rule.refillPerMs / policy.shards,
    }))
    return Object.freeze({ ...policy, rules, shards: 1 })
  })
}

/** Part i of an amount, an integer; the first part has the rest too. */
export function divideAmount(amount: number, shards: number, i: number): number {
  const part = Math.trunc(amount / shards)
  return i === 0 ? amount - part * (shards - 1) : part
}

/** Counters to which each sub-counter is raised when their sum was remembered. The time of a bucket is no sum. */
export function divideCounters({ rules, shards }: Policy, counters: readonly number[]): number[] {
  return counters.map((count, at) => {
    const isTime = at % 2 === 1 && rules[(at - 1) / 2]?.algorithm === 'token-bucket'
    return isTime ? count : Math.floor(count / shards)
  })
}

/**
 * Sub-counters that have units left, those with the largest number first, without the one already tried. Rules in shadow
 * reject nothing.
 */
export function orderByRoom(shards: readonly Shard[], results: ShardResults, tried: number): number[] {
  const room = (i: number): number => {
    const [shard, result] = [shards[i], results.get(i)]
    if (!shard || !result?.allowed) return 0
    return Math.min(...shard.policy.rules.map((rule, r) => (rule.shadow ? Infinity : remaining(rule, result, r))))
  }
  return [...shards.keys()].filter((i) => i !== tried && room(i) > 0).sort((a, b) => room(b) - room(a))
}

/**
 * The sum of the sub-counters. Where only some were queried, they represent all, and what remains is an estimate. A
 * rejected request waits for the first sub-counter that will admit it. A rule in shadow is violated where it is in all of
 * them; in a rejection each may have been rejected by another rule.
 */
export function sumShards(
  policy: Policy,
  shards: readonly Shard[],
  results: ShardResults,
  cost: number,
): CounterResult {
  const all = [...results.values()]
  const allowed = all.some((result) => result.allowed)
  const scale = allowed ? policy.shards / all.length : 1
  const counters = policy.rules.flatMap((rule, r) => {
    const sum = (at: number): number => all.reduce((total, result) => total + (result.counters[at] ?? 0), 0)
    const newest = Math.max(...all.map((result) => result.counters[2 * r + 1] ?? 0))
    return [
      Math.round(sum(2 * r) * scale),
      rule.algorithm === 'token-bucket' ? newest : Math.round(sum(2 * r + 1) * scale),
    ]
  })
  const everywhere = all.reduce((bits, result) => bits & result.violated, -1)
  const somewhere = all.reduce((bits, result) => bits | result.violated, 0)
  const inShadow = policy.rules.reduce((bits, { shadow }, i) => (shadow ? bits | (1 << i) : bits), 0)
  const violated = allowed ? everywhere : everywhere | (somewhere & ~inShadow)
  const total = { allowed, violated, counters, now: all.at(-1)?.now ?? 0 }
  return allowed ? total : { ...total, waitMs: minWaitMs(shards, results, cost) }
}

/** Milliseconds until the first sub-counter admits a lone request of `cost`. */
export function minWaitMs(shards: readonly Shard[], results: ShardResults, cost: number): number {
  return Math.min(...[...results].map(([i, result]) => maxWaitMs(shards[i]?.policy.rules ?? [], result, cost)))
}
