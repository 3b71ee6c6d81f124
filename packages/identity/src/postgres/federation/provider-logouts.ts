import type { Database } from '@gatehouse/kit'
import type {
  EndedSession,
  ProviderLogout,
  ProviderSessions,
  SignOutOptions,
  StoredProviderSession,
  WaitingProviderSession,
} from '../../store/index.ts'
import { deleteRefreshFamilies } from '../grants/ended-grants.ts'
import { orUndefined } from '../rows.ts'
import { endSessions } from '../sessions.ts'
import { isVoidAtProvider, recordProviderLogout } from './provider-sessions.ts'

/**
 * The links at connection `$1` and issuer `$2` with the sessions that a logout is about: of subject `$3`, of session `$4`
 * there, or of both. A session whose ID token named none there ends with any of its user.
 */
const matching = `identity.linked_account l LEFT JOIN identity.provider_session p ON p.link_id = l.id
  WHERE l.connection_id = $1 AND l.issuer = $2 AND ($3::text IS NULL OR l.subject = $3)
    AND ($4::text IS NULL OR p.sid = $4 OR (p.sid IS NULL AND $3 IS NOT NULL))`

/** Sessions through providers in `identity.provider_session`. */
export class PostgresProviderSessions implements ProviderSessions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(sessionId: string): Promise<StoredProviderSession | undefined> {
    const { rows } = await this.#database.query<{ id: string; connection_id: string; id_token_sealed: string | null }>(
      `SELECT p.id, l.connection_id, p.id_token_sealed
       FROM identity.provider_session p JOIN identity.linked_account l ON l.id = p.link_id
       WHERE p.session_id = $1 ORDER BY p.signed_in_at DESC LIMIT 1`,
      [sessionId],
    )
    const [row] = rows
    return row && { id: row.id, connectionId: row.connection_id, idTokenSealed: orUndefined(row.id_token_sealed) }
  }

  isVoid(waiting: WaitingProviderSession): Promise<boolean> {
    return this.#database.transaction((tx) => isVoidAtProvider(tx, waiting))
  }

  end(logout: ProviderLogout, end: SignOutOptions): Promise<readonly EndedSession[] | 'replayed'> {
    const { connectionId, issuer, subject, sid, tokenHash, expiresAt } = logout
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        'INSERT INTO identity.replay_cache (purpose, hash, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [`logout token ${connectionId}`, tokenHash, expiresAt],
      )
      if (rowCount === 0) return 'replayed'
      await recordProviderLogout(tx, logout, end.now)
      const values = [connectionId, issuer, subject ?? null, sid ?? null]
      // The account is locked first, as by every statement that ends sessions: a sign-in under way ends too.
      const users = await tx.query<{ id: string }>(
        `SELECT a.id FROM identity.account a WHERE a.id IN (SELECT l.user_id FROM ${matching}) ORDER BY a.id
         FOR NO KEY UPDATE`,
        values,
      )
      const ended: EndedSession[] = []
      const grants: { readonly id: string }[] = []
      for (const { id: userId } of users.rows) {
        const text = `SELECT p.session_id FROM ${matching} AND l.user_id = $5 AND p.session_id IS NOT NULL`
        const { rows } = await tx.query<{ session_id: string }>(text, [...values, userId])
        const only = rows.map((row) => row.session_id)
        grants.push(...(await endSessions(tx, userId, { only }, end)).grants)
        ended.push(...only.map((id) => ({ id, userId })))
      }
      await deleteRefreshFamilies(tx, grants, end)
      return ended
    })
  }
}
