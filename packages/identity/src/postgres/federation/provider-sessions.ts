import { type Clock, type Transaction, tokenHash } from '@gatehouse/kit'
import { pendingSignInMs, type Session } from '../../model/grants/session.ts'
import type { ProviderLogout, ProviderSessionRecord, WaitingProviderSession } from '../../store/index.ts'

/** How long a logout is kept: until no sign-in waits that began before it, nor a request that completes one. */
const logoutKeptMs = pendingSignInMs + 60_000

/** How far apart the clocks of two processes may be, in milliseconds. */
const clockToleranceMs = 1_000

/** An account at a provider, as far as it is known. */
type ProviderAccount = Pick<ProviderLogout, 'connectionId' | 'issuer' | 'subject' | 'sid'>

/** What of an account a logout ends: a session there, those whose ID token named none, or all of them. */
type Extent = 'session' | 'unnamed' | 'all'

/**
 * Records a logout for the sign-ins of which nothing is stored yet, such as those that wait for their second factor. One
 * that is being completed waits, or is waited for.
 *
 * @param now Unix milliseconds
 */
export async function recordProviderLogout(tx: Transaction, logout: ProviderLogout, now: number): Promise<void> {
  const { subject, sid } = logout
  const ended: Extent[] = sid === undefined ? ['all'] : subject === undefined ? ['session'] : ['session', 'unnamed']
  const hashes = await lockExtents(tx, logout, ended)
  await tx.query(
    `INSERT INTO identity.replay_cache AS r (purpose, hash, expires_at)
     SELECT $1, hash, $3 FROM unnest($2::text[]) AS hash
     ON CONFLICT (purpose, hash) DO UPDATE SET expires_at = greatest(r.expires_at, excluded.expires_at)`,
    [purposeOf(logout), hashes, now + logoutKeptMs],
  )
}

/**
 * Whether a sign-in must not become a session: its connection signs nobody in any more, its own session at the provider
 * has ended since, or the session that it continues went on through a newer one of the same account. To be asked before
 * accounts are locked.
 *
 * @param clock where the code was exchanged just before: then a logout counts as older that is later than this clock,
 *   because the one that recorded it was ahead. A sign-in that waited is void by it.
 */
export async function isVoidAtProvider(
  tx: Transaction,
  { linkId, sid, since, sessionId }: WaitingProviderSession,
  clock?: Clock,
): Promise<boolean> {
  const { rows: links } = await tx.query<{ connection_id: string; issuer: string; subject: string }>(
    `SELECT l.connection_id, l.issuer, l.subject FROM identity.linked_account l
       JOIN identity.connection c ON c.id = l.connection_id AND c.enabled
       LEFT JOIN identity.organization o ON o.id = c.organization_id
     WHERE l.id = $1 AND o.status IS DISTINCT FROM 'suspended'
       AND coalesce((c.settings ->> 'link_only')::boolean, false) = false`,
    [linkId],
  )
  const [link] = links
  if (link === undefined) return true
  const account = { connectionId: link.connection_id, issuer: link.issuer, subject: link.subject, sid }
  const hashes = await lockExtents(tx, account, [sid === undefined ? 'unnamed' : 'session', 'all'])
  // Read now: for a logout that is being recorded the locks were waited for.
  const latest = clock === undefined ? null : clock.now() + clockToleranceMs + logoutKeptMs
  const { rows } = await tx.query(
    `SELECT 1 FROM identity.replay_cache
     WHERE purpose = $1 AND hash = ANY($2::text[]) AND expires_at BETWEEN $3 AND coalesce($8::bigint, expires_at)
     UNION ALL
     SELECT 1 FROM identity.provider_session
     WHERE session_id = $4 AND link_id = $5 AND signed_in_at > $6 AND sid IS DISTINCT FROM $7`,
    [purposeOf(account), hashes, since + logoutKeptMs, sessionId ?? null, linkId, since, sid ?? null, latest],
  )
  return rows.length > 0
}

function purposeOf({ connectionId }: ProviderAccount): string {
  return `provider logout ${connectionId}`
}

/** Locks until the end of the transaction, always in the order session, unnamed, all, and returns their hashes. */
async function lockExtents(
  tx: Transaction,
  { connectionId, issuer, subject, sid }: ProviderAccount,
  extents: readonly Extent[],
): Promise<string[]> {
  const hashes = extents.map((extent) =>
    tokenHash(JSON.stringify([connectionId, issuer, extent, extent === 'session' ? sid : subject])),
  )
  for (const hash of hashes) await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [hash])
  return hashes
}

/**
 * Stores through which link a session was signed in to, in the transaction that writes the session. Without effect when
 * the link was deleted meanwhile with its connection.
 */
export async function putProviderSession(
  tx: Transaction,
  { id: sessionId, userId }: Session,
  { id, linkId, sid, idTokenSealed, since }: ProviderSessionRecord,
): Promise<void> {
  await tx.query(
    `INSERT INTO identity.provider_session (id, session_id, link_id, sid, id_token_sealed, signed_in_at)
     SELECT $1, $2, l.id, $4, $5, $6 FROM identity.linked_account l WHERE l.id = $3 AND l.user_id = $7
     ON CONFLICT (session_id, link_id) DO UPDATE SET id = excluded.id, sid = excluded.sid,
       id_token_sealed = excluded.id_token_sealed, signed_in_at = excluded.signed_in_at`,
    [id, sessionId, linkId, sid ?? null, idTokenSealed ?? null, since, userId],
  )
}
