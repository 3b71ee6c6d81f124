import { Problem } from '@gatehouse/kit'
import type { AdminContext } from '../../context/features.ts'
import { unlimitedPlan } from '../../model/limit-settings.ts'
import { type Authority, requireScopes } from '../authority.ts'

/** The plans that name a tier, or no limits at all; undefined where nobody knows the tiers. */
export type KnownPlans = readonly string[] | undefined

/**
 * Lists the plans that are known now. The tiers are those of the stored limits, which change at run time, or else those
 * of the file. Identity on its own, where limits were never declared, does not know what its plans mean to others.
 */
export async function listKnownPlans({ store, tiers: tiersOfFile }: AdminContext): Promise<KnownPlans> {
  const active = await store.limitVersions.current()
  const tiers = active === undefined ? tiersOfFile : Object.keys(active.document.tiers)
  return tiers && [...tiers.toSorted(), unlimitedPlan]
}

/** What is wrong with a plan; undefined for a known one, for none, and where nobody knows. */
export function findPlanFault(known: KnownPlans, plan: string | undefined): string | undefined {
  if (known === undefined || plan === undefined || known.includes(plan)) return undefined
  return `there is no tier "${plan}"; there are ${known.join(', ')}`
}

/**
 * Checks the plan that a user, a client or a key is to have. One that they have already stays allowed when its tier is
 * deleted: they then have the lowest tier.
 * @throws Problem 403 for `unlimited` without `admin:limits`, 422 that names the plans that there are
 */
export async function requireKnownPlan(
  context: AdminContext,
  by: Authority,
  before: string | undefined,
  plan: string | undefined,
): Promise<void> {
  if (plan === undefined || plan === before) return
  requirePlanAuthority(by, plan)
  const fault = findPlanFault(await listKnownPlans(context), plan)
  if (fault !== undefined) throw new Problem(422, `/plan ${fault}.`, { errors: [{ pointer: '/plan', detail: fault }] })
}

/** Checks that whoever gives the plan without limits may change limits: `admin:limits`. @throws Problem 403 */
export function requirePlanAuthority(by: Authority, plan: string | undefined): void {
  if (plan === unlimitedPlan) requireScopes(by, ['admin:limits'], 'The plan unlimited requires scopes')
}
