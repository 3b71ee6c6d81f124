import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import { findRequiredConnection } from '../../connections/home.ts'
import type { AdminContext } from '../../context/features.ts'
import { createNotices } from '../../mail/notices.ts'
import { connectionName } from '../../model/connection.ts'
import { signOutOptions } from '../../sessions/end-session.ts'
import type { LinkedAccount } from '../../store/index.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { linkedProviderSchema, removedProviderSchema } from '../responses.ts'
import { findChangeableUser, reportChangedRoles } from './users.ts'

/** An account at a provider that is linked to a user, as management returns it. */
export type LinkedProviderResponse = Static<typeof linkedProviderSchema>

function formatLink({ id, connectionId, issuer, subject, email, linkedAt, usedAt }: LinkedAccount) {
  return {
    id,
    connection: connectionId,
    issuer,
    subject,
    ...(email === undefined ? {} : { email }),
    linked_at: new Date(linkedAt).toISOString(),
    used_at: new Date(usedAt).toISOString(),
  }
}

/** Lists the accounts at providers of a user, the first one first. @throws Problem 404 */
export async function listLinkedProviders({ store }: AdminContext, userId: string): Promise<LinkedProviderResponse[]> {
  if ((await store.users.find(userId)) === undefined) throw new Problem(404, 'There is no user with this id.')
  return (await store.linkedAccounts.listByUser(userId)).map(formatLink)
}

/**
 * Removes an account at a provider from a user, even the last way to sign in, and ends every session and grant of the
 * user. Returns how many ways are left.
 * @throws Problem 403 for oneself, and for a user with a management role whose scopes the caller lacks; 404, 409, 503
 */
export async function removeLinkedProvider(
  context: AdminContext,
  by: Authority,
  userId: string,
  linkId: string,
): Promise<Static<typeof removedProviderSchema>> {
  const user = await findChangeableUser(context, by, userId)
  if (by.actor.subject === userId) throw new Problem(403, 'Disconnect your own providers on your account page.')
  const { linkedAccounts, connections } = context.store
  const link = (await linkedAccounts.listByUser(userId)).find((one) => one.id === linkId)
  if (link === undefined) throw notFound()
  const before = { link_id: linkId, connection: link.connectionId }
  await auditChange(context, by, { action: 'linked_providers.remove', target: { type: 'user', id: userId }, before })
  const connection = await connections.find(link.connectionId)
  const facts = { provider: connection === undefined ? link.connectionId : connectionName(connection) }
  const notices = createNotices(context, { user, kind: 'provider_unlinked', request: undefined, facts })
  const required = await findRequiredConnection(context, user.email)
  const expectedRoles = user.roles
  const removal = { userId, linkId, passkeys: context.features.passkeys, required, expectedRoles }
  const remaining = await reportChangedRoles(linkedAccounts.revoke(removal, signOutOptions(context), notices))
  if (remaining === undefined) throw notFound()
  context.signalOutbox()
  return { remaining_ways: remaining }
}

const notFound = () => new Problem(404, 'The user has no such linked provider.')
