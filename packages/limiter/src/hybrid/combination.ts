import { windowIndex } from '../algorithms/window.ts'
import { countedIdentifier, partsOf } from '../combination/combine.ts'
import { divideIntoShares, joinResults, type Request, resultOfShare, type Share } from '../combination/shares.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'
import { cell, type Ledger, tail } from './ledger.ts'
import type { Plan } from './plan.ts'

/** One policy of a combination, counted in this process. */
export interface Reservation {
  readonly plan: Plan
  readonly ledger: Ledger
  readonly slot: number
  readonly identifier: Identifier
  /** What is known here: reserved, or rejected; undefined where the store has to be asked. */
  readonly answer: CounterResult | undefined
  /** When the store was last heard of it, as the ledger has it. */
  readonly syncedAt: number | undefined
}

/** What the hybrid store does for a combination. */
export interface Local {
  /** Reserves `cost` for a policy that is counted here; undefined for one that is not. */
  reserve(policy: Policy, identifier: Identifier, cost: number, now: number): Reservation | undefined
  markDirty(ledger: Ledger, slot: number): void
  /** The store is going to be asked about it. */
  sendPending(reservation: Reservation): void
  /** The store has answered, and `took` was taken there. */
  receive(reservation: Reservation, result: CounterResult, took: readonly number[]): void
}

/**
 * Takes combinations of policies, all or nothing. Those that this process may count by itself are reserved here; all
 * others are asked for in one step, and what they answer decides whether the reserved ones are spent or released.
 */
export class Combination {
  readonly #shared: CounterStore
  readonly #local: Local

  constructor(shared: CounterStore, local: Local) {
    this.#shared = shared
    this.#local = local
  }

  acquire(policy: Policy, identifier: Identifier, request: Request): CounterResult | Promise<CounterResult> {
    const { cost, now, withinMs } = request
    const here = new Map<Policy, Reservation>()
    for (const part of partsOf(policy)) {
      const reservation = this.#local.reserve(part, countedIdentifier(part, identifier), cost, now)
      if (reservation !== undefined) here.set(part, reservation)
    }
    const all = divideIntoShares(policy, (part) => (here.get(part)?.answer === undefined ? undefined : part))
    const known = all.map((share) => here.get(share.policy)?.answer)
    const refused = known.some((answer) => answer?.allowed === false)
    if (refused || known.every((answer) => answer !== undefined))
      return this.#settleHere(policy, identifier, request, { all, known, here, refused })

    const asked = all.filter((_, i) => known[i] === undefined)
    const [trip] = asked
    if (trip === undefined) return joinResults(policy, all, known as CounterResult[], cost)
    const unknown = partsOf(trip.policy).flatMap((part) => here.get(part) ?? [])
    for (const reservation of unknown) this.#local.sendPending(reservation)
    const result = this.#shared.acquire(trip.policy, countedIdentifier(trip.policy, identifier), cost, now, withinMs)
    const settled = (answer: CounterResult): CounterResult => {
      this.#receive(trip, here, answer, cost)
      this.#settle(here, answer.allowed, cost)
      return joinResults(
        policy,
        all,
        known.map((one) => one ?? answer),
        cost,
      )
    }
    if (!(result instanceof Promise)) return settled(result)
    return result.then(settled, (error: unknown) => {
      this.#settle(here, false, cost)
      throw error
    })
  }

  /** Without a step at the store, unless to read what it alone knows of a rejected request. */
  #settleHere(
    policy: Policy,
    identifier: Identifier,
    { cost, now }: Request,
    found: {
      readonly all: readonly Share[]
      readonly known: readonly (CounterResult | undefined)[]
      readonly here: ReadonlyMap<Policy, Reservation>
      readonly refused: boolean
    },
  ): CounterResult | Promise<CounterResult> {
    const { all, known, here, refused } = found
    this.#settle(here, !refused, cost)
    const stands = known.map((answer, i): CounterResult | Promise<CounterResult> => {
      const part = all[i]?.policy
      if (answer !== undefined || part === undefined) return answer as CounterResult
      return this.#shared.peek(part, countedIdentifier(part, identifier), now, cost)
    })
    if (stands.some((one) => one instanceof Promise))
      return Promise.all(stands).then((answers) => joinResults(policy, all, answers, cost))
    return joinResults(policy, all, stands as CounterResult[], cost)
  }

  /** Those of the policies asked about that are counted here too learn what the store knows of them. */
  #receive(trip: Share, here: ReadonlyMap<Policy, Reservation>, answer: CounterResult, cost: number): void {
    let at = 0
    for (const part of partsOf(trip.policy)) {
      const places = part.rules.map((_, i) => at + i)
      at += part.rules.length
      const reservation = here.get(part)
      if (reservation === undefined) continue
      const took = part.rules.map(() => (answer.allowed ? cost : 0))
      this.#local.receive(reservation, resultOfShare({ policy: part, places }, answer, trip.policy), took)
    }
  }

  /** Spends what was reserved, or releases it. */
  #settle(here: ReadonlyMap<Policy, Reservation>, spent: boolean, cost: number): void {
    for (const reservation of here.values()) {
      const { plan, ledger, slot, identifier, answer, syncedAt: heardAt } = reservation
      if (!answer?.allowed) continue
      const isHere = ledger.idOf(slot) === identifier.id
      const late = plan.policy.rules.map((rule, i) => {
        if ((answer.violated & (1 << i)) !== 0) return 0
        const at = ledger.at(slot, i)
        const index = windowIndex(answer.now, rule.windowMs)
        if (!isHere || ledger.cells[at + cell.index] !== index) return spent ? cost : 0
        settleCell(ledger.cells, at, spent, cost)
        // The store's answer since then has set the allowance by what is left.
        const isOld = ledger.cells[ledger.tail(slot) + tail.syncedAt] !== heardAt
        if (!spent && !isOld) ledger.cells[at + cell.allowance] = (ledger.cells[at + cell.allowance] ?? 0) + cost
        return 0
      })
      if (spent && isHere) this.#local.markDirty(ledger, slot)
      // Its window has ended, or its place is another's: the store hears of it by itself.
      if (late.some((amount) => amount > 0))
        Promise.resolve(this.#shared.add(plan.policy, identifier, late, answer.now, answer.now)).catch(() => {})
    }
  }
}

function settleCell(cells: Int32Array, at: number, spent: boolean, cost: number): void {
  cells[at + cell.reserved] = (cells[at + cell.reserved] ?? 0) - cost
  if (spent) {
    cells[at + cell.pending] = (cells[at + cell.pending] ?? 0) + cost
  } else {
    cells[at + cell.cur] = (cells[at + cell.cur] ?? 0) - cost
  }
}
