import type { Clock } from '@gatehouse/kit'
import type { Identifier } from '@gatehouse/limiter'

const maxBlocks = 10_000
/** After this long the counters are asked whether attempts are rejected still: somebody may have reset them elsewhere. */
const readEveryMs = 5_000

interface Block {
  readonly seconds: number
  readonly until: number
  readonly readAt: number
}

/** Attempts that are known to be rejected, in this process. Times are of the clock; the oldest of too many are forgotten. */
export class AttemptBlocks {
  readonly #clock: Clock
  readonly #blocks = new Map<string, Block>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Remembers for how many seconds attempts are rejected; with 0 seconds they are not. */
  set(policy: string, identifier: Identifier, seconds: number): void {
    const key = keyOf(policy, identifier)
    this.#blocks.delete(key)
    if (seconds === 0) return
    const now = this.#clock.now()
    this.#blocks.set(key, { seconds, until: now + seconds * 1_000, readAt: now })
    const [oldest] = this.#blocks.keys()
    if (this.#blocks.size > maxBlocks && oldest !== undefined) this.#blocks.delete(oldest)
  }

  /** Forgets a rejection, because what was counted was reset. */
  delete(policy: string, identifier: Identifier): void {
    this.#blocks.delete(keyOf(policy, identifier))
  }

  /** Whole seconds for which attempts are rejected; 0 for none. */
  secondsOf(policy: string, identifier: Identifier): number {
    const { seconds = 0, until = 0 } = this.#blocks.get(keyOf(policy, identifier)) ?? {}
    return Math.min(seconds, Math.max(0, Math.ceil((until - this.#clock.now()) / 1_000)))
  }

  /** Whether the counters are to be asked again. Whoever is told so asks them; for others the rejection lasts meanwhile. */
  takeReading(policy: string, identifier: Identifier): boolean {
    const key = keyOf(policy, identifier)
    const block = this.#blocks.get(key)
    const now = this.#clock.now()
    if (block === undefined) return false
    const age = now - block.readAt
    // A negative one: the clock was set back.
    if (age >= 0 && age < readEveryMs) return false
    this.#blocks.set(key, { ...block, readAt: now })
    return true
  }
}

const keyOf = (policy: string, { kind, id }: Identifier): string => `${policy} ${kind} ${id}`
