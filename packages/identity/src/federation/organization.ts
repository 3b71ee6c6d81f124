import type { FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { isOfOrganization } from '../connections/home.ts'
import type { FederationContext } from '../context/features.ts'
import { createNotices } from '../mail/notices.ts'
import type { Connection } from '../model/connection.ts'
import type { User } from '../model/user.ts'
import type { ProviderSubject } from '../store/index.ts'

/** A connection, and who somebody is at its provider. */
interface Proof {
  readonly connection: Connection
  readonly profile: ProviderSubject
}

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
 * that the organization's second factor counts for it. Who was removed or left stays out until somebody adds them, and
 * who is invited until they accept.
 */
export async function joinOrganization(
  context: FederationContext,
  request: FastifyRequest,
  { connection: { id: connection, settings }, profile: { issuer, subject } }: Proof,
  user: User,
): Promise<void> {
  const { organization: organizationId, add_members: adds, member_roles: roles = [] } = settings
  const { id: userId } = user
  const { memberships, organizations } = context.store
  if (organizationId === undefined || adds !== true) return
  if ((await memberships.findMember(organizationId, userId)) !== undefined) return
  const facts = { organization: (await organizations.find(organizationId))?.name ?? '', roles: roles.join(', ') }
  const messages = createNotices(context, { user, kind: 'organization_joined', request, facts })
  const member = { organizationId, userId, roles, now: context.clock.now(), messages }
  const result = await memberships.join(member, { issuer, subject })
  if (result === 'unknown_role')
    request.log.warn({ connection, roles }, 'a member was not added: the organization lacks a role of the connection')
  if (result !== 'changed') return
  context.signalOutbox()
  const details = { organization: organizationId, connection, roles }
  await audit(context, request, 'organization_joined', { actor: userId, subject: userId, details })
}
