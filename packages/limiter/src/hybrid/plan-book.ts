import { checkKind } from '../key.ts'
import type { Policy } from '../policy.ts'
import { Ledger } from './ledger.ts'
import { agesOf, canBeHybrid, currentOnly, type LocalPlan, type Plan, shortOnly } from './plan.ts'

/** How each policy is counted, here or by the shared store alone, and the ledgers of those counted here. */
export class PlanBook {
  readonly #instances: () => number
  readonly #maxKeys: number
  readonly #intervalMs: number
  readonly #ledgers = new Map<string, Ledger>()
  #plans = new WeakMap<Policy, Map<string, Plan>>()
  /** The number of processes for which the plans were made. */
  #planInstances = 0
  #last: Plan | undefined

  /**
   * @param maxKeys the maximum number of identifiers of one kind in a ledger
   * @param intervalMs the time between two rounds
   */
  constructor(instances: () => number, maxKeys: number, intervalMs: number) {
    this.#instances = instances
    this.#maxKeys = maxKeys
    this.#intervalMs = intervalMs
  }

  ledgers(): MapIterator<Ledger> {
    return this.#ledgers.values()
  }

  planOf(policy: Policy, kind: string): Plan {
    const last = this.#last
    if (last !== undefined && last.policy === policy && last.kind === kind) return last
    const plans = this.#plans.get(policy) ?? new Map<string, Plan>()
    const plan = plans.get(kind) ?? this.#createPlan(policy, kind)
    plans.set(kind, plan)
    this.#plans.set(policy, plans)
    this.#last = plan
    return plan
  }

  /** Drops the plans when the number of processes has changed: it decides whether a limit is large enough to be divided. */
  checkInstances(): void {
    const instances = this.#instances()
    if (instances === this.#planInstances) return
    this.#planInstances = instances
    this.#reset()
  }

  #reset(): void {
    this.#plans = new WeakMap()
    this.#last = undefined
  }

  /** Policies of the same windows share a ledger, so that a change of tier resets nothing. */
  #createPlan(policy: Policy, kind: string): Plan {
    checkKind(kind)
    if (!canBeHybrid(policy, this.#instances())) return { policy, kind, ledger: undefined }
    const name = [kind, ...policy.rules.map((rule) => rule.family)].join(' ')
    const ages = agesOf(policy)
    const quietRounds = Math.max(1, Math.round(ages.quietMs / this.#intervalMs))
    const windows = policy.rules.length
    const ledger = this.#ledgers.get(name) ?? new Ledger({ kind, windows, maxKeys: this.#maxKeys, quietRounds })
    this.#ledgers.set(name, ledger)
    const current = currentOnly(policy)
    const plan: LocalPlan = {
      policy,
      kind,
      ledger,
      currentOnly: current,
      shortOnly: shortOnly(current),
      number: ledger.numberOf(policy, () => this.#reset()),
      ages,
    }
    return plan
  }
}
