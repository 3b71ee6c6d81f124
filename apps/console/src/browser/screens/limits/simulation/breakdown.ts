import type { Arrival } from './traffic.ts'

/** What became of the requests of one caller or route. */
export interface Part {
  readonly name: string
  readonly requests: number
  /** How many each of the simulated limits rejected. */
  readonly rejected: readonly number[]
}

/**
 * Counts requests by caller or route; requests without a route are in no part of it. Those come first of whom more was
 * rejected, then those with more requests.
 * @param decisions for each simulated limit, for each arrival 1 when it was admitted
 */
export function breakdownOf(
  arrivals: readonly Arrival[],
  decisions: readonly Uint8Array[],
  by: 'caller' | 'route',
): Part[] {
  const parts = new Map<string, { requests: number; rejected: number[] }>()
  arrivals.forEach((arrival, nth) => {
    const name = arrival[by]
    if (name === undefined) return
    const part = parts.get(name) ?? { requests: 0, rejected: decisions.map(() => 0) }
    parts.set(name, part)
    part.requests++
    decisions.forEach((one, limit) => {
      if (one[nth] === 0) part.rejected[limit] = (part.rejected[limit] ?? 0) + 1
    })
  })
  const highest = ({ rejected }: Part) => Math.max(0, ...rejected)
  return [...parts]
    .map(([name, part]) => ({ name, ...part }))
    .sort((one, other) => highest(other) - highest(one) || other.requests - one.requests)
}
