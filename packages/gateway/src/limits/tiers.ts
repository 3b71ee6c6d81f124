import { type Clock, withinTime } from '@gatehouse/kit'
import { type PlanOf, unlimitedPlan } from '../model/plan.ts'

/** How long a plan is fresh, in milliseconds; then it is used while it is refreshed. */
export const planFreshMs = 60_000
/** How long a request waits for an uncached plan, in milliseconds; then it counts as the lowest tier. */
const coldLookupMs = 250
/** How many subjects' plans are cached. */
const maxPlans = 100_000

/** Options of {@link createTiers}. */
export interface TierOptions {
  readonly planOf: PlanOf
  /** The current tiers, and the one for subjects without a plan, with an unknown one, or whose lookup fails. */
  readonly limits: () => { readonly tiers: ReadonlyMap<string, unknown>; readonly lowest: string }
  readonly clock: Clock
  /** Called for each lookup that fails. */
  readonly onFailure?: (error: unknown) => void
}

interface Plan {
  readonly name: string | undefined
  readonly staleAt: number
}

/** The tiers of subjects. */
export interface Tiers {
  /** The subject's tier: at once when it is cached, else after a lookup of at most 250 ms. */
  tierOf(subject: string): string | Promise<string>
  /** The tier of a plan's name. */
  tierOfPlan(plan: string | undefined): string
}

/** Tiers by the subjects' plans: cached for 60 s, used while refreshed, one lookup at a time per subject. */
export function createTiers(options: TierOptions): Tiers {
  return new CachedPlans(options)
}

class CachedPlans implements Tiers {
  readonly #options: TierOptions
  readonly #plans = new Map<string, Plan>()
  readonly #lookups = new Map<string, Promise<string>>()

  constructor(options: TierOptions) {
    this.#options = options
  }

  tierOfPlan(plan: string | undefined): string {
    const { tiers, lowest } = this.#options.limits()
    return plan !== undefined && (plan === unlimitedPlan || tiers.has(plan)) ? plan : lowest
  }

  tierOf(subject: string): string | Promise<string> {
    const plan = this.#plans.get(subject)
    if (plan === undefined) {
      const lookup = withinTime(coldLookupMs, 'the lookup of a plan', this.#lookUp(subject))
      return lookup.catch(() => this.tierOfPlan(undefined))
    }
    const freshMs = plan.staleAt - this.#options.clock.now()
    // More than that is left only when the clock was set back.
    if (freshMs <= 0 || freshMs > planFreshMs) this.#lookUp(subject)
    return this.tierOfPlan(plan.name)
  }

  /** One lookup at a time per subject. Never rejects: the cached plan stays, and is looked up again a second later. */
  #lookUp(subject: string): Promise<string> {
    const pending = this.#lookups.get(subject)
    if (pending) return pending
    const lookup = this.#fetchPlan(subject).finally(() => this.#lookups.delete(subject))
    this.#lookups.set(subject, lookup)
    return lookup
  }

  async #fetchPlan(subject: string): Promise<string> {
    const { planOf, clock, onFailure } = this.#options
    try {
      const found = await planOf(subject)
      return this.#storePlan(subject, found?.plan, clock.now() + planFreshMs)
    } catch (error) {
      onFailure?.(error)
      return this.#storePlan(subject, this.#plans.get(subject)?.name, clock.now() + retryMs)
    }
  }

  #storePlan(subject: string, name: string | undefined, staleAt: number): string {
    if (this.#plans.size >= maxPlans) this.#plans.delete(this.#plans.keys().next().value ?? '')
    this.#plans.set(subject, { name, staleAt })
    return this.tierOfPlan(name)
  }
}

/** Delay after a failed lookup, in milliseconds. */
const retryMs = 1_000
