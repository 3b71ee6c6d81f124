import type { Database, Transaction } from '@gatehouse/kit'
import type { Client } from '../model/client.ts'
import { type RevocationTimes, revokedBefore } from '../model/revocation-times.ts'
import { type Clients, type ExpectedClient, NameConflict, type NewClient, type WriteResult } from '../store/index.ts'
import { putMessages } from './operations/outbox.ts'
import { type ClientRow, clientOf } from './rows.ts'
import { appendRevocations } from './tokens/revocations.ts'
import { reserveSubject } from './users/subjects.ts'

const select = `SELECT client.id, plan, secret_hashes, metadata, created_at, updated_at
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

  async list(after: string, limit: number): Promise<Client[]> {
    const text = `${select} WHERE client.id > $1 ORDER BY client.id LIMIT $2`
    return (await this.#database.query<ClientRow>(text, [after, limit])).rows.map(clientOf)
  }

  create(client: NewClient, now: number): Promise<void> {
    return this.#database.transaction(async (tx) => {
      const written = await writeClient(tx, client, now)
      if (written === 'updated') throw new NameConflict('id', `the id ${client.id} belongs to another client`)
    })
  }

  update(client: NewClient, expected: ExpectedClient, now: number): Promise<'changed' | 'missing' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      const { rows } = await tx.query<{ current: boolean }>(
        `SELECT metadata = $2::jsonb AND plan IS NOT DISTINCT FROM $3 AS current
           FROM identity.client JOIN identity.subject USING (id) WHERE id = $1 FOR UPDATE`,
        [client.id, JSON.stringify(expected.metadata), expected.plan ?? null],
      )
      if (rows[0] === undefined) return 'missing'
      if (!rows[0].current) return 'outdated'
      await writeClient(tx, client, now)
      return 'changed'
    })
  }

  remove(id: string, forgottenAt: number, end: RevocationTimes): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query("DELETE FROM identity.subject WHERE id = $1 AND kind = 'client'", [id])
      if (rowCount === 0) return false
      await tx.query('DELETE FROM identity.access_token WHERE client_id = $1', [id])
      await tx.query('DELETE FROM identity.api_key WHERE owner = $1', [id])
      await appendRevocations(tx, [{ client: id, before: revokedBefore(forgottenAt) }], end)
      return true
    })
  }
}

/** Creates or updates a client; without secrets the existing ones stay. */
export async function writeClient(tx: Transaction, client: NewClient, now: number): Promise<WriteResult> {
  await reserveSubject(tx, client.id, 'client', client.plan)
  const { rows } = await tx.query<{ created: boolean }>(
    `INSERT INTO identity.client (id, secret_hashes, metadata, created_at, updated_at)
     VALUES ($1, coalesce($2::text[], $5::text[]), $3, $4, $4)
     ON CONFLICT (id) DO UPDATE SET metadata = excluded.metadata, updated_at = excluded.updated_at,
       secret_hashes = coalesce($2::text[], identity.client.secret_hashes)
     RETURNING xmax = 0 AS created`,
    [
      client.id,
      client.secretHashes ?? null,
      JSON.stringify(client.metadata),
      now,
      client.firstSecretHash === undefined ? [] : [client.firstSecretHash],
    ],
  )
  await tx.query('DELETE FROM identity.client_logo WHERE client_id = $1 AND uri IS DISTINCT FROM $2', [
    client.id,
    client.metadata.logoUri ?? null,
  ])
  await putMessages(tx, client.messages ?? [])
  return rows[0]?.created ? 'created' : 'updated'
}
