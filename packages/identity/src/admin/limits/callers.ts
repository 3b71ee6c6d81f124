import { maxClientPolicies } from '../../model/limit-settings.ts'
import type { Subject } from '../../store/index.ts'
import { type LimitContext, readActive } from './settings.ts'

/** A user or client of a tier, with the plan that it has. */
export interface TierCaller extends Subject {
  /** Undefined for the default plan. */
  readonly plan?: string
  /** Of a client that counts by this policy in place of the tier. */
  readonly policy?: string
}

/** Where a page begins: above this id of this plan. */
export interface TierPosition {
  /** Empty for no plan. */
  readonly plan: string
  readonly id: string
}

/** The plan of services, which no tier limits. */
const unlimitedPlan = 'unlimited'

/**
 * The users and clients of a tier, by plan and id, the first `limit` above a position. The lowest tier has those of
 * unknown plans as well. API keys with a plan of their own are in no list.
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
    const from = plan === after.plan ? after.id : ''
    const named = plan === '' ? {} : { plan }
    const { subjects } = limits.context.store
    const some = await subjects.listByPlan(plan === '' ? undefined : plan, from, limit - found.length)
    found.push(...some.map((subject) => ({ ...subject, ...named })))
  }
  return withPolicies(limits, found)
}

async function withPolicies({ context }: LimitContext, callers: readonly TierCaller[]): Promise<TierCaller[]> {
  const bound = callers.some(({ kind }) => kind === 'client')
    ? await context.store.clients.listPolicies(maxClientPolicies)
    : []
  const policies = new Map(bound.map(({ client, policy }) => [client, policy]))
  return callers.map((caller) => {
    const policy = caller.kind === 'client' ? policies.get(caller.id) : undefined
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
