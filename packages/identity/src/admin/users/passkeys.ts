import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { createNotices } from '../../mail/notices.ts'
import type { Passkey } from '../../model/factors/passkey.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { passkeySchema } from '../responses.ts'
import { findChangeableUser, reportChangedRoles } from './users.ts'

/** A passkey of a user, as management returns it. */
export type PasskeyResponse = Static<typeof passkeySchema>

function formatPasskey(passkey: Passkey): PasskeyResponse {
  const instant = (at: number) => new Date(at).toISOString()
  const { lastUsedAt, lastUserAgent, counterRegressedAt } = passkey
  return {
    id: passkey.id,
    name: passkey.name,
    synced: passkey.backupEligible,
    transports: [...passkey.transports],
    aaguid: passkey.aaguid,
    created_at: instant(passkey.createdAt),
    ...(lastUsedAt === undefined ? {} : { last_used_at: instant(lastUsedAt) }),
    ...(lastUserAgent === undefined ? {} : { last_user_agent: lastUserAgent }),
    ...(counterRegressedAt === undefined ? {} : { counter_regressed_at: instant(counterRegressedAt) }),
  }
}

/** Lists the passkeys of a user, the first one first. */
export async function listPasskeys({ store }: AdminContext, userId: string): Promise<PasskeyResponse[]> {
  return (await store.passkeys.listByUser(userId)).map(formatPasskey)
}

/** Removes a passkey of a user, even the last way to sign in. @throws Problem 403, 404, 409, 503 */
export async function removePasskey(context: AdminContext, by: Authority, userId: string, id: string): Promise<void> {
  const user = await findChangeableUser(context, by, userId)
  if (by.actor.subject === userId) throw new Problem(403, 'Remove your own passkeys on your account page.')
  const passkey = (await context.store.passkeys.listByUser(userId)).find((one) => one.id === id)
  if (passkey === undefined) throw notFound()
  const before = { passkey_id: id, name: passkey.name }
  await auditChange(context, by, { action: 'passkeys.remove', target: { type: 'user', id: userId }, before })
  const facts = { factor: 'passkey' }
  const messages = createNotices(context, { user, kind: 'factor_removed', request: undefined, facts })
  const removal = { userId, id, evenLast: true, expectedRoles: user.roles }
  if ((await reportChangedRoles(context.store.passkeys.remove(removal, messages))) !== 'removed') throw notFound()
  context.signalOutbox()
}

const notFound = () => new Problem(404, 'The user has no such passkey.')
