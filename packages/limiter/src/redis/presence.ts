import { randomUUID } from 'node:crypto'
import type { RedisClient } from './client.ts'
import { loadScript, runScript } from './script.ts'

export interface PresenceOptions {
  /** The set in which the processes note that they live. Default `rl:instances`. */
  readonly key?: string
  /** How often this process notes it, in milliseconds; one that is silent three times as long counts no more. Default 2000. */
  readonly everyMs?: number
  /** Told when the server has forgotten this process, and so everything: for `store.suspectLoss`. */
  readonly onLoss?: () => void
}

/** The processes that share a store, as it knows them. */
export interface Presence {
  /** How many live at this moment, this one included; undefined before the first answer. */
  readonly instances: number | undefined
  /** Notes that this process lives. Never rejects: what was known last stands while the store is away. */
  beat(): Promise<void>
  /** Leaves, and stops noting. */
  close(): Promise<void>
}

const script = loadScript('presence.lua')
/** A process counts as long as it has been silent for no more than so many beats. */
const beatsOfLife = 3

/** Notes this process in Redis every two seconds, and counts those that do alike. */
export function redisPresence(client: RedisClient, options: PresenceOptions = {}): Presence {
  return new Heartbeat(client, options)
}

class Heartbeat implements Presence {
  readonly #client: RedisClient
  readonly #key: string
  readonly #lifeMs: number
  readonly #onLoss: () => void
  readonly #id = randomUUID()
  readonly #timer: NodeJS.Timeout
  #instances: number | undefined
  /** When the server last noted this process, by `performance.now()`. */
  #notedAt = Number.NEGATIVE_INFINITY
  #beatingSince = Number.NEGATIVE_INFINITY

  constructor(client: RedisClient, { key = 'rl:instances', everyMs = 2_000, onLoss = () => {} }: PresenceOptions) {
    this.#client = client
    this.#key = key
    this.#lifeMs = everyMs * beatsOfLife
    this.#onLoss = onLoss
    this.#timer = setInterval(() => void this.#beatInTurn(), everyMs).unref()
  }

  get instances(): number | undefined {
    return this.#instances
  }

  async beat(): Promise<void> {
    const sentAt = performance.now()
    try {
      const [instances, known] = await this.#report(this.#lifeMs)
      const lost = known === 0 && sentAt - this.#notedAt < this.#lifeMs
      this.#instances = Math.max(1, instances)
      this.#notedAt = sentAt
      if (lost) this.#onLoss()
    } catch {
      // The limiter finds out by itself that the store is away.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#report(0).catch(() => {})
  }

  /** One beat at a time, unless the last was never answered. */
  async #beatInTurn(): Promise<void> {
    const now = performance.now()
    if (now - this.#beatingSince < this.#lifeMs) return
    this.#beatingSince = now
    await this.beat()
    this.#beatingSince = Number.NEGATIVE_INFINITY
  }

  async #report(lifeMs: number): Promise<[instances: number, known: number]> {
    const answer = await runScript(this.#client, script, [this.#key], [this.#id, String(lifeMs)], () => {})
    if (!Array.isArray(answer)) throw new TypeError('the counter store answered a script with no array')
    return [Number(answer[0]), Number(answer[1])]
  }
}
