import { isAllowed, maxWaitMs } from '../algorithms/counters.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'
import type { Share } from './shares.ts'

/** Joins the results of all shares of a combination into one. */
export function joinResults(
  whole: Policy,
  shares: readonly Share[],
  results: readonly CounterResult[],
  cost: number,
): CounterResult {
  const counters = new Array<number>(2 * whole.rules.length).fill(0)
  let violated = 0
  shares.forEach(({ places }, nth) => {
    const result = results[nth]
    places.forEach((place, i) => {
      counters[2 * place] = result?.counters[2 * i] ?? 0
      counters[2 * place + 1] = result?.counters[2 * i + 1] ?? 0
      if (((result?.violated ?? 0) & (1 << i)) !== 0) violated |= 1 << place
    })
  })
  const allowed = results.every((result) => result.allowed)
  const now = Math.max(...results.map((result) => result.now))
  const joined = { allowed, violated, counters, now }
  if (results.every((result) => result.waitMs === undefined)) return joined
  return { ...joined, waitMs: Math.max(...shares.map(({ policy }, nth) => waitOf(policy, results[nth], cost))) }
}

function waitOf({ rules }: Policy, result: CounterResult | undefined, cost: number): number {
  if (result === undefined) return 0
  return result.waitMs ?? maxWaitMs(rules, result, cost)
}

/** The amounts that a request acquired: nothing where a shadow rule was violated. */
export function acquiredAmounts({ rules }: Policy, { allowed, violated }: CounterResult, cost: number): number[] {
  return rules.map((_, i) => (allowed && (violated & (1 << i)) === 0 ? cost : 0))
}

/** The amounts that return what a request acquired: nothing where a shadow rule was violated. */
export function releaseAmounts({ rules }: Policy, { violated }: CounterResult, cost: number): number[] {
  return rules.map((_, i) => ((violated & (1 << i)) === 0 ? -cost : 0))
}

/** The part of a combination's result that belongs to one share. */
export function resultOfShare({ places, policy }: Share, { violated, counters, now }: CounterResult): CounterResult {
  let bits = 0
  places.forEach((place, i) => {
    if ((violated & (1 << place)) !== 0) bits |= 1 << i
  })
  const own = places.flatMap((place) => [counters[2 * place] ?? 0, counters[2 * place + 1] ?? 0])
  return { allowed: isAllowed(policy.rules, bits), violated: bits, counters: own, now }
}
