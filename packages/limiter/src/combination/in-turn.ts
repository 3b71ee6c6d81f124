import { findViolations, isAllowed } from '../algorithms/counters.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, CounterResult, CounterStore } from '../store.ts'
import { countedIdentifier } from './combine.ts'
import { queryShares } from './query.ts'
import { createRelease, joinResults } from './results.ts'
import { type Share, subjectShares } from './shares.ts'

/** How shares are acquired one after another. */
export interface ShareSteps {
  acquire(share: Share): CounterResult | Promise<CounterResult>
  /** Returns what a share acquired, since another one rejected. Answers the counters after that, where they are known. */
  release(share: Share, acquired: CounterResult): CounterResult | undefined | Promise<CounterResult | undefined>
  /** Reads a share that was not acquired, since one before it rejected, and counts what it rejects itself. */
  reject(share: Share): CounterResult | Promise<CounterResult>
}

/**
 * Reads the counters for a request of `cost` that is rejected in any case. Adds the cost to the fixed windows that it
 * violates: a fixed window is incremented first, so it also counts the requests that it rejects itself.
 */
export function rejectAtCost(
  store: Pick<CounterStore, 'peek' | 'add'>,
  { policy: whole, identifier: requester, cost, now }: AcquireRequest,
): CounterResult | Promise<CounterResult> {
  const rejectShare = (policy: Policy, identifier: Identifier): CounterResult | Promise<CounterResult> => {
    const count = (read: CounterResult): CounterResult | Promise<CounterResult> => {
      const violated = findViolations(policy.rules, read, cost)
      const result = { ...read, allowed: isAllowed(policy.rules, violated), violated }
      const amounts = policy.rules.map(({ algorithm }, i) =>
        algorithm === 'fixed-window' && (violated & (1 << i)) !== 0 ? cost : 0,
      )
      if (amounts.every((amount) => amount === 0)) return result
      const added = store.add({ policy, identifier, amounts, now })
      if (!(added instanceof Promise)) return { ...result, counters: added.counters }
      return added.then(({ counters }) => ({ ...result, counters }))
    }
    const read = store.peek(policy, identifier, now, cost)
    return read instanceof Promise ? read.then(count) : count(read)
  }
  return queryShares(whole, requester, rejectShare, cost)
}

/** Acquires from a store that counts no more than one identifier in one step. */
export function acquireByShares(
  store: CounterStore,
  { policy, identifier, cost, now, withinMs }: AcquireRequest,
): CounterResult | Promise<CounterResult> {
  const shares = subjectShares(policy)
  const until = withinMs === undefined ? undefined : performance.now() + withinMs
  const subjectOf = (share: Share): Identifier => countedIdentifier(share.policy, identifier)
  const results = acquireInTurn(shares, {
    acquire: (share) =>
      store.acquire({
        policy: share.policy,
        identifier: subjectOf(share),
        cost,
        now,
        withinMs: until === undefined ? undefined : until - performance.now(),
      }),
    release: (share, acquired) =>
      store.add(createRelease({ policy: share.policy, identifier: subjectOf(share), cost, now }, acquired)),
    reject: (share) => rejectAtCost(store, { policy: share.policy, identifier: subjectOf(share), cost, now }),
  })
  if (results instanceof Promise) return results.then((settled) => joinResults(policy, shares, settled, cost))
  return joinResults(policy, shares, results, cost)
}

/**
 * Acquires shares one after another, all or nothing: where one rejects or fails, those before it are released. Never
 * admits more than each of them does. In between, other requests find units acquired that are released later; a process
 * that dies then leaves them acquired until their windows end. Returns at once when every step does.
 */
export function acquireInTurn(
  shares: readonly Share[],
  steps: ShareSteps,
): readonly CounterResult[] | Promise<readonly CounterResult[]> {
  return acquireNext(shares, steps, [])
}

function acquireNext(
  shares: readonly Share[],
  steps: ShareSteps,
  done: readonly CounterResult[],
): readonly CounterResult[] | Promise<readonly CounterResult[]> {
  const share = shares[done.length]
  if (share === undefined) return done
  const proceed = (result: CounterResult) =>
    result.allowed ? acquireNext(shares, steps, [...done, result]) : releaseAcquired(shares, steps, [...done, result])
  const result = steps.acquire(share)
  if (!(result instanceof Promise)) return proceed(result)
  return result.then(proceed, async (error: unknown) => {
    await Promise.allSettled(done.map((acquired, i) => steps.release(shares[i] as Share, acquired)))
    throw error
  })
}

/** The last of `done` rejected. Those before it are released; those behind it are read, to know what they reject and how long to wait. */
function releaseAcquired(
  shares: readonly Share[],
  steps: ShareSteps,
  done: readonly CounterResult[],
): readonly CounterResult[] | Promise<readonly CounterResult[]> {
  const last = done.length - 1
  const results = shares.map((share, i): CounterResult | Promise<CounterResult> => {
    const acquired = done[i]
    if (acquired === undefined) return steps.reject(share)
    if (i === last) return acquired
    const released = steps.release(share, acquired)
    // What cannot be released stays acquired until its window ends.
    return released instanceof Promise
      ? released.then((result) => result ?? acquired).catch(() => acquired)
      : (released ?? acquired)
  })
  return results.some((result) => result instanceof Promise) ? Promise.all(results) : (results as CounterResult[])
}
