import { Problem } from '@gatehouse/kit'
import type { AdminContext } from '../../context/features.ts'
import { maxClientPolicies } from '../../model/limit-settings.ts'
import { type Authority, requireScopes } from '../authority.ts'
import { requireLimit } from '../limits/settings.ts'

/**
 * Checks the policy that a client is to have. One that it has already stays allowed when it is deleted: the client then
 * counts by its tier. The policy replaces the tier, so to change it is to change limits.
 * @throws Problem 403 without `admin:limits`, 409 when too many clients have one, 422 for a name of no tier or policy
 */
export async function requireClientPolicy(
  context: AdminContext,
  by: Authority,
  before: string | undefined,
  policy: string | undefined,
): Promise<void> {
  if (policy === before) return
  requireScopes(by, ['admin:limits'], 'Changing the policy of a client requires scopes')
  if (policy === undefined) return
  const { limitRules: rules, store } = context
  if (rules !== undefined) await requireLimit({ context, rules }, policy)
  if (before !== undefined) return
  const bound = await store.clients.listPolicies(maxClientPolicies)
  if (bound.length >= maxClientPolicies)
    throw new Problem(409, `${maxClientPolicies} clients have a policy; end that of another first.`)
}
