import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'

/** Identifiers watched at a time; the coolest makes room. */
const maxWatched = 64
/** A hot identifier is sampled about so often in a second. */
const samplesWanted = 32
const widestGap = 16

/** An identifier under a policy, and how often it was seen. */
export interface Watched {
  readonly policy: Policy
  readonly identifier: Identifier
  seen: number
}

/** Finds the identifiers that are asked for most, by looking at one check in some, chance having it which. */
export class HotKeyCounter {
  readonly #meanGap: number
  readonly #watched = new Map<string, Watched>()
  #left = 1

  constructor(hotPerSecond: number) {
    this.#meanGap = Math.max(1, Math.min(widestGap, Math.floor(hotPerSecond / samplesWanted)))
  }

  get isEmpty(): boolean {
    return this.#watched.size === 0
  }

  /** Looks at a check, or lets it pass. */
  sample(policy: Policy, identifier: Identifier): void {
    if (--this.#left > 0) return
    // Even gaps would see one of many identifiers that come in turn, and no other.
    this.#left = this.#meanGap === 1 ? 1 : 1 + Math.floor(Math.random() * (2 * this.#meanGap - 1))
    const key = `${policy.name} ${identifier.kind} ${identifier.id}`
    const known = this.#watched.get(key)
    if (known?.policy === policy) {
      known.seen++
      return
    }
    if (this.#watched.size >= maxWatched) this.#watched.delete(this.#findRarest())
    this.#watched.set(key, { policy, identifier, seen: 1 })
  }

  /** Those seen about `times` often or more since the last call; watching begins anew. */
  takeHot(times: number): Watched[] {
    const hot = [...this.#watched.values()].filter(({ seen }) => seen * this.#meanGap >= times)
    this.#watched.clear()
    return hot
  }

  #findRarest(): string {
    let coolest = ''
    let least = Number.POSITIVE_INFINITY
    for (const [key, { seen }] of this.#watched) {
      if (seen >= least) continue
      least = seen
      coolest = key
    }
    return coolest
  }
}
