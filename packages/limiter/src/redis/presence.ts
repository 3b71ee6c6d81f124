import { randomUUID } from 'node:crypto'
import type { RedisClient } from './client.ts'
import { Script } from './script.ts'

/** Options of {@link redisPresence}. */
export interface PresenceOptions {
  /** Key of the set of processes. Default `rl:instances`. */
  readonly key?: string
  /** Interval of heartbeats in milliseconds; a process that is silent three times as long is removed. Default 2000. */
  readonly everyMs?: number
  /** Called when the server has lost this process, and so its data: pass `suspectLoss` of the store. */
  readonly onLoss?: () => void
}

/** The processes that share a store. */
export interface Presence {
  /** Number of processes that are alive, this one included; undefined before the first response. */
  readonly instances: number | undefined
  /** Sends a heartbeat. Never rejects: the last number stays while the store is unavailable. */
  beat(): Promise<void>
  /** Removes this process and stops the heartbeats. */
  close(): Promise<void>
}

const script = new Script('presence.lua')
/** A process is removed when it has been silent for so many heartbeats. */
const beatsPerLifetime = 3

/**
 * Sends a heartbeat of this process to Redis every two seconds, and counts the processes that do the same.
 *
 * @example
 * const counters = redisStore(client)
 * const presence = redisPresence(client, { onLoss: () => counters.suspectLoss() })
 * const hybrid = hybridStore(counters, { instances: () => presence.instances ?? 20 })
 */
export function redisPresence(client: RedisClient, options: PresenceOptions = {}): Presence {
  return new Heartbeat(client, options)
}

class Heartbeat implements Presence {
  readonly #client: RedisClient
  readonly #key: string
  readonly #lifetimeMs: number
  readonly #onLoss: () => void
  readonly #id = randomUUID()
  readonly #timer: NodeJS.Timeout
  #instances: number | undefined
  /** When the server last recorded this process, by `performance.now()`. */
  #recordedAt = Number.NEGATIVE_INFINITY
  #beatingSince = Number.NEGATIVE_INFINITY

  constructor(client: RedisClient, { key = 'rl:instances', everyMs = 2_000, onLoss = () => {} }: PresenceOptions) {
    this.#client = client
    this.#key = key
    this.#lifetimeMs = everyMs * beatsPerLifetime
    this.#onLoss = onLoss
    this.#timer = setInterval(() => void this.#beatInTurn(), everyMs).unref()
  }

  get instances(): number | undefined {
    return this.#instances
  }

  async beat(): Promise<void> {
    const sentAt = performance.now()
    try {
      const [instances, known] = await this.#report(this.#lifetimeMs)
      const isLost = known === 0 && sentAt - this.#recordedAt < this.#lifetimeMs
      this.#instances = Math.max(1, instances)
      this.#recordedAt = sentAt
      if (isLost) this.#onLoss()
    } catch {
      // The limiter finds out by itself that the store is unavailable.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#report(0).catch(() => {})
  }

  /** One heartbeat at a time, unless the last one was never answered. */
  async #beatInTurn(): Promise<void> {
    const now = performance.now()
    if (now - this.#beatingSince < this.#lifetimeMs) return
    this.#beatingSince = now
    await this.beat()
    this.#beatingSince = Number.NEGATIVE_INFINITY
  }

  async #report(lifetimeMs: number): Promise<[instances: number, known: number]> {
    const reply = await script.run(this.#client, [this.#key], [this.#id, String(lifetimeMs)], () => {})
    if (!Array.isArray(reply)) throw new TypeError('the reply of the counter store must be an array')
    return [Number(reply[0]), Number(reply[1])]
  }
}
