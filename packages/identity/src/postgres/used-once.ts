import type { Database } from '@gatehouse/kit'
import type { UsedOnce } from '../store/index.ts'

export class PostgresUsedOnce implements UsedOnce {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async use(purpose: string, hash: string, expiresAt: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      'INSERT INTO identity.used_once (purpose, hash, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [purpose, hash, expiresAt],
    )
    return rowCount === 1
  }
}
