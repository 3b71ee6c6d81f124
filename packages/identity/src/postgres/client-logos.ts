import type { Database } from '@gatehouse/kit'
import type { ClientLogo, ClientLogos } from '../store/index.ts'

/**
 * The client's row is locked, so that a logo of an address that is being replaced is either deleted by that change or not
 * stored at all.
 */
const put = `WITH current AS (
    SELECT id FROM identity.client WHERE id = $1 AND metadata->>'logoUri' = $2 FOR SHARE
  )
  INSERT INTO identity.client_logo (client_id, uri, hash, media_type, content, fetched_at)
  SELECT id, $2, $3, $4, $5, $6 FROM current
  ON CONFLICT (client_id) DO UPDATE SET uri = excluded.uri, hash = excluded.hash, media_type = excluded.media_type,
    content = excluded.content, fetched_at = excluded.fetched_at`

/** Logos in `identity.client_logo`. */
export class PostgresClientLogos implements ClientLogos {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async findHash(clientId: string, uri: string): Promise<string | undefined> {
    const text = 'SELECT hash FROM identity.client_logo WHERE client_id = $1 AND uri = $2'
    return (await this.#database.query<{ hash: string }>(text, [clientId, uri])).rows[0]?.hash
  }

  async find(hash: string): Promise<ClientLogo | undefined> {
    const text = 'SELECT media_type, content FROM identity.client_logo WHERE hash = $1 LIMIT 1'
    const { rows } = await this.#database.query<{ media_type: string; content: Uint8Array }>(text, [hash])
    return rows[0] && { hash, mediaType: rows[0].media_type, content: rows[0].content }
  }

  async put(clientId: string, uri: string, { hash, mediaType, content }: ClientLogo, now: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(put, [clientId, uri, hash, mediaType, content, now])
    return (rowCount ?? 0) > 0
  }
}
