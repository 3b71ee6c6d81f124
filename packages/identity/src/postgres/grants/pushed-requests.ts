import type { Database, Transaction } from '@gatehouse/kit'
import type { GrantRecord } from '../../model/grants/grant.ts'
import type { PushedSignIn } from '../../model/grants/pushed-request.ts'
import type { PushedRequest, PushedRequests } from '../../store/index.ts'

/** How far the clocks of two processes may differ, in milliseconds: a used request outlives the last sign-in with it. */
const clocksMs = 60_000

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

  async find(hash: string, clientId: string, now: number): Promise<PushedRequest | undefined> {
    const { rows } = await this.#database.query<PushedRequest>(
      `SELECT parameters, expires_at AS "expiresAt" FROM identity.pushed_request
       WHERE hash = $1 AND client_id = $2 AND expires_at > $3 AND used_by IS NULL`,
      [hash, clientId, now],
    )
    return rows[0]
  }
}

/**
 * Uses up a pushed request, which may have expired and been deleted since its page was opened. True for one session in
 * one sign-in, whose user may have clicked twice.
 */
export async function usePushedRequest(
  tx: Transaction,
  { hash, id, until }: PushedSignIn,
  { clientId, sessionId }: Pick<GrantRecord, 'clientId' | 'sessionId'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO identity.pushed_request AS r (hash, client_id, parameters, used_by, expires_at) VALUES ($1, $2, '{}', $3, $4)
     ON CONFLICT (hash) DO UPDATE SET parameters = '{}', used_by = excluded.used_by, expires_at = excluded.expires_at
     WHERE r.used_by IS NULL OR r.used_by = excluded.used_by`,
    [hash, clientId, `${sessionId} ${id}`, until + clocksMs],
  )
  return rowCount === 1
}
