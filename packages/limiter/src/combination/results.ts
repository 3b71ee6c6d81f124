import { isAllowed, maxWaitMs } from '../algorithms/counters.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, AddRequest, CounterResult } from '../store.ts'
import type { Share } from './shares.ts'

/** Joins the results of all shares of a combination into one. */
export function joinResults(
  whole: Policy,
  shares: readonly Share[],
  results: readonly CounterResult[],
  cost: number,
): CounterResult {
  const counters = new Array<number>(2 * whole.rules.length).fill(0)
  const shards = new Array<number | undefined>(whole.rules.length).fill(undefined)
  let violated = 0
  shares.forEach(({ places }, nth) => {
    const result = results[nth]
    places.forEach((place, i) => {
      shards[place] = result?.shards?.[i]
      counters[2 * place] = result?.counters[2 * i] ?? 0
      counters[2 * place + 1] = result?.counters[2 * i + 1] ?? 0
      if (((result?.violated ?? 0) & (1 << i)) !== 0) violated |= 1 << place
    })
  })
  const allowed = results.every((result) => result.allowed)
  const now = Math.max(...results.map((result) => result.now))
  const isSharded = shards.some((shard) => shard !== undefined)
  const joined = { allowed, violated, counters, now, ...(isSharded ? { shards } : {}) }
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

/**
 * The request to a store that returns what `acquired` has acquired, to the windows and sub-counters that it came from:
 * nothing where a shadow rule was violated.
 */
export function createRelease(
  { policy, identifier, cost, now }: AcquireRequest,
  { violated, now: countedAt, shards }: CounterResult,
): AddRequest {
  const amounts = policy.rules.map((_, i) => ((violated & (1 << i)) === 0 ? -cost : 0))
  return { policy, identifier, amounts, now, countedAt, shards }
}

/** The part of a combination's result that belongs to one share. */
export function resultOfShare({ places, policy }: Share, whole: CounterResult): CounterResult {
  const { violated, counters, now, shards } = whole
  let bits = 0
  places.forEach((place, i) => {
    if ((violated & (1 << place)) !== 0) bits |= 1 << i
  })
  const own = places.flatMap((place) => [counters[2 * place] ?? 0, counters[2 * place + 1] ?? 0])
  const result = { allowed: isAllowed(policy.rules, bits), violated: bits, counters: own, now }
  return shards === undefined ? result : { ...result, shards: places.map((place) => shards[place]) }
}
