import type { RedisClient } from './client.ts'
import { KeyTags } from './key-tags.ts'
import { Script } from './script.ts'

const script = new Script('tags.lua')
const key = 'rl:tags'
/** Fewer make larger batches, more divide the load more evenly. */
const tagsPerPrimary = 4
/** Where the server does not report its primaries. */
const defaultTags = 12
const confirmEveryMs = 2_000
/** A process that has counted nothing for so long confirms the number before it counts again. */
const maxAgeMs = 6_000
const maxWaitMs = 500

/**
 * The hash tags of a cluster whose number of groups all processes agree on: the first one computes it from the number of
 * primaries and stores it under `rl:tags` in the cluster itself, and each confirms it every two seconds. It stays when
 * primaries are added. When an operator deletes the key, it is computed again, and all processes follow within two seconds.
 */
export class AgreedTags {
  readonly #client: RedisClient
  readonly #onChange: () => void
  #tags: KeyTags | undefined
  #count = 0
  #confirmedAt = Number.NEGATIVE_INFINITY
  #confirming: Promise<void> | undefined

  /** @param onChange called when the number has changed, so that identifiers have moved to other keys */
  constructor(client: RedisClient, onChange: () => void) {
    this.#client = client
    this.#onChange = onChange
  }

  /** The tags, where they were confirmed lately; else `confirmed` has to be awaited. */
  get current(): KeyTags | undefined {
    const age = performance.now() - this.#confirmedAt
    if (age > confirmEveryMs) void this.confirmed().catch(() => {})
    return age > maxAgeMs ? undefined : this.#tags
  }

  /** Resolves to the tags once they are confirmed; to the known ones when the server cannot be asked. */
  async confirmed(): Promise<KeyTags> {
    this.#confirming ??= this.#confirm().finally(() => {
      this.#confirming = undefined
    })
    try {
      await this.#confirming
    } catch (error) {
      if (this.#tags === undefined) throw error
    }
    if (this.#tags === undefined) throw new Error('the number of groups of the cluster is unknown')
    // An unreachable server must not stop the groups of the others.
    this.#confirmedAt = performance.now()
    return this.#tags
  }

  async #confirm(): Promise<void> {
    const reply = script.run(this.#client, [key], [String(tagsPerPrimary), String(defaultTags)], () => {})
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no response within ${maxWaitMs} ms`)), maxWaitMs)
    })
    const count = Number(await Promise.race([reply, timeout]).finally(() => clearTimeout(timer)))
    if (count === this.#count) return
    const isFirst = this.#tags === undefined
    this.#tags = new KeyTags(count)
    this.#count = count
    if (!isFirst) this.#onChange()
  }
}
