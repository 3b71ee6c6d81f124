import type { Policy } from '@gatehouse/limiter'
import { type CallerStep, stepAt } from './history.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** How close callers came to a rule: shares of its limit, 1 for all of it. */
export interface RuleUse {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly shadow: boolean
  readonly callers: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** The steps that use is computed from. */
export interface CountedSteps {
  /** The last hour in minutes. */
  readonly minutes: readonly CallerStep[]
  /** The last day in hours. */
  readonly hours: readonly CallerStep[]
}

/**
 * How close callers of a policy came to its rules of a minute, in their busiest minute of the last hour, and to those of
 * a day, in the last day. Other windows are not kept, and a policy that counts all callers together has no callers.
 */
export function useOf(policy: Policy, { minutes, hours }: CountedSteps): RuleUse[] {
  const byWindow = new Map([
    [minuteMs, sumsOf(policy.name, minutes, (at) => stepAt(at, minuteMs))],
    [dayMs, sumsOf(policy.name, hours, () => 0)],
  ])
  return policy.rules.flatMap(({ name, limit, windowMs, shadow, algorithm }) => {
    const counts = algorithm === 'token-bucket' ? undefined : byWindow.get(windowMs)
    if (counts === undefined) return []
    const shares = counts.map((count) => count / limit).sort((one, other) => one - other)
    const at = (share: number) => shares[Math.max(0, Math.ceil(share * shares.length) - 1)] ?? 0
    const figures = { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: shares.at(-1) ?? 0 }
    return [{ name, limit, windowMs, shadow, callers: shares.length, ...figures }]
  })
}

/** For each caller that the policy counted its highest sum in one window. */
function sumsOf(policy: string, steps: readonly CallerStep[], windowOf: (at: number) => number): number[] {
  const sums = new Map<string, Map<number, number>>()
  for (const { at, callers } of steps)
    for (const { kind, id, policies, count } of callers) {
      if (!policies.includes(policy)) continue
      const ofCaller = sums.get(`${kind} ${id}`) ?? new Map<number, number>()
      const window = windowOf(at)
      ofCaller.set(window, (ofCaller.get(window) ?? 0) + count)
      sums.set(`${kind} ${id}`, ofCaller)
    }
  return [...sums.values()].map((ofCaller) => Math.max(...ofCaller.values()))
}
