import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'

/** Identifiers watched at a time; the rarest makes room for a new one. */
const maxWatched = 64
/** Samples of a hot identifier in a second, about. */
const samplesPerSecond = 32
const maxMeanGap = 16

/** An identifier under a policy, and how often it was sampled. */
export interface WatchedKey {
  readonly policy: Policy
  readonly identifier: Identifier
  samples: number
}

/** Finds the identifiers that are checked most often, by sampling checks at random intervals. */
export class HotKeyCounter {
  readonly #meanGap: number
  readonly #watched = new Map<string, WatchedKey>()
  #left = 1

  constructor(hotPerSecond: number) {
    this.#meanGap = Math.max(1, Math.min(maxMeanGap, Math.floor(hotPerSecond / samplesPerSecond)))
  }

  get isEmpty(): boolean {
    return this.#watched.size === 0
  }

  /** Samples a check, or skips it. */
  sample(policy: Policy, identifier: Identifier): void {
    if (--this.#left > 0) return
    // Regular gaps would sample one of many identifiers that are checked in turn, and no other.
    this.#left = this.#meanGap === 1 ? 1 : 1 + Math.floor(Math.random() * (2 * this.#meanGap - 1))
    const key = `${policy.name} ${identifier.kind} ${identifier.id}`
    const known = this.#watched.get(key)
    if (known?.policy === policy) {
      known.samples++
      return
    }
    if (this.#watched.size >= maxWatched) this.#watched.delete(this.#findRarest())
    this.#watched.set(key, { policy, identifier, samples: 1 })
  }

  /** Returns the identifiers checked about `times` times or more since the last call, and starts again. */
  collectHot(times: number): WatchedKey[] {
    const hot = [...this.#watched.values()].filter(({ samples }) => samples * this.#meanGap >= times)
    this.#watched.clear()
    return hot
  }

  #findRarest(): string {
    let rarest = ''
    let min = Number.POSITIVE_INFINITY
    for (const [key, { samples }] of this.#watched) {
      if (samples >= min) continue
      min = samples
      rarest = key
    }
    return rarest
  }
}
