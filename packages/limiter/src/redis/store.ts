import { checkKind, encodeId, type Identifier, type KeyTag } from '../key.ts'
import { keptMs, type Policy } from '../policy.ts'
import type { CounterStore, Taken, Waiter } from '../store.ts'
import { Batch, type Call } from './batch.ts'
import type { RedisClient } from './client.ts'
import { Groups } from './groups.ts'
import { KeyTags } from './key-tags.ts'
import { keysAt, noteKey } from './request.ts'
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
  readonly onClockMoved?: (milliseconds: number) => void
}

/** Counters that lie in Redis. */
export interface RedisStore extends CounterStore {
  /** Has every identifier's next answer compared with what its process remembers: for a server that was emptied. */
  suspectLoss(): void
}

const one = ['1']
const takeScript = loadScript('plans.lua', 'counters.lua', 'acquire.lua')
const takeInTimeScript = loadScript('time-span.lua', 'plans.lua', 'counters.lua', 'acquire.lua')
const addScript = loadScript('plans.lua', 'counters.lua', 'add.lua')
const raiseScript = loadScript('plans.lua', 'counters.lua', 'raise.lua')
const resetScript = loadScript('reset.lua')
const noteScript = loadScript('record-adjustment.lua')

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
  readonly #takes: Batch
  readonly #takesInTime: Batch
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
    const { keyTag = 'none', tags = defaultTags, clock = 'server', onClockMoved = () => {} } = options
    this.#client = client
    this.#tags = keyTag === 'braces' ? new KeyTags(tags) : undefined
    this.combines = this.#tags === undefined
    this.#countsByServer = clock === 'server'
    const listeners = { onForgotten: this.#onForgotten, onFirst: this.#schedule, onClockMoved }
    const batch = { client, clock: this.#clock, ...listeners }
    this.#takes = new Batch({ ...batch, script: takeScript })
    this.#takesInTime = new Batch({ ...batch, script: takeInTimeScript })
    this.#adds = new Batch({ ...batch, script: addScript, commutes: true })
    this.#raises = new Batch({ ...batch, script: raiseScript, noted: true })
    const batches = [this.#adds, this.#raises, this.#takes, this.#takesInTime]
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

  take(policy: Policy, identifier: Identifier, cost: number, now: number, withinMs?: number): Promise<Taken> {
    return new Promise((answered, failed) =>
      this.takeFor({ answered, failed }, policy, identifier, cost, now, withinMs),
    )
  }

  takeFor(waiter: Waiter, policy: Policy, identifier: Identifier, cost: number, now: number, withinMs?: number): void {
    const batch = withinMs === undefined ? this.#takes : this.#takesInTime
    const rest = cost === 1 ? one : [String(cost)]
    const until = withinMs === undefined ? undefined : performance.now() + withinMs
    batch.call({ ...this.#addressed(policy, identifier), now: this.time(now), rest, waiter, until })
  }

  peek(policy: Policy, identifier: Identifier, now: number): Promise<Taken> {
    return this.#call(this.#takes, policy, identifier, this.time(now), ['0'])
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then = this.time(now),
  ): Promise<Taken> {
    return this.#call(this.#adds, policy, identifier, then, amounts.map(String))
  }

  addFor(waiter: Waiter, policy: Policy, identifier: Identifier, amounts: readonly number[], now: number): void {
    const rest = amounts.map(String)
    this.#adds.call({ ...this.#addressed(policy, identifier), now: this.time(now), rest, waiter })
  }

  /** The note stands before anything is given: what was noted in vain is only not healed. */
  async give(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<Taken> {
    const { identifier: encoded, tag } = this.#addressed(policy, identifier)
    const note = noteKey(encoded, tag)
    await runScript(this.#client, noteScript, [note], noteUntil(policy, this.time(now)), this.#onForgotten)
    const back = policy.rules.map(() => -amount)
    return this.add(policy, identifier, back, now)
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Promise<Taken> {
    const time = this.time(now)
    return this.#call(this.#raises, policy, identifier, time, [...counters, time].map(String))
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    const { identifier: encoded, tag } = this.#addressed(policy, identifier)
    const keys = [...keysAt(policy, encoded, this.time(now), tag), noteKey(encoded, tag)]
    await runScript(this.#client, resetScript, keys, noteUntil(policy, this.time(now)), this.#onForgotten)
  }

  #call(batch: Batch, policy: Policy, identifier: Identifier, time: number, rest: readonly string[]): Promise<Taken> {
    const addressed = this.#addressed(policy, identifier)
    return new Promise((answered, failed) =>
      batch.call({ ...addressed, now: time, rest, waiter: { answered, failed } }),
    )
  }

  /** Faults in the identifier are thrown at once, so that they don't spoil the calls that travel with it. */
  #addressed(policy: Policy, identifier: Identifier): Pick<Call, 'policy' | 'identifier' | 'tag'> {
    const { kind, id } = identifier
    if (kind !== this.#lastKind) checkKind(kind)
    this.#lastKind = kind
    const encoded = encodeId(id)
    const tag = this.#tags?.of(encoded) ?? ''
    return { policy, identifier: encoded === id ? identifier : { kind, id: encoded }, tag }
  }
}

/** Until when a note holds, by the time that is counted by, and how long it is kept. */
function noteUntil(policy: Policy, now: number): string[] {
  const ms = keptMs(policy)
  return [String(now + ms), String(ms)]
}
