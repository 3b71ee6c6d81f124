import type { Database } from '@gatehouse/kit'
import { maxPreviewBytesPerSession, maxPreviewsPerSession, type Preview, type Previews } from '../preview/store.ts'

const maxRemoved = 500

/** Previews in `console.preview`. */
export class PostgresPreviews implements Previews {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async keep({ idHash, sessionIdHash, document, expiresAt }: Preview, now: number): Promise<boolean> {
    const [, , kept] = await this.#database.pipeline([
      {
        text: `DELETE FROM console.preview WHERE id_hash IN (
                 SELECT id_hash FROM console.preview WHERE expires_at <= $1
                 ORDER BY id_hash LIMIT ${maxRemoved} FOR UPDATE SKIP LOCKED)`,
        values: [now],
      },
      {
        text: `DELETE FROM console.preview WHERE id_hash IN (
                 SELECT id_hash FROM (
                   SELECT id_hash, row_number() OVER newest AS place, sum(octet_length(document)) OVER newest AS bytes
                     FROM console.preview WHERE session_id_hash = $1
                   WINDOW newest AS (ORDER BY expires_at DESC, id_hash)) AS each
                  WHERE place >= ${maxPreviewsPerSession} OR bytes > $2)`,
        values: [sessionIdHash, maxPreviewBytesPerSession - Buffer.byteLength(document)],
      },
      {
        text: `INSERT INTO console.preview (id_hash, session_id_hash, document, expires_at)
               SELECT $1, id_hash, $3, $4 FROM console.session WHERE id_hash = $2`,
        values: [idHash, sessionIdHash, document, expiresAt],
      },
    ])
    return kept?.rowCount === 1
  }

  async find(
    { idHash, sessionIdHash }: Pick<Preview, 'idHash' | 'sessionIdHash'>,
    now: number,
  ): Promise<string | undefined> {
    const { rows } = await this.#database.query<{ document: string }>(
      'SELECT document FROM console.preview WHERE id_hash = $1 AND session_id_hash = $2 AND expires_at > $3',
      [idHash, sessionIdHash, now],
    )
    return rows[0]?.document
  }
}
