import type { Database, Queryable } from '@gatehouse/kit'
import { type LimitDocument, type LimitVersion, maxLimitVersions } from '../../model/limit-settings.ts'
import type { LimitVersions, NewLimitVersion } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface VersionRow {
  readonly version: number
  readonly document: LimitDocument
  readonly origin: LimitVersion['origin']
  readonly author: string | null
  readonly comment: string
  readonly restored: number | null
  readonly created_at: number
}

const select = 'SELECT version, document, origin, author, comment, restored, created_at FROM identity.limit_version'
type Merge = Parameters<LimitVersions['applyFile']>[1]

const maxAttempts = 10
const newest = `${select} ORDER BY version DESC LIMIT 1`

/** Versions in `identity.limit_version`, one row each: a version is there as a whole or not at all. */
export class PostgresLimitVersions implements LimitVersions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  current(): Promise<LimitVersion | undefined> {
    return readCurrent(this.#database)
  }

  async find(version: number): Promise<LimitVersion | undefined> {
    const { rows } = await this.#database.query<VersionRow>(`${select} WHERE version = $1`, [version])
    return rows[0] && parseVersion(rows[0])
  }

  async list(before: number | undefined, limit: number): Promise<LimitVersion[]> {
    const text = `${select} WHERE $1::integer IS NULL OR version < $1 ORDER BY version DESC LIMIT $2`
    return (await this.#database.query<VersionRow>(text, [before ?? null, limit])).rows.map(parseVersion)
  }

  append(after: number, version: NewLimitVersion): Promise<boolean> {
    return this.#database.transaction((tx) => append(tx, after, version))
  }

  async applyFile(file: LimitDocument, merge: Merge): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++)
      if (await this.#database.transaction((tx) => applyFile(tx, file, merge))) return
    throw new Error('limits were edited again and again while the file was applied')
  }
}

/** False when a version was appended meanwhile: the file has to be merged with that one. */
async function applyFile(tx: Queryable, file: LimitDocument, merge: Merge): Promise<boolean> {
  const before = await lockFile(tx)
  const current = await readCurrent(tx)
  const version = merge(current, before)
  if (version !== undefined && !(await append(tx, current?.version ?? 0, version))) return false
  await tx.query('UPDATE identity.limit_file SET document = $1', [JSON.stringify(file)])
  return true
}

async function readCurrent(on: Queryable): Promise<LimitVersion | undefined> {
  const { rows } = await on.query<VersionRow>({ name: 'identity limits', text: newest, values: [] })
  return rows[0] && parseVersion(rows[0])
}

/** The row is there from the first file on; whoever applies one waits for whoever applies another. */
async function lockFile(tx: Queryable): Promise<LimitDocument | undefined> {
  await tx.query('INSERT INTO identity.limit_file (id) VALUES (1) ON CONFLICT DO NOTHING')
  const text = 'SELECT document FROM identity.limit_file FOR UPDATE'
  const { rows } = await tx.query<{ document: LimitDocument | null }>(text)
  return orUndefined(rows[0]?.document ?? null)
}

async function append(on: Queryable, after: number, version: NewLimitVersion): Promise<boolean> {
  const { document, origin, author, comment, restored, createdAt } = version
  const { rowCount } = await on.query(
    `INSERT INTO identity.limit_version (version, document, origin, author, comment, restored, created_at)
     SELECT $1, $2, $3, $4, $5, $6, $7
      WHERE coalesce((SELECT max(version) FROM identity.limit_version), 0) = $1 - 1
     ON CONFLICT (version) DO NOTHING`,
    [after + 1, JSON.stringify(document), origin, author ?? null, comment, restored ?? null, createdAt],
  )
  if (rowCount === 0) return false
  await on.query('DELETE FROM identity.limit_version WHERE version <= $1', [after + 1 - maxLimitVersions])
  return true
}

function parseVersion({ author, restored, created_at: createdAt, ...row }: VersionRow): LimitVersion {
  return { ...row, author: orUndefined(author), restored: orUndefined(restored), createdAt }
}
