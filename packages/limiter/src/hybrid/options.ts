import type { CounterStore } from '../store.ts'

/** Options of `hybridStore`. */
export interface HybridOptions {
  /**
   * Number of processes that share the limits, or a function that returns it (`redisPresence`). A number that is too high
   * costs speed, one that is too low accuracy.
   */
  readonly instances: number | (() => number)
  /** Interval of reconciliation in milliseconds. Default 100; 0 leaves it to calls of `reconcile`. */
  readonly intervalMs?: number
  /** Maximum number of identifiers of one kind counted here; others are counted exactly. Default 500,000. */
  readonly maxKeys?: number
  /**
   * Called when a call that sent counts has failed, with the number of its units, where it is not known whether the store
   * has counted them: counts of a current window are raised once the store responds and reports less, those of one that has
   * ended are not. Units that are known not to be counted are sent again.
   */
  readonly onUnconfirmed?: (units: number) => void
}

/** A store that counts advisory limits locally and reconciles them with the shared store about every 100 ms. */
export interface HybridStore extends CounterStore {
  /** Sends the shared store what was spent here; resolves when it has responded. */
  reconcile(): Promise<void>
  /** Sends what was spent here, for five seconds at most, and stops. */
  close(): Promise<void>
}
