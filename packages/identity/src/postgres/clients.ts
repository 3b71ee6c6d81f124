import type { Database, Transaction } from '@gatehouse/kit'
import type { Client } from '../model/client.ts'
import { commitMarginMs, type RevocationTimes, revokedBefore } from '../model/grants/revocation-times.ts'
import type { ClientPolicy } from '../model/limit-settings.ts'
import {
  type ClientFilter,
  type ClientRemoval,
  type Clients,
  type ExpectedClient,
  NameConflict,
  type NewClient,
  type WriteResult,
} from '../store/index.ts'
import { putMessages } from './operations/outbox.ts'
import { type ClientRow, clientOf, prefixPattern } from './rows.ts'
import { appendRevocations, lockRevocations } from './tokens/revocations.ts'
import { reserveSubject } from './users/subjects.ts'

const select = `SELECT client.id, plan, secret_hashes, retiring_secret_hashes, retiring_until, metadata, created_at, updated_at, last_used_at
  FROM identity.client JOIN identity.subject USING (id)`

/** Clients in `identity.client`. */
export class PostgresClients implements Clients {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(id: string): Promise<Client | undefined> {
    const text = `${select} WHERE client.id = $1`
    const { rows } = await this.#database.query<ClientRow>({ name: 'identity client', text, values: [id] })
    return rows[0] && clientOf(rows[0])
  }

  async list(after: string, limit: number, { q, grantType, scope, policy }: ClientFilter = {}): Promise<Client[]> {
    const text = `${select} WHERE client.id > $1
       AND ($3::text IS NULL OR lower(client.id) LIKE $3 OR lower(metadata->>'name') LIKE $3)
       AND ($4::text IS NULL OR metadata->'grantTypes' ? $4) AND ($5::text IS NULL OR metadata->'scopes' ? $5)
       AND ($6::text IS NULL OR metadata->>'policy' = $6)
     ORDER BY client.id LIMIT $2`
    const values = [after, limit, prefixPattern(q?.toLowerCase()), grantType ?? null, scope ?? null, policy ?? null]
    return (await this.#database.query<ClientRow>(text, values)).rows.map(clientOf)
  }

  async listPolicies(limit: number): Promise<ClientPolicy[]> {
    const text = `SELECT id AS client, metadata->>'policy' AS policy FROM identity.client
      WHERE metadata->>'policy' IS NOT NULL ORDER BY id LIMIT $1`
    return (await this.#database.query<{ client: string; policy: string }>(text, [limit])).rows
  }

  create(client: NewClient, now: number): Promise<void> {
    return this.#database.transaction(async (tx) => {
      const written = await writeClient(tx, client, now)
      if (written === 'updated') throw new NameConflict('id', `the id ${client.id} belongs to another client`)
    })
  }

  update(client: NewClient, expected: ExpectedClient, now: number): Promise<'changed' | 'missing' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const state = await lockClient(tx, client.id, expected)
      if (state !== 'current') return state
      await writeClient(tx, client, now)
      return 'changed'
    })
  }

  remove(
    id: string,
    { cachedMs, expected }: ClientRemoval,
    times: () => RevocationTimes,
  ): Promise<'changed' | 'missing' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const state = expected === undefined ? 'current' : await lockClient(tx, id, expected)
      if (state !== 'current') return state
      const { rowCount } = await tx.query("DELETE FROM identity.subject WHERE id = $1 AND kind = 'client'", [id])
      if (rowCount === 0) return 'missing'
      await tx.query('DELETE FROM identity.access_token WHERE client_id = $1', [id])
      await tx.query('DELETE FROM identity.api_key WHERE owner = $1', [id])
      // The time is read after every wait: until the commit, and while it is cached, the client gets tokens.
      await lockRevocations(tx)
      const end = times()
      const before = revokedBefore(end.now + commitMarginMs + cachedMs)
      await appendRevocations(tx, [{ client: id, before }], end)
      return 'changed'
    })
  }
}

/** Locks a client until the end of the transaction, and compares it with what is expected. */
async function lockClient(
  tx: Transaction,
  id: string,
  { metadata, plan, secretHashes }: ExpectedClient,
): Promise<'current' | 'missing' | 'outdated'> {
  const { rows } = await tx.query<{ current: boolean }>(
    `SELECT metadata = $2::jsonb AND plan IS NOT DISTINCT FROM $3
            AND ($4::text[] IS NULL OR secret_hashes = $4) AS current
       FROM identity.client JOIN identity.subject USING (id) WHERE id = $1 FOR UPDATE`,
    [id, JSON.stringify(metadata), plan ?? null, secretHashes ?? null],
  )
  if (rows[0] === undefined) return 'missing'
  return rows[0].current ? 'current' : 'outdated'
}

/** Creates or updates a client; without secrets the existing ones stay. */
export async function writeClient(tx: Transaction, client: NewClient, now: number): Promise<WriteResult> {
  await reserveSubject(tx, client.id, 'client', client.plan)
  const { rows } = await tx.query<{ created: boolean }>(
    `INSERT INTO identity.client AS present (id, secret_hashes, metadata, created_at, updated_at)
     VALUES ($1, coalesce($2::text[], $5::text[]), $3, $4, $4)
     ON CONFLICT (id) DO UPDATE SET metadata = excluded.metadata, updated_at = excluded.updated_at,
       secret_hashes = coalesce($2::text[], present.secret_hashes),
       retiring_secret_hashes = CASE WHEN $2::text[] IS NULL THEN present.retiring_secret_hashes ELSE $6::text[] END,
       retiring_until = CASE WHEN $2::text[] IS NULL THEN present.retiring_until ELSE $7 END
     RETURNING xmax = 0 AS created`,
    [
      client.id,
      client.secretHashes ?? null,
      JSON.stringify(client.metadata),
      now,
      client.firstSecretHash === undefined ? [] : [client.firstSecretHash],
      client.retiringSecrets?.hashes ?? [],
      client.retiringSecrets?.until ?? 0,
    ],
  )
  await tx.query('DELETE FROM identity.client_logo WHERE client_id = $1 AND uri IS DISTINCT FROM $2', [
    client.id,
    client.metadata.logoUri ?? null,
  ])
  await putMessages(tx, client.messages ?? [])
  return rows[0]?.created ? 'created' : 'updated'
}
