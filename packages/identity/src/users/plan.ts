import { Problem } from '@gatehouse/kit'
import type { IdentityContext } from '../context/context.ts'
import { type Caller, mayReadPlan } from '../model/caller.ts'

/** The response of GET /users/{id}: the id and the plan only. */
export interface UserPlan {
  readonly id: string
  readonly plan: string
}

/**
 * Reads the user's plan, which selects the tier of the limiter.
 * @throws Problem 403 for a user who asks for another, 404 for an unknown user
 */
export async function readUserPlan(
  { store, defaultPlan }: Pick<IdentityContext, 'store' | 'defaultPlan'>,
  caller: Caller,
  id: string,
): Promise<UserPlan> {
  if (!mayReadPlan(caller, id)) throw new Problem(403, 'That belongs to another user.')
  const found = await store.subjects.findPlan(id)
  if (found?.kind !== 'user') throw new Problem(404, 'There is no user with this id.')
  return { id, plan: found.plan ?? defaultPlan }
}
