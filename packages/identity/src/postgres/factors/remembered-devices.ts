import type { Database } from '@gatehouse/kit'
import type { OutboxMessage, RememberedDevice, RememberedDevices } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'

interface DeviceRow {
  readonly id: string
  readonly user_agent: string
  readonly created_at: number
  readonly expires_at: number
}

/** The devices `d` of the user `$1` whose credentials are those of the account `a`, at the time `$2`. */
const valid = `identity.remembered_device d JOIN identity.account a ON a.id = d.user_id
  AND a.credential_version = d.credential_version WHERE d.user_id = $1 AND d.expires_at > $2`

/** Remembered devices in `identity.remembered_device`. */
export class PostgresRememberedDevices implements RememberedDevices {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  add(
    { id, userId, userAgent, createdAt, expiresAt }: RememberedDevice,
    hash: string,
    credentialVersion: string,
    messages: readonly OutboxMessage[],
  ): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `INSERT INTO identity.remembered_device (id, user_id, hash, credential_version, user_agent, created_at, expires_at)
         SELECT $1, a.id, $3, a.credential_version, $5, $6, $7 FROM identity.account a
         WHERE a.id = $2 AND a.credential_version = $4`,
        [id, userId, hash, credentialVersion, userAgent, createdAt, expiresAt],
      )
      if (rowCount === 1) await putMessages(tx, messages)
      return rowCount === 1
    })
  }

  async isValid(hash: string, userId: string, now: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(`SELECT 1 FROM ${valid} AND d.hash = $3`, [userId, now, hash])
    return rowCount === 1
  }

  async listByUser(userId: string, now: number): Promise<RememberedDevice[]> {
    const { rows } = await this.#database.query<DeviceRow>(
      `SELECT d.id, d.user_agent, d.created_at, d.expires_at FROM ${valid} ORDER BY d.created_at DESC LIMIT 100`,
      [userId, now],
    )
    return rows.map((row) => ({
      id: row.id,
      userId,
      userAgent: row.user_agent,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }))
  }

  async remove(userId: string, id: string | undefined): Promise<number> {
    const { rowCount } = await this.#database.query(
      'DELETE FROM identity.remembered_device WHERE user_id = $1 AND ($2::uuid IS NULL OR id = $2)',
      [userId, id ?? null],
    )
    return rowCount
  }
}
