import type { Database } from '@gatehouse/kit'
import type { LastUse, LastUseStore } from '../../store/index.ts'

/** A use is recorded when it is this much later than the one before, in milliseconds. */
const recordedEveryMs = 60_000

/** The column `last_used_at` of clients and API keys. */
export class PostgresLastUses implements LastUseStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async record(uses: readonly LastUse[]): Promise<void> {
    await this.#record('client', 'text', uses)
    await this.#record('api_key', 'uuid', uses)
  }

  /** Rows are locked in the order of their ids: processes that record the same uses wait for each other. */
  async #record(table: LastUse['kind'], idType: 'text' | 'uuid', uses: readonly LastUse[]): Promise<void> {
    const own = uses.filter(({ kind }) => kind === table)
    if (own.length === 0) return
    await this.#database.query(
      `WITH due AS (
         SELECT id, at FROM identity.${table} JOIN unnest($1::${idType}[], $2::bigint[]) AS used (id, at) USING (id)
          WHERE last_used_at IS NULL OR last_used_at + $3 <= at ORDER BY id FOR NO KEY UPDATE OF ${table})
       UPDATE identity.${table} SET last_used_at = due.at FROM due WHERE ${table}.id = due.id`,
      [own.map(({ id }) => id), own.map(({ at }) => at), recordedEveryMs],
    )
  }
}
