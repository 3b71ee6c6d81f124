import type { ServerContext } from '../context/context.ts'

/**
 * Whether a user must sign in with a second factor because of an organization: the one that a grant is for or, without
 * one, any that the user is a member of. A session is not bound to an organization, so the strictest counts when it
 * starts.
 */
export function requiresOrganizationMfa(
  { store }: Pick<ServerContext, 'store'>,
  userId: string,
  organizationId?: string,
): Promise<boolean> {
  return store.organizations.requiresMfa(userId, organizationId)
}
