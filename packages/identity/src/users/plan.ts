import { Problem } from '@gatehouse/kit'
import type { IdentityContext } from '../context/context.ts'

/** What GET /users/{id} tells: the id and the plan, nothing more. */
export interface UserPlan {
  readonly id: string
  readonly plan: string
}

/** The user's plan, by which the limiter finds the tier. @throws Problem 404 for an unknown user */
export async function readUserPlan(
  { store, defaultPlan }: Pick<IdentityContext, 'store' | 'defaultPlan'>,
  id: string,
): Promise<UserPlan> {
  const found = await store.subjects.findPlan(id)
  if (found?.kind !== 'user') throw new Problem(404, 'There is no user with this id.')
  return { id, plan: found.plan ?? defaultPlan }
}
