import type { Database } from '@gatehouse/kit'
import type { Purge } from '../store.ts'

/** Codes are kept a while beyond their end, so that a replay is still known as one, and a device told what happened. */
const codeKeptMs = 10 * 60_000

/** What has ended, table by table: `$1` is now. */
const ended: readonly (readonly [table: string, key: string, condition: string])[] = [
  ['authorization_code', 'hash', `expires_at < $1::bigint - ${codeKeptMs}`],
  ['device_code', 'hash', `expires_at < $1::bigint - ${codeKeptMs}`],
  ['pushed_request', 'hash', 'expires_at < $1'],
  ['access_token', 'hash', 'expires_at < $1'],
  ['refresh_family', 'grant_id', 'expires_at < $1'],
  [
    'grant_record',
    'id',
    'expires_at < $1 AND NOT EXISTS (SELECT FROM identity.refresh_family f WHERE f.grant_id = grant_record.id)',
  ],
  ['session', 'id', 'expires_at < $1'],
  ['revocation', 'position', 'expires_at < $1'],
  ['mailed_link', 'hash', 'expires_at < $1'],
  ['sign_in_link', 'hash', 'expires_at < $1'],
  ['registration', 'hash', 'expires_at < $1'],
  ['outbox', 'id', 'expires_at < $1'],
  ['api_key', 'id', 'expires_at < $1'],
]

/** Removes what has ended, in batches small enough to hold no lock for long. */
export class PostgresPurge implements Purge {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async purge(now: number, auditBefore: number, most: number): Promise<Record<string, number>> {
    const gone: Record<string, number> = {}
    for (const [table, key, condition] of ended) {
      gone[table] = await this.#delete(`identity.${table}`, key, condition, now, most)
    }
    gone.audit_event = await this.#delete('identity.audit_event', 'id', 'at < $1', auditBefore, most)
    const used = await this.#database.query(
      `DELETE FROM identity.used_once WHERE (purpose, hash) IN
         (SELECT purpose, hash FROM identity.used_once WHERE expires_at < $1 LIMIT $2)`,
      [now, most],
    )
    gone.used_once = used.rowCount
    return gone
  }

  async #delete(table: string, key: string, condition: string, at: number, most: number): Promise<number> {
    const text = `DELETE FROM ${table} WHERE ${key} = ANY(ARRAY(SELECT ${key} FROM ${table} WHERE ${condition} LIMIT $2))`
    return (await this.#database.query(text, [at, most])).rowCount
  }
}
