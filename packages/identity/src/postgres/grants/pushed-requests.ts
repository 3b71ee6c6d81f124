import type { Database, Transaction } from '@gatehouse/kit'
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

  async find(hash: string, clientId: string, now: number): Promise<Record<string, string | string[]> | undefined> {
    const { rows } = await this.#database.query<{ parameters: Record<string, string | string[]> }>(
      'SELECT parameters FROM identity.pushed_request WHERE hash = $1 AND client_id = $2 AND expires_at > $3',
      [hash, clientId, now],
    )
    return rows[0]?.parameters
  }
}

/** Uses up a pushed request, which may have expired since its page was opened. True for exactly one transaction. */
export async function usePushedRequest(tx: Transaction, hash: string, clientId: string): Promise<boolean> {
  const text = 'DELETE FROM identity.pushed_request WHERE hash = $1 AND client_id = $2'
  return (await tx.query(text, [hash, clientId])).rowCount === 1
}
