import type { Database, Transaction } from '@gatehouse/kit'
import type { Client } from '../client.ts'
import type { Clients, NewClient, Written } from '../store.ts'
import { type ClientRow, clientOf } from './rows.ts'
import { claimSubject } from './subjects.ts'

const select = `SELECT client.id, plan, secret_hashes, metadata, created_at, updated_at
  FROM identity.client JOIN identity.subject USING (id)`

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
}

/** Makes or changes a client; its secrets stay when none are given. */
export async function writeClient(tx: Transaction, client: NewClient, now: number): Promise<Written> {
  await claimSubject(tx, client.id, 'client', client.plan)
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
  return rows[0]?.created ? 'created' : 'updated'
}
