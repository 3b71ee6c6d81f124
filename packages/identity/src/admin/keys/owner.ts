import type { AdminContext } from '../../context/features.ts'
import { isManagementScope, withIncludedScopes } from '../../model/management-roles.ts'
import { isServiceScope } from '../../model/service-scopes.ts'
import { findScopesOfRoles } from '../../oauth/scope.ts'
import { type Authority, requireAuthorityOverClient, requireAuthorityOverUser } from '../authority.ts'

/** A user or a client that may have API keys. */
export interface Owner {
  readonly plan: string | undefined
  readonly kind: 'user' | 'client'
  /** Of a user as it was read; undefined for a client. */
  readonly credentialVersion: string | undefined
  /** Whether it can act by itself; a client that only signs users in cannot, nor can its keys. */
  readonly actsItself: boolean
  /** Whether a key of this owner may have the scope now. */
  mayHaveScope(scope: string): boolean
  /** @throws Problem 403 for a caller who may not change the owner */
  requireAuthority(by: Authority): Promise<void>
}

/** The scope that sends mails with links into accounts; no key may have it. */
const reservedMailScope = 'write:reserved-mails'

/**
 * A user may have management scopes by their roles, and no scope between services; a client the scopes that it is
 * registered for, except the mails of identity. Undefined for an unknown id.
 */
export async function findOwner({ store }: Pick<AdminContext, 'store'>, id: string): Promise<Owner | undefined> {
  const user = await store.users.find(id)
  if (user) {
    const allowed = await findScopesOfRoles({ store }, user)
    return {
      plan: user.plan,
      kind: 'user',
      credentialVersion: user.credentialVersion,
      actsItself: true,
      mayHaveScope: (scope) => (isManagementScope(scope) ? allowed.has(scope) : !isServiceScope(scope)),
      requireAuthority: (by) => requireAuthorityOverUser({ store }, by, user),
    }
  }
  const client = await store.clients.find(id)
  return (
    client && {
      plan: client.plan,
      kind: 'client',
      credentialVersion: undefined,
      actsItself: client.grantTypes.includes('client_credentials'),
      mayHaveScope: (scope) => scope !== reservedMailScope && withIncludedScopes(client.scopes).has(scope),
      requireAuthority: async (by) => requireAuthorityOverClient(by, client),
    }
  )
}
