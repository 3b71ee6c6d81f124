import type { Database } from '@gatehouse/kit'
import type { ReplayCache } from '../store/index.ts'

/** The replay cache in `identity.replay_cache`. */
export class PostgresReplayCache implements ReplayCache {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async add(purpose: string, hash: string, expiresAt: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      'INSERT INTO identity.replay_cache (purpose, hash, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [purpose, hash, expiresAt],
    )
    return rowCount === 1
  }
}
