import { randomUUIDv7 } from 'node:crypto'
import { isEmailAddress, Problem, randomToken, tokenHash } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { createLinkMail, mailAddress } from '../../mail/link.ts'
import { normalizeName } from '../../model/user.ts'
import type { Invitation, OutboxMessage } from '../../store/index.ts'
import {
  auditOrganization,
  type OrganizationCaller,
  requireAssignable,
  requireOrganization,
  requireRoles,
  throwNotFound,
} from './caller.ts'
import type { invitationSchema } from './schemas.ts'

/** An invitation as the API returns it; nobody but the invited person reads its link. */
export type InvitationResponse = Static<typeof invitationSchema>

function formatInvitation({ id, email, roles, invitedBy, createdAt, expiresAt }: Invitation): InvitationResponse {
  return {
    id,
    email,
    roles: [...roles],
    ...(invitedBy === undefined ? {} : { invited_by: invitedBy }),
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
  }
}

/** Lists the invitations that wait, in the order of their ids. @throws Problem 404 */
export async function listInvitations(
  context: AdminContext,
  caller: OrganizationCaller,
  before: string | undefined,
  limit: number,
): Promise<InvitationResponse[]> {
  await requireOrganization(context, caller)
  const { store, clock } = context
  return (await store.invitations.list(caller.organizationId, before, limit, clock.now())).map(formatInvitation)
}

/**
 * Mails an invitation to an address; an earlier one of the address becomes invalid. The response is the same whether the
 * address has an account or not.
 * @throws Problem 403, 404, 422, 429, 503
 */
export async function createInvitation(
  context: AdminContext,
  caller: OrganizationCaller,
  { email: address, roles = [] }: { readonly email: string; readonly roles?: readonly string[] },
): Promise<InvitationResponse> {
  const organization = await requireOrganization(context, caller)
  const { store, clock, lifetimes } = context
  const email = normalizeName(address)
  requireMailable(context, email)
  requireAssignable(caller, requireRoles(await store.organizationRoles.list(organization.id), roles))
  await limitInvitations(context, organization.id, email)
  const now = clock.now()
  const invitation = {
    id: randomUUIDv7(),
    organizationId: organization.id,
    email,
    roles: [...roles].sort(),
    invitedBy: caller.member?.userId,
    createdAt: now,
    expiresAt: now + lifetimes.invitation * 1000,
  }
  const after = { invitation_id: invitation.id, email, roles: invitation.roles }
  await auditOrganization(context, caller, { action: 'organization_invitations.create', after })
  const token = randomToken()
  const mail = await createInvitationMail(context, { email, organization: organization.name, token })
  const result = await store.invitations.put(invitation, tokenHash(token), [mail])
  if (result === 'missing') throwNotFound('organization')
  if (result === 'unknown_role') throw new Problem(409, 'A role was deleted at the same time; read them and retry.')
  context.signalOutbox()
  return formatInvitation(invitation)
}

/** @throws Problem 422 */
function requireMailable({ mail }: AdminContext, email: string): void {
  const detail = mail ? 'must be an email address' : 'Mail cannot be sent: no notification service is connected.'
  if (mail && isEmailAddress(email)) return
  throw new Problem(422, detail, { errors: [{ pointer: '/email', detail }] })
}

/** @throws Problem 429 */
async function limitInvitations({ limit }: AdminContext, organization: string, account: string): Promise<void> {
  for (const decision of [
    await limit('invitation', { organization }),
    await limit('invitation-account', { account }),
  ]) {
    if (decision.allowed) continue
    const headers = { 'retry-after': String(decision.retryAfter ?? 60) }
    throw new Problem(429, 'Too many invitations; wait and retry.', { headers })
  }
}

interface InvitationMail {
  readonly email: string
  /** The name of the organization. */
  readonly organization: string
  readonly token: string
}

/** A user with the address gets the mail in their language. */
async function createInvitationMail(
  context: AdminContext,
  { email, organization, token }: InvitationMail,
): Promise<OutboxMessage> {
  const user = await context.store.users.findByLogin(email)
  const isUser = user?.email !== undefined && user.email.toLowerCase() === email
  const to = isUser ? mailAddress({ ...user, email: user.email }) : { userId: randomUUIDv7(), email }
  const lifeSeconds = context.lifetimes.invitation
  const path = `/invitation?token=${token}`
  return createLinkMail(context, { kind: 'invitation', to, name: organization, path, lifeSeconds })
}

/** Revokes an invitation: its link becomes invalid. @throws Problem 404, 503 */
export async function revokeInvitation(context: AdminContext, caller: OrganizationCaller, id: string): Promise<void> {
  const { organizationId } = caller
  await auditOrganization(context, caller, {
    action: 'organization_invitations.revoke',
    before: { invitation_id: id },
  })
  if (!(await context.store.invitations.remove(organizationId, id))) throwNotFound('invitation')
}
