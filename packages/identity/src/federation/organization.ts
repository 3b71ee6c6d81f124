import type { FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { isOfOrganization } from '../connections/home.ts'
import type { FederationContext } from '../context/features.ts'
import type { Connection } from '../model/connection.ts'
import type { User } from '../model/user.ts'

/**
 * Whether a connection may open an account: that of an organization only while the account has a verified address of the
 * organization's domains. Who changed the address, because they left a company, is out of its reach.
 */
export async function mayUseAccount(
  context: Pick<FederationContext, 'store'>,
  connection: Connection,
  { email, emailVerified }: Pick<User, 'email' | 'emailVerified'>,
): Promise<boolean> {
  if (connection.settings.organization === undefined) return true
  return emailVerified && (await isOfOrganization(context, connection, email))
}

/**
 * Makes the user a member of the organization of the connection, if its settings say so; before the session starts, so
 * that the organization's second factor counts for it. Who was removed or left stays out until somebody adds them.
 */
export async function joinOrganization(
  context: FederationContext,
  request: FastifyRequest,
  { id: connection, settings }: Connection,
  { id: userId }: User,
): Promise<void> {
  const { organization: organizationId, add_members: adds, member_roles: roles = [] } = settings
  const { memberships } = context.store
  if (organizationId === undefined || adds !== true) return
  if ((await memberships.findMember(organizationId, userId)) !== undefined) return
  const result = await memberships.join({ organizationId, userId, roles, now: context.clock.now() })
  if (result === 'unknown_role')
    request.log.warn({ connection, roles }, 'a member was not added: the organization lacks a role of the connection')
  if (result !== 'changed') return
  const details = { organization: organizationId, connection, roles }
  await audit(context, request, 'organization_joined', { actor: userId, subject: userId, details })
}
