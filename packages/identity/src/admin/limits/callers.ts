import { maxClientPolicies, unlimitedPlan } from '../../model/limit-settings.ts'
import type { PlanMember } from '../../store/index.ts'
import { type LimitContext, readActive } from './settings.ts'

/** A user, client or API key of a tier, with the plan that it has. */
export interface TierCaller extends PlanMember {
  /** Undefined for the default plan. */
  readonly plan?: string
  /** Of a client, or a key of one, that counts by this policy in place of the tier. */
  readonly policy?: string
}

/** Where a page begins: above this id of this plan. */
export interface TierPosition {
  /** Empty for no plan. */
  readonly plan: string
  readonly id: string
}

/**
 * The users and clients of a tier, and the API keys with a plan of their own, by plan and id, the first `limit` above a
 * position. The lowest tier has those of unknown plans as well.
 */
export async function listTierCallers(
  limits: LimitContext,
  tier: string,
  after: TierPosition,
  limit: number,
): Promise<TierCaller[]> {
  const found: TierCaller[] = []
  for (const plan of await plansOf(limits, tier)) {
    if (found.length >= limit || plan < after.plan) continue
    const named = plan === '' ? {} : { plan }
    const { store, clock } = limits.context
    const some = await store.subjects.listByPlan({
      plan: plan === '' ? undefined : plan,
      after: plan === after.plan ? after.id : '',
      limit: limit - found.length,
      now: clock.now(),
    })
    found.push(...some.map((member) => ({ ...member, ...named })))
  }
  return withPolicies(limits, found)
}

async function withPolicies({ context }: LimitContext, callers: readonly TierCaller[]): Promise<TierCaller[]> {
  const bound = callers.some(({ kind }) => kind !== 'user')
    ? await context.store.clients.listPolicies(maxClientPolicies)
    : []
  const policies = new Map(bound.map(({ client, policy }) => [client, policy]))
  return callers.map((caller) => {
    const client = caller.kind === 'client' ? caller.id : caller.key?.owner
    const policy = client === undefined ? undefined : policies.get(client)
    return policy === undefined ? caller : { ...caller, policy }
  })
}

/** The plans that a tier limits, in order; empty for subjects without a plan, who have the default one. */
async function plansOf(limits: LimitContext, tier: string): Promise<string[]> {
  const { context, rules } = limits
  const { document } = await readActive(limits)
  const lowest = rules.lowest(document)
  const tierOf = (plan: string) => (Object.hasOwn(document.tiers, plan) ? plan : lowest)
  const plans = (await context.store.subjects.listPlans()).filter((plan) => plan !== unlimitedPlan)
  return ['', ...plans.sort(byCodeUnit)].filter((plan) => tierOf(plan === '' ? context.defaultPlan : plan) === tier)
}

const byCodeUnit = (one: string, other: string) => (one < other ? -1 : Number(one > other))

/** The position behind a caller, as a cursor. */
export function formatPosition({ plan = '', id }: TierCaller): string {
  return `${encodeURIComponent(plan)}/${id}`
}

/** Reads a cursor; of one that is none nothing is skipped. */
export function parsePosition(cursor: string): TierPosition {
  const [plan = '', ...id] = cursor.split('/')
  return { plan: decodePlan(plan), id: id.join('/') }
}

function decodePlan(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
