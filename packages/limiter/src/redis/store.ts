import { checkKind, encodeId, type Identifier, type KeyTag } from '../key.ts'
import { type Policy, retentionMs } from '../policy.ts'
import type { AcquireRequest, AddRequest, Completion, CounterResult, CounterStore } from '../store.ts'
import { AgreedTags } from './agreed-tags.ts'
import { Batch } from './batch.ts'
import type { Call } from './calls.ts'
import type { RedisClient } from './client.ts'
import { Groups } from './groups.ts'
import { KeyTags } from './key-tags.ts'
import { adjustmentKey, keysAt, type ScriptCall } from './request.ts'
import { Script } from './script.ts'
import { ServerClock } from './server-clock.ts'

export type { IoredisClient, NodeRedisClient, RedisClient } from './client.ts'
export { type Presence, type PresenceOptions, redisPresence } from './presence.ts'

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /**
   * `braces` for Redis Cluster: a hash tag behind the id (`rl:user:42{7}:29`) assigns each identifier to one of a few
   * groups, whose counters lie in one slot, so that their checks travel together. Default `none`: keys as specified.
   */
  readonly keyTag?: KeyTag
  /**
   * Number of groups with `braces`, 1 to 1,024: four or five for each primary, and a multiple of their number. Fewer make
   * larger batches, more divide the load more evenly. Another number moves identifiers to other keys. Default: four for
   * each primary when the first process starts; all processes agree on it by a key in the cluster, `rl:tags`.
   */
  readonly tags?: number
  /**
   * The clock by which windows are counted: the server's, which all processes share (default), or the limiter's own, for
   * tests that move time.
   */
  readonly clock?: 'server' | 'limiter'
  /** Called when a step of the server's clock was noticed, with its size in milliseconds. It concerns checks that fail closed. */
  readonly onClockStep?: (milliseconds: number) => void
}

/** Counters in Redis. */
export interface RedisStore extends CounterStore {
  /** Compares the next result of each identifier with what its process remembers: call it when the server lost its data. */
  suspectLoss(): void
}

const one = ['1']
const acquireFiles = ['plans.lua', 'counters.lua', 'check-rules.lua', 'acquire.lua']
const acquireScript = new Script(...acquireFiles)
const timedAcquireScript = new Script('time-span.lua', ...acquireFiles)
const addScript = new Script('plans.lua', 'counters.lua', 'add.lua')
const raiseScript = new Script('plans.lua', 'counters.lua', 'raise.lua')
const resetScript = new Script('reset.lua')
const adjustScript = new Script('adjust.lua')

/**
 * Creates a store that keeps counters in Redis 6.2+ or Valkey. Pass a connected client without an offline queue that does
 * not resend unanswered commands (see the README), or the checks of an outage would be counted when it ends.
 *
 * @throws RangeError when `tags` is not an integer from 1 to 1,024
 * @example
 * const client = new Redis(url, {
 *   enableOfflineQueue: false,
 *   autoResendUnfulfilledCommands: false,
 *   maxRetriesPerRequest: 0,
 * })
 * const limiter = createLimiter({ store: redisStore(client) })
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  return new RedisCounters(client, options)
}

class RedisCounters implements RedisStore {
  /** Grows when the server may have lost counters. */
  generation = 0
  /** A script call reaches one slot: with tags, counters of different identifiers may lie in different slots. */
  readonly combines: boolean
  readonly #client: RedisClient
  #tags: KeyTags | undefined
  readonly #agreedTags: AgreedTags | undefined
  readonly #clock = new ServerClock()
  readonly #usesServerClock: boolean
  readonly #acquires: Batch
  readonly #timedAcquires: Batch
  readonly #adds: Batch
  readonly #raises: Batch
  readonly #flush: () => void
  #isScheduled = false
  #lastKind = ''
  readonly #onScriptLoss = (): void => this.suspectLoss()
  readonly #schedule = (): void => {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  constructor(client: RedisClient, options: RedisStoreOptions) {
    const { keyTag = 'none', tags, clock = 'server', onClockStep = () => {} } = options
    this.#client = client
    this.combines = keyTag === 'none'
    if (!this.combines && tags === undefined) this.#agreedTags = new AgreedTags(client, () => this.suspectLoss())
    else if (!this.combines) this.#tags = new KeyTags(tags ?? 0)
    this.#usesServerClock = clock === 'server'
    const listeners = { onScriptLoss: this.#onScriptLoss, onFirst: this.#schedule, onClockStep }
    const batch = { client, clock: this.#clock, ...listeners }
    this.#acquires = new Batch({ ...batch, script: acquireScript })
    this.#timedAcquires = new Batch({ ...batch, script: timedAcquireScript })
    this.#adds = new Batch({ ...batch, script: addScript, isCommutative: true, returnsText: true })
    this.#raises = new Batch({ ...batch, script: raiseScript, readsAdjustment: true })
    // Units that were spent locally are sent before any are acquired.
    const batches = [this.#adds, this.#raises, this.#acquires, this.#timedAcquires]
    const groups = new Groups(batches, this.#schedule)
    this.#flush = this.combines
      ? () => {
          for (const one of batches) void one.send(one.collect())
        }
      : () => groups.flush()
  }

  suspectLoss(): void {
    this.generation++
  }

  time(now: number): number {
    return this.#usesServerClock ? this.#clock.now(now) : now
  }

  acquire(request: AcquireRequest): Promise<CounterResult> {
    return new Promise((resolve, reject) => this.startAcquire(request, { resolve, reject }))
  }

  startAcquire({ policy, identifier, cost, now, withinMs }: AcquireRequest, completion: Completion): void {
    const batch = withinMs === undefined ? this.#acquires : this.#timedAcquires
    const rest = cost === 1 ? one : [String(cost)]
    const until = withinMs === undefined ? undefined : performance.now() + withinMs
    this.#send(batch, { policy, identifier, now: this.time(now), rest, until }, completion)
  }

  peek(policy: Policy, identifier: Identifier, now: number): Promise<CounterResult> {
    return this.#call(this.#acquires, { policy, identifier, now: this.time(now), rest: ['0'] })
  }

  add(request: AddRequest): Promise<CounterResult> {
    return new Promise((resolve, reject) => this.startAdd(request, { resolve, reject }))
  }

  startAdd({ policy, identifier, amounts, now, countedAt }: AddRequest, completion: Completion): void {
    const time = countedAt ?? this.time(now)
    this.#send(this.#adds, { policy, identifier, now: time, rest: amounts.map(String) }, completion)
  }

  /** Records the adjustment first: one that is recorded in vain only keeps counts from being restored. */
  async grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<CounterResult> {
    await this.#confirmTags()
    const { identifier: encoded, tag } = this.#addressOf(identifier)
    const key = adjustmentKey(encoded, tag)
    await adjustScript.run(this.#client, [key], adjustmentArguments(policy, this.time(now)), this.#onScriptLoss)
    return this.add({ policy, identifier, amounts: policy.rules.map(() => -amount), now })
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Promise<CounterResult> {
    return this.#call(this.#raises, { policy, identifier, now, rest: [...counters, now].map(String) })
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    await this.#confirmTags()
    const { identifier: encoded, tag } = this.#addressOf(identifier)
    const keys = [...keysAt(policy, encoded, this.time(now), tag), adjustmentKey(encoded, tag)]
    await resetScript.run(this.#client, keys, adjustmentArguments(policy, this.time(now)), this.#onScriptLoss)
  }

  #call(batch: Batch, call: ScriptCall): Promise<CounterResult> {
    return new Promise((resolve, reject) => this.#send(batch, call, { resolve, reject }))
  }

  /** Sends a call once the tags are known: at once, except before the first response and after a long idle time. */
  #send(batch: Batch, call: StoreCall, completion: Completion): void {
    const agreed = this.#agreedTags
    const current = agreed?.current
    if (current !== undefined) this.#tags = current
    if (agreed === undefined || current !== undefined) batch.call(this.#addressed(call, completion))
    else
      this.#confirmTags()
        .then(() => batch.call(this.#addressed(call, completion)))
        .catch((error) => completion.reject(error))
  }

  #addressed({ policy, identifier, now, rest, until }: StoreCall, completion: Completion): Call {
    const { identifier: encoded, tag } = this.#addressOf(identifier)
    return { policy, identifier: encoded, tag, now, rest, completion, until }
  }

  async #confirmTags(): Promise<void> {
    if (this.#agreedTags !== undefined) this.#tags = await this.#agreedTags.confirmed()
  }

  /** Throws for an invalid identifier at once, so that the calls that travel with it do not fail. */
  #addressOf(identifier: Identifier): Address {
    const { kind, id } = identifier
    if (kind !== this.#lastKind) checkKind(kind)
    this.#lastKind = kind
    const encoded = encodeId(id)
    const tag = this.#tags?.of(encoded) ?? ''
    return { identifier: encoded === id ? identifier : { kind, id: encoded }, tag }
  }
}

type Address = Pick<Call, 'identifier' | 'tag'>

/** A call before its identifier was encoded. */
type StoreCall = ScriptCall & Pick<Call, 'until'>

/** Until when an adjustment holds, by the clock that windows are counted by, and its expiry. */
function adjustmentArguments(policy: Policy, now: number): string[] {
  const ms = retentionMs(policy)
  return [String(now + ms), String(ms)]
}
