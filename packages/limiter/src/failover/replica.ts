import { windowIndex } from '../algorithms/window.ts'
import { countedIdentifier } from '../combination/combine.ts'
import { resultOfShare } from '../combination/results.ts'
import { closedShares, isMixed, subjectShares } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import { type MemoryReplica, type MemoryStoreOptions, memoryReplica } from '../memory/store.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'

/**
 * What this process remembers of the shared counters. Every result is copied here, so that the local fallback continues
 * from the last known counts, and so that counts that the store has lost can be restored.
 */
export class Replica {
  readonly memory: MemoryReplica
  readonly #combines: boolean
  #storeGeneration: number | undefined

  /** @param combines whether the store acquires all of a combination in one step */
  constructor(options: MemoryStoreOptions, combines: boolean) {
    this.#combines = combines
    this.memory = memoryReplica(options)
  }

  /** From now on the next result of each identifier is compared with what is remembered. */
  suspectLoss(): void {
    this.memory.sourceGeneration++
  }

  /** Suspects a loss when the store has changed its generation. */
  trackGeneration(storeGeneration: number | undefined): void {
    if (storeGeneration === this.#storeGeneration) return
    if (this.#storeGeneration !== undefined) this.suspectLoss()
    this.#storeGeneration = storeGeneration
  }

  /**
   * Whether counters were adjusted by an operator, and not lost: the store was to raise them to those of `own` and left
   * them lower.
   */
  isAdjusted(policy: Policy, own: CounterResult, raised: CounterResult): boolean {
    return policy.rules.some(({ algorithm, windowMs }, i) => {
      const [a = 0, b = 0] = own.counters.slice(2 * i)
      const [raisedA = 0, raisedB = 0] = raised.counters.slice(2 * i)
      if (algorithm === 'token-bucket') return raisedA > a + 1e-6
      // The store may have raised them when the next window had begun.
      const windowsLater = windowIndex(raised.now, windowMs) - windowIndex(own.now, windowMs)
      if (windowsLater === 0) return raisedA < a || raisedB < b
      return windowsLater === 1 && algorithm === 'sliding-window' && raisedA < b
    })
  }

  /**
   * Copies the result of a check of `cost`. Returns false, and copies nothing, when the store has lost counts. Results of
   * policies that fail closed are compared every time: a store that evicts keys does not report it.
   */
  applyResult(policy: Policy, identifier: Identifier, result: CounterResult, cost: number): boolean {
    return this.#apply(policy, identifier, result, result.allowed ? cost : 0)
  }

  #apply(policy: Policy, identifier: Identifier, result: CounterResult, acquired: number): boolean {
    if (isMixed(policy)) return this.#applyShares(policy, identifier, result, acquired)
    for (const share of closedShares(policy))
      if (!this.memory.isCoveredBy(share.policy, identifier, resultOfShare(share, result), acquired)) return false
    return this.memory.copy(policy, identifier, result, acquired)
  }

  #applyShares(policy: Policy, identifier: Identifier, result: CounterResult, acquired: number): boolean {
    return subjectShares(policy).every((share, i, shares) => {
      const subject = countedIdentifier(share.policy, identifier)
      const own = resultOfShare(share, result)
      if (this.#combines || i === shares.length - 1) return this.#apply(share.policy, subject, own, acquired)
      // Units of other requests that were released since may have been in it: a lower count is no sign of a loss.
      const copy = () => this.memory.copy(share.policy, subject, own, acquired)
      return copy() || copy()
    })
  }

  /** Copies counters after an operator's adjustment. */
  copy(policy: Policy, identifier: Identifier, result: CounterResult): void {
    this.memory.copy(policy, identifier, result, 0)
  }
}
