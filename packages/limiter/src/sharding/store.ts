import { countedIdentifier } from '../combination/combine.ts'
import { acquireInTurn, rejectAtCost } from '../combination/in-turn.ts'
import { createRelease, joinResults } from '../combination/results.ts'
import { divideIntoShares, type Share } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import {
  type AcquireRequest,
  type AddRequest,
  type Completion,
  type CounterResult,
  type CounterStore,
  settle,
  startAdd,
} from '../store.ts'
import {
  createShardPolicies,
  divideAmount,
  divideCounters,
  minWaitMs,
  orderByRoom,
  type Shard,
  sumShards,
} from './sub-counters.ts'

/**
 * Splits the counters of policies with `shards` above 1: each of m sub-counters has an equal part of every limit and is
 * stored under `<id>#<index>`, in another slot of a cluster. A check calls one sub-counter, and the others only when that
 * one is used up, so that the limit is never exceeded and can be used up completely.
 *
 * @example
 * const limiter = createLimiter({ store: shardedStore(redisStore(cluster, { keyTag: 'braces' })) })
 */
export function shardedStore(store: CounterStore): CounterStore {
  return new ShardedStore(store)
}

class ShardedStore implements CounterStore {
  readonly #store: CounterStore
  readonly #policies = new WeakMap<Policy, readonly Policy[]>()
  /** Which sub-counter comes next. By policy: those that are checked together would begin at the same one each time. */
  readonly #turns = new WeakMap<Policy, number>()

  constructor(store: CounterStore) {
    this.#store = store
  }

  get generation(): number | undefined {
    return this.#store.generation
  }

  get combines(): boolean {
    return this.#store.combines ?? false
  }

  time(now: number): number {
    return this.#store.time?.(now) ?? now
  }

  acquire(request: AcquireRequest): CounterResult | Promise<CounterResult> {
    if (hasShardedParts(request.policy)) return this.#acquireParts(request)
    return request.policy.shards === 1 ? this.#store.acquire(request) : this.#acquireSharded(request)
  }

  peek(policy: Policy, identifier: Identifier, now: number, cost = 1): CounterResult | Promise<CounterResult> {
    if (hasShardedParts(policy))
      return this.#queryParts(policy, identifier, (part, who) => this.peek(part, who, now, cost), cost)
    if (policy.shards === 1) return this.#store.peek(policy, identifier, now, cost)
    return this.#queryShards(policy, identifier, (shard) => this.#store.peek(shard.policy, shard.identifier, now), cost)
  }

  add(request: AddRequest): CounterResult | Promise<CounterResult> {
    const { policy, identifier, amounts, shards } = request
    if (hasShardedParts(policy))
      return this.#queryParts(policy, identifier, (part, who, { places }) => {
        const own = places.map((place) => amounts[place] ?? 0)
        const ownShards = places.map((place) => shards?.[place])
        return this.add({ ...request, policy: part, identifier: who, amounts: own, shards: ownShards })
      })
    if (policy.shards === 1) return this.#store.add(request)
    // Another sub-counter than that of the units may be full already, or have none that they could be taken from.
    const source = shards?.[0]
    if (source !== undefined) return this.#addTo(source, request)
    return this.#queryShards(policy, identifier, (shard, i) => {
      const own = amounts.map((amount) => divideAmount(amount, policy.shards, i))
      return this.#store.add({ ...request, ...shard, amounts: own })
    })
  }

  startAdd(request: AddRequest, completion: Completion): void {
    const { policy } = request
    if (policy.shards === 1 && !hasShardedParts(policy)) startAdd(this.#store, request, completion)
    else settle(completion, this.add(request))
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult | Promise<CounterResult> {
    if (hasShardedParts(policy))
      return this.#queryParts(policy, identifier, (part, who) => this.grant(part, who, amount, now))
    if (policy.shards === 1) return this.#store.grant(policy, identifier, amount, now)
    return this.#queryShards(policy, identifier, (shard, i) =>
      this.#store.grant(shard.policy, shard.identifier, divideAmount(amount, policy.shards, i), now),
    )
  }

  raise(
    policy: Policy,
    identifier: Identifier,
    counters: readonly number[],
    now: number,
  ): CounterResult | Promise<CounterResult> {
    if (hasShardedParts(policy))
      return this.#queryParts(policy, identifier, (part, who, { places }) => {
        const own = places.flatMap((place) => counters.slice(2 * place, 2 * place + 2))
        return this.raise(part, who, own, now)
      })
    if (policy.shards === 1) return this.#store.raise(policy, identifier, counters, now)
    const own = divideCounters(policy, counters)
    return this.#queryShards(policy, identifier, (shard) => this.#store.raise(shard.policy, shard.identifier, own, now))
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    if (hasShardedParts(policy)) {
      for (const { policy: part } of divideIntoShares(policy, shardKey))
        await this.reset(part, countedIdentifier(part, identifier), now)
      return
    }
    if (policy.shards === 1) return this.#store.reset(policy, identifier, now)
    for (const shard of this.#shardsOf(policy, identifier)) await this.#store.reset(shard.policy, shard.identifier, now)
  }

  /** Acquires the sharded policies of a combination one after another, all others in one step. */
  async #acquireParts(request: AcquireRequest): Promise<CounterResult> {
    const { policy, identifier, cost, now } = request
    // Policies that fail closed come last: the replica compares their counts, so nothing of them may be released.
    const closedLast = ({ policy: part }: Share): number => (part.failureMode === 'closed' ? 1 : 0)
    const shares = divideIntoShares(policy, shardKey).toSorted((a, b) => closedLast(a) - closedLast(b))
    const subjectOf = (share: Share): Identifier => countedIdentifier(share.policy, identifier)
    const results = await acquireInTurn(shares, {
      acquire: (share) => this.acquire({ ...request, policy: share.policy, identifier: subjectOf(share) }),
      release: ({ policy: part }, acquired) =>
        this.add(createRelease({ policy: part, identifier: countedIdentifier(part, identifier), cost, now }, acquired)),
      reject: (share) => rejectAtCost(this, { ...request, policy: share.policy, identifier: subjectOf(share) }),
    })
    return joinResults(policy, shares, results, cost)
  }

  /** Adds to one sub-counter. Answers the sum of all. */
  async #addTo(source: number, request: AddRequest): Promise<CounterResult> {
    const { policy, identifier, now } = request
    await this.#store.add({ ...request, ...this.#shardsOf(policy, identifier)[source] })
    return this.peek(policy, identifier, now)
  }

  async #acquireSharded({ policy, identifier, cost, now }: AcquireRequest): Promise<CounterResult> {
    const shards = this.#shardsOf(policy, identifier)
    const results = new Map<number, CounterResult>()
    const tryShard = async (i: number): Promise<number | undefined> => {
      const shard = shards[i]
      if (shard === undefined) return undefined
      const result = await this.#store.acquire({ ...shard, cost, now })
      results.set(i, result)
      return result.allowed ? i : undefined
    }
    const turn = this.#turns.get(policy) ?? 0
    this.#turns.set(policy, turn + 1)
    const first = turn % shards.length
    let source = await tryShard(first)
    if (source === undefined) {
      await this.#peekOthers(shards, first, results, now)
      for (const i of orderByRoom(shards, results, first)) {
        source = await tryShard(i)
        if (source !== undefined) break
      }
    }
    const total = sumShards(policy, shards, results, cost)
    if (source === undefined) return total
    // A rule in shadow has counted nothing where its sub-counter was violated.
    const violated = results.get(source)?.violated ?? 0
    return { ...total, violated, shards: policy.rules.map(() => source) }
  }

  async #peekOthers(
    shards: readonly Shard[],
    first: number,
    results: Map<number, CounterResult>,
    now: number,
  ): Promise<void> {
    const peeks = shards.map(async (shard, i) => {
      if (i !== first) results.set(i, await this.#store.peek(shard.policy, shard.identifier, now))
    })
    await Promise.all(peeks)
  }

  async #queryShards(
    policy: Policy,
    identifier: Identifier,
    query: (shard: Shard, i: number) => CounterResult | Promise<CounterResult>,
    cost = 1,
  ): Promise<CounterResult> {
    const shards = this.#shardsOf(policy, identifier)
    const results = new Map((await Promise.all(shards.map(query))).entries())
    const total = sumShards(policy, shards, results, cost)
    // There may be room for a unit in one of them, and in none for the whole cost.
    const wait = total.allowed && cost > 1 ? minWaitMs(shards, results, cost) : 0
    return wait === 0 ? total : { ...total, waitMs: wait }
  }

  /** Queries the sharded policies of a combination each by itself, all others together. */
  async #queryParts(
    policy: Policy,
    identifier: Identifier,
    query: (part: Policy, who: Identifier, share: Share) => CounterResult | Promise<CounterResult>,
    cost = 1,
  ): Promise<CounterResult> {
    const shares = divideIntoShares(policy, shardKey)
    const results = shares.map((share) => query(share.policy, countedIdentifier(share.policy, identifier), share))
    return joinResults(policy, shares, await Promise.all(results), cost)
  }

  #shardsOf(policy: Policy, identifier: Identifier): readonly Shard[] {
    let policies = this.#policies.get(policy)
    if (!policies) {
      policies = createShardPolicies(policy)
      this.#policies.set(policy, policies)
    }
    return policies.map((part, i) => ({ policy: part, identifier: { ...identifier, id: `${identifier.id}#${i}` } }))
  }
}

/** Each sharded policy is a share of its own. */
const shardKey = (part: Policy): Policy | undefined => (part.shards > 1 ? part : undefined)

/** Whether a combination has sharded policies. */
function hasShardedParts({ parts }: Policy): boolean {
  return parts !== undefined && parts.length > 1 && parts.some(({ shards }) => shards > 1)
}
