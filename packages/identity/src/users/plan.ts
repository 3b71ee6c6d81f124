import { Problem } from '@gatehouse/kit'
import type { Parts } from '../context/context.ts'

/** What GET /users/{id} tells: the id and the plan, nothing more. */
export interface UserAnswer {
  readonly id: string
  readonly plan: string
}

/** The user's plan, by which the limiter finds the tier. @throws Problem 404 for an unknown user */
export async function readUser(
  { store, defaultPlan }: Pick<Parts, 'store' | 'defaultPlan'>,
  id: string,
): Promise<UserAnswer> {
  const found = await store.subjects.planOf(id)
  if (found?.kind !== 'user') throw new Problem(404, 'There is no user with this id.')
  return { id, plan: found.plan ?? defaultPlan }
}
