import { type Database, type Queryable, sqlState } from '@gatehouse/kit'
import type { Connection } from '../../model/connection.ts'
import { type Connections, type NewConnection, OrganizationConflict, type WriteResult } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface ConnectionRow {
  readonly id: string
  readonly settings: Connection['settings']
  readonly secret_sealed: string | null
  readonly created_at: number
  readonly updated_at: number
}

const select = 'SELECT id, settings, secret_sealed, created_at, updated_at FROM identity.connection'

/** Connections in `identity.connection`. */
export class PostgresConnections implements Connections {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: string): Promise<Connection | undefined> {
    const { rows } = await this.#database.query<ConnectionRow>(`${select} WHERE id = $1`, [id])
    return rows[0] && connectionOf(rows[0])
  }

  async list(): Promise<Connection[]> {
    return (await this.#database.query<ConnectionRow>(`${select} ORDER BY id`)).rows.map(connectionOf)
  }

  async create({ id, settings, secretSealed }: NewConnection, now: number): Promise<'created' | 'conflict'> {
    const { rowCount } = await reportConflict(
      this.#database,
      settings,
      `INSERT INTO identity.connection (id, settings, secret_sealed, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $4) ON CONFLICT (id) DO NOTHING`,
      [id, JSON.stringify(settings), secretSealed ?? null, now],
    )
    return rowCount === 1 ? 'created' : 'conflict'
  }

  async update(
    { id, settings, secretSealed }: NewConnection,
    expected: Pick<Connection, 'settings' | 'updatedAt'>,
    now: number,
  ): Promise<'changed' | 'missing' | 'outdated'> {
    const { rowCount } = await reportConflict(
      this.#database,
      settings,
      `UPDATE identity.connection SET settings = $2, secret_sealed = coalesce($3, secret_sealed),
         updated_at = greatest($4, updated_at + 1)
       WHERE id = $1 AND settings = $5::jsonb AND updated_at = $6`,
      [id, JSON.stringify(settings), secretSealed ?? null, now, JSON.stringify(expected.settings), expected.updatedAt],
    )
    if (rowCount === 1) return 'changed'
    return (await this.find(id)) === undefined ? 'missing' : 'outdated'
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#database.query('DELETE FROM identity.connection WHERE id = $1', [id])).rowCount === 1
  }
}

const constraints: Readonly<Record<string, string>> = {
  '23503': 'there is no organization',
  '23505': 'another connection belongs to the organization',
}

/** Runs a statement that writes the settings. @throws OrganizationConflict when they name an organization in vain */
async function reportConflict<Row extends object>(
  on: Queryable,
  { organization }: NewConnection['settings'],
  text: string,
  values: readonly unknown[],
) {
  try {
    return await on.query<Row>(text, values)
  } catch (error) {
    const fault = constraints[sqlState(error) ?? '']
    if (organization === undefined || fault === undefined) throw error
    throw new OrganizationConflict(`${fault} ${organization}`)
  }
}

/**
 * Creates or updates a declared connection; the declaration names its secrets, so they are replaced.
 * @throws OrganizationConflict
 */
export async function writeConnection(
  on: Queryable,
  { id, settings, secretSealed }: NewConnection,
  now: number,
): Promise<WriteResult> {
  const { rows } = await reportConflict<{ created: boolean }>(
    on,
    settings,
    `INSERT INTO identity.connection (id, settings, secret_sealed, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, secret_sealed = excluded.secret_sealed,
       updated_at = excluded.updated_at
     RETURNING xmax = 0 AS created`,
    [id, JSON.stringify(settings), secretSealed ?? null, now],
  )
  return rows[0]?.created ? 'created' : 'updated'
}

function connectionOf(row: ConnectionRow): Connection {
  return {
    id: row.id,
    settings: row.settings,
    secretSealed: orUndefined(row.secret_sealed),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
