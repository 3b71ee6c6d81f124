import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import { createNotices } from '../../mail/notices.ts'
import { signOutOptions } from '../../sessions/end-session.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { factorsSchema } from '../responses.ts'
import { findChangeableUser, reportChangedRoles } from './users.ts'

/** The second factors of a user, as management returns them. */
export type FactorsResponse = Static<typeof factorsSchema>

/** Reads what a user has enrolled; never a secret. @throws Problem 404 */
export async function readFactors({ store, clock }: AdminContext, userId: string): Promise<FactorsResponse> {
  if ((await store.users.find(userId)) === undefined) throw new Problem(404, 'There is no user with this id.')
  const { factors, recoveryCodes, mustEnrol } = await store.factors.find(userId)
  return {
    factors: factors.map(({ kind, createdAt, usedAt }) => ({
      kind,
      created_at: new Date(createdAt).toISOString(),
      ...(usedAt === undefined ? {} : { used_at: new Date(usedAt).toISOString() }),
    })),
    recovery_codes: recoveryCodes,
    remembered_devices: (await store.rememberedDevices.listByUser(userId, clock.now())).length,
    must_enrol: mustEnrol,
  }
}

/**
 * Removes every factor of a user, and makes the user enrol at the next sign-in. Every session, grant and API key of the
 * user ends.
 * @throws Problem 403 for oneself, and for a user with a management role whose scopes the caller lacks; 404, 409, 503
 */
export async function resetFactors(context: AdminContext, by: Authority, userId: string): Promise<void> {
  const user = await findChangeableUser(context, by, userId)
  if (by.actor.subject === userId)
    throw new Problem(403, 'Another administrator must reset your factors; remove them on your account page.')
  const { factors } = await context.store.factors.find(userId)
  const before = { factors: factors.map(({ kind }) => kind) }
  const notices = before.factors.flatMap((factor) =>
    createNotices(context, { user, kind: 'factor_removed', request: undefined, facts: { factor } }),
  )
  await auditChange(context, by, { action: 'factors.reset', target: { type: 'user', id: userId }, before })
  const reset = context.store.factors.reset(userId, signOutOptions(context), notices, user.roles)
  if (!(await reportChangedRoles(reset))) throw new Problem(404, 'There is no user with this id.')
  context.signalOutbox()
}
