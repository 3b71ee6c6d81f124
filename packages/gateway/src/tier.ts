import type { Clock } from '@gatehouse/kit'

/** How long a looked-up plan is fresh, in milliseconds; then it serves on while it is looked up anew. */
export const planFreshMs = 60_000
/** How long a request waits for a plan that was never looked up, in milliseconds; then it counts as the lowest tier. */
export const coldLookupMs = 250
/** How many subjects' plans are kept. */
export const mostPlans = 100_000

/** The plan that isn't limited: for the platform's own services. A tier can't have this name. */
export const unlimitedPlan = 'unlimited'

/** Looks up a subject's plan: `undefined` when the subject is not known. */
export type PlanOf = (subject: string) => Promise<{ readonly plan: string } | undefined>

export interface TierOptions {
  readonly planOf: PlanOf
  /** The tiers of this moment, and the one for whoever has no plan, an unknown one, or one that can't be looked up. */
  readonly limits: () => { readonly tiers: ReadonlyMap<string, unknown>; readonly lowest: string }
  readonly clock: Clock
  /** Told of each lookup that failed. */
  readonly onFailure?: (error: unknown) => void
}

interface Plan {
  readonly name: string | undefined
  lookedUpAt: number
  refresh: Promise<void> | undefined
}

export interface Tiers {
  /** The subject's tier: at once when it is known, else when it is looked up, 250 ms at most. */
  tierOf(subject: string): string | Promise<string>
  /** The tier of a plan's name. */
  named(plan: string | undefined): string
}

/** Tiers by the subjects' plans, cached 60 s, stale while refreshed, looked up one at a time per subject. */
export function createTiers({ planOf, limits, clock, onFailure }: TierOptions): Tiers {
  const plans = new Map<string, Plan>()
  const cold = new Map<string, Promise<string>>()

  function named(plan: string | undefined): string {
    const { tiers, lowest } = limits()
    return plan !== undefined && (plan === unlimitedPlan || tiers.has(plan)) ? plan : lowest
  }

  function keep(subject: string, name: string | undefined, lookedUpAt: number): string {
    if (plans.size >= mostPlans) plans.delete(plans.keys().next().value ?? '')
    plans.set(subject, { name, lookedUpAt, refresh: undefined })
    return named(name)
  }

  async function lookUp(subject: string): Promise<string> {
    return keep(subject, (await planOf(subject))?.plan, clock.now())
  }

  function refresh(subject: string, plan: Plan): void {
    plan.refresh ??= lookUp(subject).then(
      () => undefined,
      (error: unknown) => {
        plan.refresh = undefined
        plan.lookedUpAt = clock.now() - planFreshMs + retryMs
        onFailure?.(error)
      },
    )
  }

  function firstLookUp(subject: string): Promise<string> {
    const known = cold.get(subject)
    if (known) return known
    const lookup = lookUp(subject).catch((error: unknown) => {
      onFailure?.(error)
      return keep(subject, undefined, clock.now() - planFreshMs + retryMs)
    })
    cold.set(subject, lookup)
    lookup.finally(() => cold.delete(subject))
    return lookup
  }

  return {
    named,
    tierOf(subject) {
      const plan = plans.get(subject)
      if (plan === undefined) return atMost(coldLookupMs, firstLookUp(subject), named(undefined))
      if (clock.now() - plan.lookedUpAt >= planFreshMs) refresh(subject, plan)
      return named(plan.name)
    },
  }
}

/** After a lookup that failed, the next is tried this much later, in milliseconds. */
const retryMs = 1_000

function atMost<T>(milliseconds: number, promise: Promise<T>, otherwise: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds, otherwise)
    promise.then((value) => {
      clearTimeout(timer)
      resolve(value)
    })
  })
}
