import { divideIntoShares, type Share } from '../combination/shares.ts'
import { type Decision, joinDecisions } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { FailoverLimiter } from './failover-limiter.ts'

/** A combination whose policies are counted in different stores. */
export interface MultiStoreCombination {
  /** Takes at one store after another; where one refuses, those before it get back what they gave. */
  acquire(identifier: Identifier, cost: number, now: number): Promise<Decision>
  peek(identifier: Identifier, now: number): Promise<Decision>
}

/** Undefined for a combination that is counted in one store. Those that fail closed come last: they are the slowest. */
export function divideByStore(
  policy: Policy,
  guardOf: (part: Policy) => FailoverLimiter,
): MultiStoreCombination | undefined {
  const all = divideIntoShares(policy, guardOf).toSorted((a, b) => lastness(a) - lastness(b))
  if (all.length < 2) return undefined
  const peek = ({ policy: part }: Share, identifier: Identifier, now: number, cost?: number) =>
    guardOf(part).peek(part, identifier, now, cost)
  return {
    async acquire(identifier, cost, now) {
      const done: Decision[] = []
      for (const { policy: part } of all) {
        const decision = await guardOf(part).acquire(part, identifier, cost, now)
        done.push(decision)
        if (!decision.allowed) break
      }
      const refused = done.at(-1)?.allowed === false
      const stands = all.map(async (share, i) => {
        const decision = done[i]
        if (decision === undefined) return peek(share, identifier, now, cost)
        if (!refused || i === done.length - 1) return decision
        await guardOf(share.policy).release(share.policy, identifier, cost, decision)
        return peek(share, identifier, now, cost)
      })
      return joinDecisions(policy, all, await Promise.all(stands), !refused)
    },
    async peek(identifier, now) {
      const decisions = await Promise.all(all.map((share) => peek(share, identifier, now)))
      return joinDecisions(
        policy,
        all,
        decisions,
        decisions.every(({ allowed }) => allowed),
      )
    },
  }
}

const lastness = ({ policy }: Share): number => (policy.failureMode === 'closed' ? 1 : 0)
