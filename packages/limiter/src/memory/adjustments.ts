import type { Identifier } from '../key.ts'
import { type Policy, retentionMs } from '../policy.ts'

const maxAdjustments = 10_000

/** Identifiers whose counters an operator granted or reset lately, so that nobody raises them again. Bounded. */
export class Adjustments {
  readonly #until = new Map<string, number>()

  record(policy: Policy, { kind, id }: Identifier, now: number): void {
    const name = `${kind}:${id}`
    this.#until.delete(name)
    this.#until.set(name, now + retentionMs(policy))
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= maxAdjustments) break
      this.#until.delete(oldest)
    }
  }

  has({ kind, id }: Identifier, now: number): boolean {
    const name = `${kind}:${id}`
    const until = this.#until.get(name)
    if (until !== undefined && until <= now) this.#until.delete(name)
    return until !== undefined && until > now
  }
}
