import { checkKind, encodeId, type Identifier, type KeyTag } from '../key.ts'
import { type Policy, retentionMs } from '../policy.ts'
import type { Completion, CounterResult, CounterStore } from '../store.ts'
import { Batch, type Call } from './batch.ts'
import type { RedisClient } from './client.ts'
import { Groups } from './groups.ts'
import { KeyTags } from './key-tags.ts'
import { adjustmentKey, keysAt } from './request.ts'
import { loadScript, runScript } from './script.ts'
import { ServerClock } from './server-clock.ts'

export type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts'
export { type Presence, type PresenceOptions, redisPresence } from './presence.ts'

export interface RedisStoreOptions {
  /**
   * `braces` for Redis Cluster: a hash tag behind the id (`rl:user:42{7}:29`) puts each identifier into one of a few groups,
   * all of whose counters lie in one slot, so that the checks of a group travel together. Default `none`: keys as
   * specified.
   */
  readonly keyTag?: KeyTag
  /**
   * How many groups there are with `braces`: about four or five for each primary, and best a multiple of their number.
   * Fewer make larger batches, more divide the load more finely. Another number forgets what was counted. Default 12.
   */
  readonly tags?: number
  /**
   * By whose clock windows are counted: the server's, which all processes share (default), or the limiter's own, for
   * tests that move time.
   */
  readonly clock?: 'server' | 'limiter'
  /** Told when the server's clock has moved, and by how many milliseconds: nothing but checks that fail closed depends on it. */
  readonly onClockStep?: (milliseconds: number) => void
}

/** Counters that lie in Redis. */
export interface RedisStore extends CounterStore {
  /** Has every identifier's next answer compared with what its process remembers: for a server that was emptied. */
  suspectLoss(): void
}

const one = ['1']
const acquireScript = loadScript('plans.lua', 'counters.lua', 'acquire.lua')
const acquireWithinTimeScript = loadScript('time-span.lua', 'plans.lua', 'counters.lua', 'acquire.lua')
const addScript = loadScript('plans.lua', 'counters.lua', 'add.lua')
const raiseScript = loadScript('plans.lua', 'counters.lua', 'raise.lua')
const resetScript = loadScript('reset.lua')
const adjustmentScript = loadScript('record-adjustment.lua')

/**
 * Counters in Redis 6.2+ or Valkey. The client is yours: connected, without an offline queue and without resending what
 * was unanswered (README), or an outage would be replayed when it ends.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  return new RedisCounters(client, options)
}

/** Four for each of three primaries; divides evenly among two, four and six too. */
const defaultTags = 12

class RedisCounters implements RedisStore {
  /** Grows when the server may have lost counters. */
  generation = 0
  /** A script call reaches one slot: with tags, counters of different identifiers may lie in different ones. */
  readonly combines: boolean
  readonly #client: RedisClient
  readonly #tags: KeyTags | undefined
  readonly #clock = new ServerClock()
  readonly #countsByServer: boolean
  readonly #acquires: Batch
  readonly #timedAcquires: Batch
  readonly #adds: Batch
  readonly #raises: Batch
  readonly #flush: () => void
  #scheduled = false
  #lastKind = ''
  readonly #onForgotten = (): void => this.suspectLoss()
  /** What was spent elsewhere is told before anything is taken. */
  readonly #schedule = (): void => {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  constructor(client: RedisClient, options: RedisStoreOptions) {
    const { keyTag = 'none', tags = defaultTags, clock = 'server', onClockStep = () => {} } = options
    this.#client = client
    this.#tags = keyTag === 'braces' ? new KeyTags(tags) : undefined
    this.combines = this.#tags === undefined
    this.#countsByServer = clock === 'server'
    const listeners = { onForgotten: this.#onForgotten, onFirst: this.#schedule, onClockStep }
    const batch = { client, clock: this.#clock, ...listeners }
    this.#acquires = new Batch({ ...batch, script: acquireScript })
    this.#timedAcquires = new Batch({ ...batch, script: acquireWithinTimeScript })
    this.#adds = new Batch({ ...batch, script: addScript, isCommutative: true })
    this.#raises = new Batch({ ...batch, script: raiseScript, readsAdjustment: true })
    const batches = [this.#adds, this.#raises, this.#acquires, this.#timedAcquires]
    const groups = new Groups(batches, this.#schedule)
    this.#flush = this.#tags
      ? () => groups.flush()
      : () => {
          for (const one of batches) void one.send(one.collect())
        }
  }

  suspectLoss(): void {
    this.generation++
  }

  /** The time this store counts by. */
  time(now: number): number {
    return this.#countsByServer ? this.#clock.now(now) : now
  }

  acquire(
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): Promise<CounterResult> {
    return new Promise((answered, failed) =>
      this.startAcquire({ resolve: answered, reject: failed }, policy, identifier, cost, now, withinMs),
    )
  }

  startAcquire(
    waiter: Completion,
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): void {
    const batch = withinMs === undefined ? this.#acquires : this.#timedAcquires
    const rest = cost === 1 ? one : [String(cost)]
    const until = withinMs === undefined ? undefined : performance.now() + withinMs
    batch.call({ ...this.#address(policy, identifier), now: this.time(now), rest, completion: waiter, until })
  }

  peek(policy: Policy, identifier: Identifier, now: number): Promise<CounterResult> {
    return this.#call(this.#acquires, policy, identifier, this.time(now), ['0'])
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then = this.time(now),
  ): Promise<CounterResult> {
    return this.#call(this.#adds, policy, identifier, then, amounts.map(String))
  }

  startAdd(waiter: Completion, policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): void {
    const rest = amounts.map(String)
    this.#adds.call({ ...this.#address(policy, identifier), now: this.time(now), rest, completion: waiter })
  }

  /** The note stands before anything is given: what was noted in vain is only not healed. */
  async grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<CounterResult> {
    const { identifier: encoded, tag } = this.#address(policy, identifier)
    const note = adjustmentKey(encoded, tag)
    await runScript(
      this.#client,
      adjustmentScript,
      [note],
      adjustmentArguments(policy, this.time(now)),
      this.#onForgotten,
    )
    const back = policy.rules.map(() => -amount)
    return this.add(policy, identifier, back, now)
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Promise<CounterResult> {
    const time = this.time(now)
    return this.#call(this.#raises, policy, identifier, time, [...counters, time].map(String))
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    const { identifier: encoded, tag } = this.#address(policy, identifier)
    const keys = [...keysAt(policy, encoded, this.time(now), tag), adjustmentKey(encoded, tag)]
    await runScript(this.#client, resetScript, keys, adjustmentArguments(policy, this.time(now)), this.#onForgotten)
  }

  #call(
    batch: Batch,
    policy: Policy,
    identifier: Identifier,
    time: number,
    rest: readonly string[],
  ): Promise<CounterResult> {
    const addressed = this.#address(policy, identifier)
    return new Promise((answered, failed) =>
      batch.call({ ...addressed, now: time, rest, completion: { resolve: answered, reject: failed } }),
    )
  }

  /** Faults in the identifier are thrown at once, so that they don't spoil the calls that travel with it. */
  #address(policy: Policy, identifier: Identifier): Pick<Call, 'policy' | 'identifier' | 'tag'> {
    const { kind, id } = identifier
    if (kind !== this.#lastKind) checkKind(kind)
    this.#lastKind = kind
    const encoded = encodeId(id)
    const tag = this.#tags?.of(encoded) ?? ''
    return { policy, identifier: encoded === id ? identifier : { kind, id: encoded }, tag }
  }
}

/** Until when a note holds, by the time that is counted by, and how long it is kept. */
function adjustmentArguments(policy: Policy, now: number): string[] {
  const ms = retentionMs(policy)
  return [String(now + ms), String(ms)]
}
