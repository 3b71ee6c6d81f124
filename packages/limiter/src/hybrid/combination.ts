import { countedIdentifier, partsOf } from '../combination/combine.ts'
import { acquiredAmounts, joinResults, resultOfShare } from '../combination/results.ts'
import { divideIntoShares, type Share } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, CounterResult, CounterStore } from '../store.ts'
import { cell, type Ledger, tail } from './ledger.ts'
import type { CalledEntry } from './reconciler.ts'

/** One policy of a combination, counted in this process. */
export interface Reservation extends CalledEntry {
  /** The local result: reserved, or rejected; undefined where the store has to be called. */
  readonly result: CounterResult | undefined
  /** {@link Ledger.indexesOf} the slot when the units were reserved. */
  readonly indexes: readonly number[]
  /** Time of the store's last result, as in the ledger. */
  readonly syncedAt: number | undefined
}

/** What the hybrid store does for a combination. */
export interface LocalCounters {
  /** Reserves `cost` for a policy that is counted here; undefined for one that is not. */
  reserve(policy: Policy, identifier: Identifier, cost: number, now: number): Reservation | undefined
  markDirty(ledger: Ledger, slot: number): void
  /** Sends pending counts before the store is called for the same identifier. */
  sendPending(reservation: Reservation): void
  /** Applies a result of the store, which has counted `amounts`. */
  receive(reservation: Reservation, result: CounterResult, amounts: readonly number[]): void
}

/** The policies of a combination, by what is known of them here. */
interface LocalState {
  readonly shares: readonly Share[]
  /** Local results of the shares; undefined where the store has to be called. */
  readonly results: readonly (CounterResult | undefined)[]
  readonly reservations: ReadonlyMap<Policy, Reservation>
}

/**
 * Acquires combinations of policies, all or nothing. Policies counted in this process are reserved here. All others are
 * acquired from the store in one step, whose result decides whether the reserved units are spent or released.
 */
export class Combination {
  readonly #shared: CounterStore
  readonly #local: LocalCounters

  constructor(shared: CounterStore, local: LocalCounters) {
    this.#shared = shared
    this.#local = local
  }

  acquire(request: AcquireRequest): CounterResult | Promise<CounterResult> {
    const { policy, identifier, cost } = request
    const state = this.#reserve(request)
    const { shares, results, reservations } = state
    const isRejected = results.some((result) => result?.allowed === false)
    const remote = shares.find((_, i) => results[i] === undefined)
    if (isRejected || remote === undefined) return this.#settleLocally(request, state, isRejected)

    for (const part of partsOf(remote.policy)) {
      const reservation = reservations.get(part)
      if (reservation !== undefined) this.#local.sendPending(reservation)
    }
    const complete = (result: CounterResult): CounterResult => {
      this.#receive(remote, reservations, result, cost)
      this.#settle(reservations, result.allowed, cost)
      const all = results.map((local) => local ?? result)
      return joinResults(policy, shares, all, cost)
    }
    const result = this.#shared.acquire({
      ...request,
      policy: remote.policy,
      identifier: countedIdentifier(remote.policy, identifier),
    })
    if (!(result instanceof Promise)) return complete(result)
    return result.then(complete, (error: unknown) => {
      this.#settle(reservations, false, cost)
      throw error
    })
  }

  #reserve({ policy, identifier, cost, now }: AcquireRequest): LocalState {
    const reservations = new Map<Policy, Reservation>()
    for (const part of partsOf(policy)) {
      const reservation = this.#local.reserve(part, countedIdentifier(part, identifier), cost, now)
      if (reservation !== undefined) reservations.set(part, reservation)
    }
    const shares = divideIntoShares(policy, (part) => (reservations.get(part)?.result === undefined ? undefined : part))
    return { shares, results: shares.map((share) => reservations.get(share.policy)?.result), reservations }
  }

  /** Decides without the store, which is only read for its part in a rejection. */
  #settleLocally(
    { policy, identifier, cost, now }: AcquireRequest,
    { shares, results, reservations }: LocalState,
    isRejected: boolean,
  ): CounterResult | Promise<CounterResult> {
    this.#settle(reservations, !isRejected, cost)
    const all = shares.map(
      ({ policy: part }, i): CounterResult | Promise<CounterResult> =>
        results[i] ?? this.#shared.peek(part, countedIdentifier(part, identifier), now, cost),
    )
    if (all.some((result) => result instanceof Promise))
      return Promise.all(all).then((settled) => joinResults(policy, shares, settled, cost))
    return joinResults(policy, shares, all as CounterResult[], cost)
  }

  /** Applies the store's result to those of its policies that are counted here too. */
  #receive(remote: Share, reservations: ReadonlyMap<Policy, Reservation>, result: CounterResult, cost: number): void {
    let at = 0
    for (const part of partsOf(remote.policy)) {
      const places = part.rules.map((_, i) => at + i)
      at += part.rules.length
      const reservation = reservations.get(part)
      if (reservation === undefined) continue
      const own = resultOfShare({ policy: part, places }, result)
      const amounts = result.allowed ? acquiredAmounts(part, own, cost) : []
      this.#local.receive(reservation, own, amounts)
    }
  }

  /** Spends what was reserved, or releases it. */
  #settle(reservations: ReadonlyMap<Policy, Reservation>, isSpent: boolean, cost: number): void {
    for (const reservation of reservations.values()) {
      const { plan, slot, identifier, result } = reservation
      if (!result?.allowed) continue
      const { ledger, policy } = plan
      const late = policy.rules.map((_, i) => settleRule(reservation, result, i, isSpent ? cost : -cost))
      if (isSpent && ledger.idOf(slot) === identifier.id) this.#local.markDirty(ledger, slot)
      if (late.some((amount) => amount > 0)) {
        const { now } = result
        Promise.resolve(this.#shared.add({ policy, identifier, amounts: late, now, countedAt: now })).catch(() => {})
      }
    }
  }
}

/**
 * Settles the reserved units of rule i: spends `amount`, or releases as many when it is below zero. Returns the units that
 * the store has to be sent apart, since their window has ended or their slot was freed for another id.
 */
function settleRule(
  { plan, slot, identifier, indexes, syncedAt }: Reservation,
  { violated }: CounterResult,
  i: number,
  amount: number,
): number {
  if ((violated & (1 << i)) !== 0) return 0
  const { ledger } = plan
  const { cells } = ledger
  const at = ledger.at(slot, i)
  const isHere = ledger.idOf(slot) === identifier.id
  if (!isHere || cells[at + cell.index] !== indexes[i]) return Math.max(0, amount)
  cells[at + cell.reserved] = (cells[at + cell.reserved] ?? 0) - Math.abs(amount)
  if (amount > 0) {
    cells[at + cell.pending] = (cells[at + cell.pending] ?? 0) + amount
    return 0
  }
  cells[at + cell.cur] = (cells[at + cell.cur] ?? 0) + amount
  // A later result of the store has set the allowance by what is left.
  const isCurrent = cells[ledger.tail(slot) + tail.syncedAt] === syncedAt
  if (isCurrent) cells[at + cell.allowance] = (cells[at + cell.allowance] ?? 0) - amount
  return 0
}
