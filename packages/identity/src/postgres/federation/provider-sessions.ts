import type { Transaction } from '@gatehouse/kit'
import type { Session } from '../../model/grants/session.ts'
import type { ProviderSessionRecord } from '../../store/index.ts'

/**
 * Stores through which link a session was signed in to, in the transaction that writes the session. Without effect when
 * the link was deleted meanwhile with its connection.
 */
export async function putProviderSession(
  tx: Transaction,
  { id: sessionId, userId, seenAt }: Session,
  { id, linkId, sid, idTokenSealed }: ProviderSessionRecord,
): Promise<void> {
  await tx.query(
    `INSERT INTO identity.provider_session (id, session_id, link_id, sid, id_token_sealed, signed_in_at)
     SELECT $1, $2, l.id, $4, $5, $6 FROM identity.linked_account l WHERE l.id = $3 AND l.user_id = $7
     ON CONFLICT (session_id, link_id) DO UPDATE SET id = excluded.id, sid = excluded.sid,
       id_token_sealed = excluded.id_token_sealed, signed_in_at = excluded.signed_in_at`,
    [id, sessionId, linkId, sid ?? null, idTokenSealed ?? null, seenAt, userId],
  )
}
