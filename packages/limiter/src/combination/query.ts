import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'
import { countedIdentifier } from './combine.ts'
import { joinResults } from './results.ts'
import { isMixed, type Share, subjectShares } from './shares.ts'

/** Runs a query for each share of a policy, once where the policy is not mixed, and joins the results. */
export function queryShares(
  policy: Policy,
  identifier: Identifier,
  query: (policy: Policy, identifier: Identifier, share: Share | undefined) => CounterResult | Promise<CounterResult>,
  cost = 1,
): CounterResult | Promise<CounterResult> {
  if (!isMixed(policy)) return query(policy, countedIdentifier(policy, identifier), undefined)
  const shares = subjectShares(policy)
  const results = shares.map((share) => query(share.policy, countedIdentifier(share.policy, identifier), share))
  if (results.some((result) => result instanceof Promise))
    return Promise.all(results).then((settled) => joinResults(policy, shares, settled, cost))
  return joinResults(policy, shares, results as CounterResult[], cost)
}
