import { remaining, waitMs } from '../algorithms/counters.ts'
import { countedIdentifier } from '../combination/combine.ts'
import {
  acquireInTurn,
  divideIntoShares,
  joinResults,
  type Request,
  releaseAmounts,
  type Share,
} from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import { type Completion, type CounterResult, type CounterStore, settle, startAdd } from '../store.ts'

/**
 * Splits the counters of policies with `shards` above 1: sub-counter i of m holds its share of every limit and lies under
 * `<id>#i`, on another slot of a cluster. A check asks one sub-counter, and the others only when that one is used up, so
 * no more than the limit is ever admitted, and nothing that is left stays out of reach.
 */
export function shardedStore(store: CounterStore): CounterStore {
  return new ShardedStore(store)
}

interface Shard {
  readonly policy: Policy
  readonly identifier: Identifier
}

class ShardedStore implements CounterStore {
  readonly #store: CounterStore
  readonly #policies = new WeakMap<Policy, readonly Policy[]>()
  /** Of takes of policies with sub-counters, which one it was. */
  readonly #acquiredFrom = new WeakMap<CounterResult, Shard>()
  #turn = 0

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

  acquire(
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): CounterResult | Promise<CounterResult> {
    if (isSplit(policy)) return this.#acquireParts(policy, identifier, { cost, now, withinMs })
    if (policy.shards === 1) return this.#store.acquire(policy, identifier, cost, now, withinMs)
    return this.#acquireSplit(policy, identifier, cost, now)
  }

  peek(policy: Policy, identifier: Identifier, now: number, cost = 1): CounterResult | Promise<CounterResult> {
    if (isSplit(policy))
      return this.#queryParts(policy, identifier, (part, who) => this.peek(part, who, now, cost), cost)
    if (policy.shards === 1) return this.#store.peek(policy, identifier, now, cost)
    return this.#queryShards(policy, identifier, (shard) => this.#store.peek(shard.policy, shard.identifier, now), cost)
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then?: number,
  ): CounterResult | Promise<CounterResult> {
    if (isSplit(policy))
      return this.#queryParts(policy, identifier, (part, who, { places }) =>
        this.add(
          part,
          who,
          places.map((place) => amounts[place] ?? 0),
          now,
          then,
        ),
      )
    if (policy.shards === 1) return this.#store.add(policy, identifier, amounts, now, then)
    return this.#queryShards(policy, identifier, (shard, i) =>
      this.#store.add(
        shard.policy,
        shard.identifier,
        amounts.map((amount) => share(amount, policy.shards, i)),
        now,
        then,
      ),
    )
  }

  startAdd(waiter: Completion, policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): void {
    if (policy.shards === 1 && !isSplit(policy)) startAdd(this.#store, waiter, policy, identifier, amounts, now)
    else settle(waiter, this.add(policy, identifier, amounts, now))
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): CounterResult | Promise<CounterResult> {
    if (isSplit(policy)) return this.#queryParts(policy, identifier, (part, who) => this.grant(part, who, amount, now))
    if (policy.shards === 1) return this.#store.grant(policy, identifier, amount, now)
    return this.#queryShards(policy, identifier, (shard, i) =>
      this.#store.grant(shard.policy, shard.identifier, share(amount, policy.shards, i), now),
    )
  }

  /** What was remembered is the sum; an equal part of it is asked back of each sub-counter. A bucket's time is no sum. */
  raise(
    policy: Policy,
    identifier: Identifier,
    counters: readonly number[],
    now: number,
  ): CounterResult | Promise<CounterResult> {
    if (isSplit(policy))
      return this.#queryParts(policy, identifier, (part, who, { places }) =>
        this.raise(
          part,
          who,
          places.flatMap((place) => counters.slice(2 * place, 2 * place + 2)),
          now,
        ),
      )
    if (policy.shards === 1) return this.#store.raise(policy, identifier, counters, now)
    return this.#queryShards(policy, identifier, (shard) =>
      this.#store.raise(
        shard.policy,
        shard.identifier,
        counters.map((count, at) => (isTime(policy, at) ? count : Math.floor(count / policy.shards))),
        now,
      ),
    )
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    if (isSplit(policy)) {
      for (const { policy: part } of divideIntoShares(policy, alike))
        await this.reset(part, countedIdentifier(part, identifier), now)
      return
    }
    if (policy.shards === 1) return this.#store.reset(policy, identifier, now)
    for (const shard of this.#shards(policy, identifier)) await this.#store.reset(shard.policy, shard.identifier, now)
  }

  /** Of a combination the policies with sub-counters are taken one after another, the others together. */
  async #acquireParts(policy: Policy, identifier: Identifier, request: Request): Promise<CounterResult> {
    const { cost, now, withinMs } = request
    // What fails closed comes last: it is compared with what is remembered, so none of it may be given back.
    const last = ({ policy: part }: Share): number => (part.failureMode === 'closed' ? 1 : 0)
    const all = divideIntoShares(policy, alike).toSorted((a, b) => last(a) - last(b))
    const who = (divideAmount: Share): Identifier => countedIdentifier(divideAmount.policy, identifier)
    const answers = await acquireInTurn(all, {
      take: (share) => this.acquire(share.policy, who(share), cost, now, withinMs),
      giveBack: (share, result) =>
        this.#release(share.policy, who(share), releaseAmounts(share.policy, result, cost), result),
      peek: (share) => this.peek(share.policy, who(share), now, cost),
    })
    return joinResults(policy, all, answers, cost)
  }

  /** To the sub-counter that it was taken from: another one may be full already. */
  #release(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    result: CounterResult,
  ): CounterResult | Promise<CounterResult> {
    const { now } = result
    const shard = this.#acquiredFrom.get(result)
    if (shard === undefined) return this.add(policy, identifier, amounts, now, now)
    const back = this.#store.add(shard.policy, shard.identifier, amounts, now, now)
    return Promise.resolve(back).then(() => this.peek(policy, identifier, now))
  }

  async #acquireSplit(policy: Policy, identifier: Identifier, cost: number, now: number): Promise<CounterResult> {
    const shards = this.#shards(policy, identifier)
    const first = this.#turn++ % shards.length
    const states = new Map<number, CounterResult>()
    let from = (await this.#tryShard(shards, first, cost, now, states)) ? first : undefined
    if (from === undefined) {
      const looks = shards.map(async (shard, i) => {
        if (i !== first) states.set(i, await this.#store.peek(shard.policy, shard.identifier, now))
      })
      await Promise.all(looks)
      for (const i of orderByRoom(shards, states, first)) {
        if (!(await this.#tryShard(shards, i, cost, now, states))) continue
        from = i
        break
      }
    }
    const result = sumShards(policy, shards, states, cost)
    const shard = from === undefined ? undefined : shards[from]
    if (shard !== undefined) this.#acquiredFrom.set(result, shard)
    return result
  }

  async #tryShard(
    shards: readonly Shard[],
    i: number,
    cost: number,
    now: number,
    states: Map<number, CounterResult>,
  ): Promise<boolean> {
    const shard = shards[i]
    if (shard === undefined) return false
    const result = await this.#store.acquire(shard.policy, shard.identifier, cost, now)
    states.set(i, result)
    return result.allowed
  }

  async #queryShards(
    policy: Policy,
    identifier: Identifier,
    ask: (shard: Shard, i: number) => CounterResult | Promise<CounterResult>,
    cost = 1,
  ): Promise<CounterResult> {
    const shards = this.#shards(policy, identifier)
    const answers = await Promise.all(shards.map(ask))
    const states = new Map(answers.entries())
    const result = sumShards(policy, shards, states, cost)
    // There may be room for one, and for so many in none of them.
    const wait = result.allowed && cost > 1 ? soonestMs(shards, states, cost) : 0
    return wait === 0 ? result : { ...result, waitMs: wait }
  }

  /** Of a combination the policies with sub-counters each by itself, the others together. */
  async #queryParts(
    policy: Policy,
    identifier: Identifier,
    ask: (part: Policy, who: Identifier, share: Share) => CounterResult | Promise<CounterResult>,
    cost = 1,
  ): Promise<CounterResult> {
    const all = divideIntoShares(policy, alike)
    const answers = all.map((share) => ask(share.policy, countedIdentifier(share.policy, identifier), share))
    return joinResults(policy, all, await Promise.all(answers), cost)
  }

  #shards(policy: Policy, identifier: Identifier): readonly Shard[] {
    let policies = this.#policies.get(policy)
    if (!policies) {
      policies = Array.from({ length: policy.shards }, () => shardPolicy(policy))
      this.#policies.set(policy, policies)
    }
    return policies.map((part, i) => ({ policy: part, identifier: { ...identifier, id: `${identifier.id}#${i}` } }))
  }
}

const alike = (part: Policy): Policy | undefined => (part.shards > 1 ? part : undefined)

/** Whether a combination has policies with sub-counters beside others. */
function isSplit({ parts }: Policy): boolean {
  return parts !== undefined && parts.length > 1 && parts.some(({ shards }) => shards > 1)
}

function shardPolicy(policy: Policy): Policy {
  const rules = policy.rules.map((rule) => ({
    ...rule,
    limit: rule.limit / policy.shards,
    refillPerMs: rule.refillPerMs / policy.shards,
  }))
  return Object.freeze({ ...policy, rules, shards: 1 })
}

/** Whether a store's answer tells a time at that place: the second number of a bucket. */
function isTime(policy: Policy, at: number): boolean {
  return at % 2 === 1 && policy.rules[(at - 1) / 2]?.algorithm === 'token-bucket'
}

/** An amount in whole parts. */
function share(amount: number, shards: number, i: number): number {
  const part = Math.trunc(amount / shards)
  return i === 0 ? amount - part * (shards - 1) : part
}

/** Sub-counters in the order of what is left in them, most first, without the one already tried. */
function orderByRoom(shards: readonly Shard[], states: ReadonlyMap<number, CounterResult>, tried: number): number[] {
  const room = (i: number): number => {
    const [shard, state] = [shards[i], states.get(i)]
    if (!shard || !state?.allowed) return 0
    return Math.min(
      ...shard.policy.rules.map((rule, r) =>
        remaining(rule, state.counters[2 * r] ?? 0, state.counters[2 * r + 1] ?? 0, state.now),
      ),
    )
  }
  return [...shards.keys()].filter((i) => i !== tried && room(i) > 0).sort((a, b) => room(b) - room(a))
}

/**
 * The sum of the sub-counters. Where only some were asked, they stand for all: what remains is then an estimate. A
 * rejected request waits for the first sub-counter that will admit it.
 */
function sumShards(
  policy: Policy,
  shards: readonly Shard[],
  states: ReadonlyMap<number, CounterResult>,
  cost: number,
): CounterResult {
  const answers = [...states.values()]
  const allowed = answers.some((answer) => answer.allowed)
  const scale = allowed ? policy.shards / answers.length : 1
  const counters = policy.rules.flatMap((rule, r) => {
    const sum = (at: number): number => answers.reduce((total, answer) => total + (answer.counters[at] ?? 0), 0)
    const newest = Math.max(...answers.map((answer) => answer.counters[2 * r + 1] ?? 0))
    return [
      Math.round(sum(2 * r) * scale),
      rule.algorithm === 'token-bucket' ? newest : Math.round(sum(2 * r + 1) * scale),
    ]
  })
  const last = answers.at(-1)
  const violated = allowed ? 0 : answers.reduce((bits, answer) => bits | answer.violated, 0)
  const result = { allowed, violated, counters, now: last?.now ?? 0 }
  return allowed ? result : { ...result, waitMs: soonestMs(shards, states, cost) }
}

/** Milliseconds until the first sub-counter admits a lone request of `cost`. */
function soonestMs(shards: readonly Shard[], states: ReadonlyMap<number, CounterResult>, cost: number): number {
  return Math.min(...[...states].map(([i, state]) => waitAt(shards[i], state, cost)))
}

function waitAt(shard: Shard | undefined, { counters, now }: CounterResult, cost: number): number {
  const waits = (shard?.policy.rules ?? []).map((rule, r) =>
    rule.shadow ? 0 : waitMs(rule, counters[2 * r] ?? 0, counters[2 * r + 1] ?? 0, cost, now),
  )
  return Math.max(...waits)
}
