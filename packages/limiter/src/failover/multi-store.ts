import { divideIntoShares, type Share } from '../combination/shares.ts'
import { type Decision, joinDecisions } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { FailoverLimiter } from './failover-limiter.ts'

/** A combination whose policies are counted in different stores. */
export interface MultiStoreCombination {
  /** Acquires from one store after another; where one rejects, the units acquired before are released. */
  acquire(identifier: Identifier, cost: number, now: number): Promise<Decision>
  peek(identifier: Identifier, now: number): Promise<Decision>
}

/** Undefined for a combination that is counted in one store. Policies that fail closed come last: they are the slowest. */
export function divideByStore(
  policy: Policy,
  limiterFor: (part: Policy) => FailoverLimiter,
): MultiStoreCombination | undefined {
  const shares = divideIntoShares(policy, limiterFor).toSorted((a, b) => closedLast(a) - closedLast(b))
  if (shares.length < 2) return undefined
  const peek = ({ policy: part }: Share, identifier: Identifier, now: number, cost?: number) =>
    limiterFor(part).peek(part, identifier, now, cost)
  return {
    async acquire(identifier, cost, now) {
      const done: Decision[] = []
      for (const { policy: part } of shares) {
        const decision = await limiterFor(part).acquire(part, identifier, cost, now)
        done.push(decision)
        if (!decision.allowed) break
      }
      const isRejected = done.at(-1)?.allowed === false
      const decisions = shares.map(async (share, i) => {
        const decision = done[i]
        if (decision === undefined) return peek(share, identifier, now, cost)
        if (!isRejected || i === done.length - 1) return decision
        await limiterFor(share.policy).release(share.policy, identifier, cost, decision)
        return peek(share, identifier, now, cost)
      })
      return joinDecisions(policy, shares, await Promise.all(decisions), !isRejected)
    },
    async peek(identifier, now) {
      const decisions = await Promise.all(shares.map((share) => peek(share, identifier, now)))
      return joinDecisions(
        policy,
        shares,
        decisions,
        decisions.every(({ allowed }) => allowed),
      )
    },
  }
}

const closedLast = ({ policy }: Share): number => (policy.failureMode === 'closed' ? 1 : 0)
