import { Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import type { Caller } from '../../model/caller.ts'
import { signOutOptions } from '../../sessions/end-session.ts'
import type { ListedSession, SessionCursor, SessionFilter } from '../../store/index.ts'
import { type Authority, auditChange, requireAuthorityOverUser } from '../authority.ts'
import type { endedSessionsSchema, sessionSchema } from '../responses.ts'
import { findChangeableUser } from '../users/users.ts'

/** A session, as management returns it. */
export type SessionResponse = Static<typeof sessionSchema>

/** How many sessions end by one request. */
const maxEnded = 1_000

/** The session in which the caller signed in, if the caller is a person. */
export async function findOwnSession(
  { store }: Pick<AdminContext, 'store'>,
  { kind, grantId }: Caller,
): Promise<string | undefined> {
  if (kind !== 'user' || grantId === undefined) return undefined
  return (await store.grants.find(grantId))?.grant.sessionId
}

/** Formats a session; `own` is that of the caller. */
export function formatSession(session: ListedSession, own: string | undefined): SessionResponse {
  return {
    id: session.id,
    user_id: session.userId,
    user_agent: session.userAgent,
    address: session.address,
    amr: [...session.amr],
    clients: [...session.clientIds],
    is_own: session.id === own,
    new_address: session.isNewAddress,
    new_device: session.isNewDevice,
    created_at: new Date(session.createdAt).toISOString(),
    seen_at: new Date(session.seenAt).toISOString(),
    expires_at: new Date(session.expiresAt).toISOString(),
  }
}

/** The cursor behind a session: when it began, and its id. */
export function cursorOf({ created_at, id }: Pick<SessionResponse, 'created_at' | 'id'>): string {
  return `${Date.parse(created_at)}.${id}`
}

/** The form of a cursor. */
export const cursorPattern = '^(\\d{1,15})\\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$'

/** Reads a cursor of the form {@link cursorPattern}. */
export function parseCursor(cursor: string | undefined): SessionCursor | undefined {
  if (cursor === undefined) return undefined
  const [createdAt, id = ''] = cursor.split('.')
  return { createdAt: Number(createdAt), id }
}

/** Signs a user out of every browser; returns how many. Grants stay. @throws Problem 403, 404, 503 */
export async function endSessionsOfUser(context: AdminContext, by: Authority, userId: string): Promise<number> {
  await findChangeableUser(context, by, userId)
  await auditChange(context, by, { action: 'sessions.end_all', target: { type: 'user', id: userId } })
  const ended = await context.store.sessionDirectory.end(userId, undefined, signOutOptions(context))
  context.signalOutbox()
  return ended
}

/** Which sessions end, and whether it is a trial run. */
export interface SessionSelection {
  readonly filter: SessionFilter
  readonly dryRun: boolean
}

/**
 * Ends the sessions that a filter selects, user by user, except those of users whom the caller may not change. A crash
 * in between leaves the rest, which the same request ends.
 * @throws Problem 503
 */
export async function endSelectedSessions(
  context: AdminContext,
  by: Authority,
  { filter, dryRun }: SessionSelection,
): Promise<Static<typeof endedSessionsSchema>> {
  const { store, clock } = context
  const found = await store.sessionDirectory.list(filter, undefined, maxEnded + 1, clock.now())
  const selected = found.slice(0, maxEnded)
  const byUser = Map.groupBy(selected, ({ userId }) => userId)
  for (const userId of [...byUser.keys()]) if (!(await mayChange(context, by, userId))) byUser.delete(userId)
  const allowed = [...byUser.values()].flat().length
  const counts = { matched: selected.length, skipped: selected.length - allowed, more: found.length > maxEnded }
  if (dryRun) return { ...counts, ended: 0 }
  const { userId: user_id, clientId: client_id, address } = filter
  const after = Object.fromEntries(
    Object.entries({ user_id, client_id, address, count: allowed }).filter(([, value]) => value !== undefined),
  )
  await auditChange(context, by, {
    action: 'sessions.end_selected',
    target: { type: 'sessions', id: 'selection' },
    after,
  })
  let ended = 0
  for (const [userId, sessions] of byUser) {
    const ids = sessions.map(({ id }) => id)
    ended += await store.sessionDirectory.end(userId, ids, signOutOptions(context))
  }
  context.signalOutbox()
  return { ...counts, ended }
}

async function mayChange(context: AdminContext, by: Authority, userId: string): Promise<boolean> {
  const user = await context.store.users.find(userId)
  if (user === undefined) return false
  try {
    await requireAuthorityOverUser(context, by, user)
    return true
  } catch (error) {
    if (error instanceof Problem && error.status === 403) return false
    throw error
  }
}
