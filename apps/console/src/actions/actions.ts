import type { Operations } from '@gatehouse/client'
import { access } from './access.ts'
import type { Action } from './action.ts'
import { callers } from './callers.ts'
import { content } from './content.ts'
import { deliver } from './deliver.ts'
import { limits } from './limits.ts'
import { measure } from './measure.ts'
import { operate } from './operate.ts'
import { factsOf } from './operations.ts'
import { people, quotas, recipients, searches } from './people.ts'
import { repair } from './repair.ts'

/**
 * Every action of the console. The server forwards the operations that are named here and no others; the pages show an
 * action to the roles that have it.
 */
export const actions = {
  ...measure,
  ...deliver,
  ...repair,
  ...content,
  ...people,
  ...recipients,
  ...searches,
  ...quotas,
  ...access,
  ...limits,
  ...callers,
  ...operate,
}

/** The name of an action. */
export type ActionId = keyof typeof actions
/** What an action's operation takes: parameters, and the members of the body. */
export type InputOf<Id extends ActionId> = Operations[(typeof actions)[Id]['operation']]['input']
/** What an action's operation answers. */
export type OutputOf<Id extends ActionId> = Operations[(typeof actions)[Id]['operation']]['output']
/** An item of the list that an action reads. */
export type ItemOf<Id extends ActionId> =
  OutputOf<Id> extends { readonly items: readonly (infer Item)[] } ? Item : never

/** Whether one of these roles has the action, with the scopes that the roles come with. */
export function isForRole(id: ActionId, userRoles: readonly string[]): boolean {
  const { roles: allowed }: Action = actions[id]
  return allowed.some((role) => userRoles.includes(role))
}

/** Whether a person with these scopes may do it: what a role allows can be changed. */
export function mayDo(id: ActionId, scopes: readonly string[]): boolean {
  const needed = factsOf(actions[id].operation).scopes ?? []
  return needed.length === 0 || needed.some((scope) => scopes.includes(scope))
}
