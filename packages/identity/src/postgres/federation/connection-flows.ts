import type { Database } from '@gatehouse/kit'
import type { ConnectionFlow, ConnectionFlows, ConsumedFlow } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface FlowRow {
  readonly flow_sealed: string
  readonly continuation: string
  readonly response_sealed: string | null
}

/** Flows in `identity.connection_flow`. */
export class PostgresConnectionFlows implements ConnectionFlows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async put({ hash, connectionId, browserHash, sealed, continuation, expiresAt }: ConnectionFlow): Promise<void> {
    await this.#database.query(
      `INSERT INTO identity.connection_flow (hash, connection_id, browser_hash, flow_sealed, continuation, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [hash, connectionId, browserHash, sealed, continuation, expiresAt],
    )
  }

  async putResponse(hash: string, connectionId: string, responseSealed: string, now: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `UPDATE identity.connection_flow SET response_sealed = $3
       WHERE hash = $1 AND connection_id = $2 AND response_sealed IS NULL AND expires_at > $4`,
      [hash, connectionId, responseSealed, now],
    )
    return rowCount === 1
  }

  async consume(
    { hash, connectionId, browserHash }: Pick<ConnectionFlow, 'hash' | 'connectionId' | 'browserHash'>,
    now: number,
  ): Promise<ConsumedFlow | undefined> {
    const { rows } = await this.#database.query<FlowRow>(
      `DELETE FROM identity.connection_flow
       WHERE hash = $1 AND connection_id = $2 AND browser_hash = $3 AND expires_at > $4
       RETURNING flow_sealed, continuation, response_sealed`,
      [hash, connectionId, browserHash, now],
    )
    const [row] = rows
    if (row === undefined) return undefined
    return {
      sealed: row.flow_sealed,
      continuation: row.continuation,
      responseSealed: orUndefined(row.response_sealed),
    }
  }
}
