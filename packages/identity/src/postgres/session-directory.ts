import type { Database } from '@gatehouse/kit'
import type { ListedSession, SessionCursor, SessionDirectory, SessionFilter, SignOutOptions } from '../store/index.ts'
import { deleteRefreshFamilies } from './grants/ended-grants.ts'
import { endSessions, type SessionRow, sessionColumns, sessionOf } from './sessions.ts'

interface ListedRow extends SessionRow {
  readonly client_ids: string[]
  readonly new_address: boolean
  readonly new_device: boolean
}

/** Finds and ends the sessions of many users, by the indexes of `identity.session`. */
export class PostgresSessionDirectory implements SessionDirectory {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(
    { userId, clientId, address, id, isNew, except }: SessionFilter,
    after: SessionCursor | undefined,
    limit: number,
    now: number,
  ): Promise<ListedSession[]> {
    const values: unknown[] = [now]
    const bind = (value: unknown) => `$${values.push(value)}`
    const conditions = ['n.expires_at > $1']
    if (userId !== undefined) conditions.push(`n.user_id = ${bind(userId)}`)
    if (address !== undefined) conditions.push(`n.address = ${bind(address)}`)
    if (id !== undefined) conditions.push(`n.id = ${bind(id)}::uuid`)
    if (isNew) conditions.push('(n.new_address OR n.new_device)')
    if (except !== undefined) conditions.push(`n.id <> ${bind(except)}::uuid`)
    if (clientId !== undefined)
      conditions.push(`EXISTS (SELECT 1 FROM identity.session_client used
        WHERE used.session_id = n.id AND used.client_id = ${bind(clientId)})`)
    if (after !== undefined)
      conditions.push(`(n.created_at, n.id) < (${bind(after.createdAt)}::bigint, ${bind(after.id)}::uuid)`)
    const { rows } = await this.#database.query<ListedRow>(
      `SELECT ${sessionColumns}, n.new_address, n.new_device, ARRAY(
         SELECT c.client_id FROM identity.session_client c WHERE c.session_id = n.id ORDER BY c.client_id LIMIT 100
       ) AS client_ids
       FROM identity.session n WHERE ${conditions.join(' AND ')}
       ORDER BY n.created_at DESC, n.id DESC LIMIT ${bind(limit)}`,
      values,
    )
    return rows.map((row) => ({
      ...sessionOf(row),
      clientIds: row.client_ids,
      isNewAddress: row.new_address,
      isNewDevice: row.new_device,
    }))
  }

  end(userId: string, ids: readonly string[] | undefined, end: SignOutOptions): Promise<number> {
    return this.#database.transaction(async (tx) => {
      // As by every statement that ends sessions of a user: a sign-in under way ends too, and nothing deadlocks.
      await tx.query('SELECT 1 FROM identity.account WHERE id = $1 FOR NO KEY UPDATE', [userId])
      const { sessions, grants } = await endSessions(tx, userId, { only: ids }, end)
      await deleteRefreshFamilies(tx, grants, end)
      return sessions
    })
  }
}
