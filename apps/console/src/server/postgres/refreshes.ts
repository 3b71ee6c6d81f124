import type { Database } from '@gatehouse/kit'
import type { Session } from '../session/session.ts'
import type { NewTokens, Refreshes } from '../session/store.ts'

/** The right to refresh, in `console.session`. */
export class PostgresRefreshes implements Refreshes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async acquire(
    { idHash, generation }: Pick<Session, 'idHash' | 'generation'>,
    now: number,
    leaseUntil: number,
  ): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `UPDATE console.session SET refresh_until = $4
        WHERE id_hash = $1 AND generation = $2 AND (refresh_until IS NULL OR refresh_until <= $3)`,
      [idHash, generation, now, leaseUntil],
    )
    return rowCount === 1
  }

  async store({ idHash, generation, tokensSealed, tokensExpireAt }: NewTokens): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `UPDATE console.session
          SET generation = $2, tokens_sealed = $3, tokens_expire_at = $4, refresh_until = NULL
        WHERE id_hash = $1 AND generation = $2 - 1`,
      [idHash, generation, tokensSealed, tokensExpireAt],
    )
    return rowCount === 1
  }

  async release({ idHash, generation }: Pick<Session, 'idHash' | 'generation'>): Promise<void> {
    await this.#database.query(
      'UPDATE console.session SET refresh_until = NULL WHERE id_hash = $1 AND generation = $2',
      [idHash, generation],
    )
  }
}
