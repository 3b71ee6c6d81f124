import { countedIdentifier } from '../combination/combine.ts'
import { closedShares, isMixed, resultOfShare, subjectShares } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from '../memory/store.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'

/**
 * What this process remembers of the shared counters: every answer is copied here, so that the local fallback goes on
 * where the store fell silent, and so that counts the store has lost can be given back to it.
 */
export class Replica {
  readonly memory: MemoryStore
  readonly #combines: boolean
  #generation = 1
  #storeGeneration: number | undefined

  /** @param combines whether the store takes all of a combination in one step */
  constructor(options: MemoryStoreOptions, combines: boolean) {
    this.#combines = combines
    this.memory = memoryStore(options)
  }

  /** From now on each identifier's next answer is compared with what is remembered. */
  suspectLoss(): void {
    this.#generation++
  }

  /** Follows the store's own notion of having lost its memory. */
  trackGeneration(storeGeneration: number | undefined): void {
    if (storeGeneration === this.#storeGeneration) return
    if (this.#storeGeneration !== undefined) this.suspectLoss()
    this.#storeGeneration = storeGeneration
  }

  /** Whether a store that was asked to raise its counters to `own` left them lower: then they were given back, not lost. */
  isAdjusted(policy: Policy, own: CounterResult, raised: CounterResult): boolean {
    return policy.rules.some(({ algorithm }, i) => {
      const [a = 0, b = 0] = own.counters.slice(2 * i)
      const [raisedA = 0, raisedB = 0] = raised.counters.slice(2 * i)
      return algorithm === 'token-bucket' ? raisedA > a + 1e-6 : raisedA < a || raisedB < b
    })
  }

  /**
   * Copies an answer that took `cost`; false, and nothing copied, when the store was found to have lost counts. Answers
   * for policies that fail closed are compared each time: a store that evicts keys says nothing of it.
   */
  applyResult(policy: Policy, identifier: Identifier, result: CounterResult, cost: number): boolean {
    return this.#apply(policy, identifier, result, result.allowed ? cost : 0)
  }

  #apply(policy: Policy, identifier: Identifier, result: CounterResult, took: number): boolean {
    if (isMixed(policy))
      return subjectShares(policy).every((share, i, all) => {
        const [who, answer] = [countedIdentifier(share.policy, identifier), resultOfShare(share, result, policy)]
        if (this.#combines || i === all.length - 1) return this.#apply(share.policy, who, answer, took)
        // Others' units may have been in it that were given back since: less is no sign of a loss.
        const copied = () => this.memory.copy(share.policy, who, answer, took, this.#generation)
        return copied() || copied()
      })
    for (const share of closedShares(policy))
      if (!this.memory.covers(share.policy, identifier, resultOfShare(share, result, policy), took)) return false
    return this.memory.copy(policy, identifier, result, took, this.#generation)
  }

  /** Copies counters as an operator has left them. */
  copy(policy: Policy, identifier: Identifier, result: CounterResult): void {
    this.memory.copy(policy, identifier, result, 0, this.#generation)
  }
}
