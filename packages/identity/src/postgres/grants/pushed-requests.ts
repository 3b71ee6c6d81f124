import type { Database } from '@gatehouse/kit'
import type { PushedRequests } from '../../store/index.ts'

/** Pushed requests in `identity.pushed_request`. */
export class PostgresPushedRequests implements PushedRequests {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async put(hash: string, clientId: string, parameters: object, expiresAt: number): Promise<void> {
    await this.#database.query(
      'INSERT INTO identity.pushed_request (hash, client_id, parameters, expires_at) VALUES ($1, $2, $3, $4)',
      [hash, clientId, JSON.stringify(parameters), expiresAt],
    )
  }

  async consume(hash: string, clientId: string, now: number): Promise<Record<string, string | string[]> | undefined> {
    const { rows } = await this.#database.query<{ parameters: Record<string, string | string[]> }>(
      'DELETE FROM identity.pushed_request WHERE hash = $1 AND client_id = $2 AND expires_at > $3 RETURNING parameters',
      [hash, clientId, now],
    )
    return rows[0]?.parameters
  }
}
