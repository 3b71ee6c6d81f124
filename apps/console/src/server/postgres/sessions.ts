import type { Database } from '@gatehouse/kit'
import { liveSince, maxSessionsPerUser, type Session } from '../session/session.ts'
import type { ProviderLogout, Sessions } from '../session/store.ts'

interface SessionRow {
  readonly id_hash: string
  readonly user_id: string
  readonly provider_session_id: string
  readonly tokens_sealed: string
  readonly tokens_expire_at: number
  readonly generation: number
  readonly created_at: number
  readonly seen_at: number
}

const columns = `id_hash, user_id, provider_session_id, tokens_sealed, tokens_expire_at, generation, created_at, seen_at`
const maxRemoved = 500

function sessionOf(row: SessionRow): Session {
  return {
    idHash: row.id_hash,
    userId: row.user_id,
    providerSessionId: row.provider_session_id,
    tokensSealed: row.tokens_sealed,
    tokensExpireAt: row.tokens_expire_at,
    generation: row.generation,
    createdAt: row.created_at,
    seenAt: row.seen_at,
  }
}

/** Sessions in `console.session`. */
export class PostgresSessions implements Sessions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async start(session: Session, replaces: string | undefined): Promise<void> {
    const { createdAfter, seenAfter } = liveSince(session.createdAt)
    await this.#database.pipeline([
      {
        text: `DELETE FROM console.session WHERE id_hash IN (
                 SELECT id_hash FROM console.session WHERE seen_at <= $1 OR created_at <= $2
                 ORDER BY id_hash LIMIT ${maxRemoved} FOR UPDATE SKIP LOCKED)`,
        values: [seenAfter, createdAfter],
      },
      { text: 'DELETE FROM console.session WHERE id_hash = $1', values: [replaces ?? null] },
      {
        text: `INSERT INTO console.session (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [
          session.idHash,
          session.userId,
          session.providerSessionId,
          session.tokensSealed,
          session.tokensExpireAt,
          session.generation,
          session.createdAt,
          session.seenAt,
        ],
      },
      {
        text: `DELETE FROM console.session WHERE id_hash IN (
                 SELECT id_hash FROM console.session WHERE user_id = $1
                 ORDER BY created_at DESC, id_hash OFFSET ${maxSessionsPerUser})`,
        values: [session.userId],
      },
    ])
  }

  async find(idHash: string, now: number): Promise<Session | undefined> {
    const { createdAfter, seenAfter } = liveSince(now)
    const { rows } = await this.#database.query<SessionRow>({
      name: 'console_session_find',
      text: `SELECT ${columns} FROM console.session WHERE id_hash = $1 AND created_at > $2 AND seen_at > $3`,
      values: [idHash, createdAfter, seenAfter],
    })
    return rows[0] && sessionOf(rows[0])
  }

  async touch(idHash: string, now: number): Promise<void> {
    await this.#database.query('UPDATE console.session SET seen_at = greatest(seen_at, $2) WHERE id_hash = $1', [
      idHash,
      now,
    ])
  }

  async end(idHash: string): Promise<Session | undefined> {
    const { rows } = await this.#database.query<SessionRow>(
      `DELETE FROM console.session WHERE id_hash = $1 RETURNING ${columns}`,
      [idHash],
    )
    return rows[0] && sessionOf(rows[0])
  }

  async endByProvider(logout: ProviderLogout): Promise<readonly string[]> {
    const [column, value] =
      'userId' in logout ? ['user_id', logout.userId] : ['provider_session_id', logout.providerSessionId]
    const { rows } = await this.#database.query<{ id_hash: string }>(
      `DELETE FROM console.session WHERE ${column} = $1 RETURNING id_hash`,
      [value],
    )
    return rows.map((row) => row.id_hash)
  }
}
