import type { Database, Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import type { ListedRevocations, Revocation, Revocations } from '../../store/index.ts'

interface RevocationRow {
  readonly last: number
  /** Null in the only row where there is no entry. */
  readonly position: number | null
  readonly grant_id: string | null
  readonly subject: string | null
  readonly client_id: string | null
  readonly before: number | null
  readonly key_id: string | null
}

const listed = `SELECT newest.last, r.position, r.grant_id, r.subject, r.client_id, r.before, r.key_id
  FROM (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM identity.revocation_position_seq) newest
  LEFT JOIN LATERAL (SELECT * FROM identity.revocation
    WHERE position > $1 AND expires_at > $3 ORDER BY position LIMIT $2) r ON true
  ORDER BY r.position`

/** The revocation feed in `identity.revocation`. */
export class PostgresRevocations implements Revocations {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listAfter(position: number, limit: number, now: number): Promise<ListedRevocations> {
    const { rows } = await this.#database.query<RevocationRow>({
      name: 'identity revocations',
      text: listed,
      values: [position, limit, now],
    })
    const entries = rows.filter((row) => row.position !== null)
    return {
      revocations: entries.map(revocationOf),
      next: entries.at(-1)?.position ?? position,
      last: rows[0]?.last ?? 0,
    }
  }

  add(revocation: Revocation, end: RevocationTimes): Promise<void> {
    return this.#database.transaction((tx) => appendRevocations(tx, [revocation], end))
  }

  async isRevoked(token: { grantId: string; subject: string; clientId: string; issuedAt: number }): Promise<boolean> {
    const text = `SELECT 1 FROM identity.revocation WHERE grant_id = $1
      UNION ALL SELECT 1 FROM identity.revocation WHERE subject = $2 AND before > $4
      UNION ALL SELECT 1 FROM identity.revocation WHERE client_id = $3 AND before > $4 LIMIT 1`
    const values = [token.grantId, token.subject, token.clientId, token.issuedAt]
    return (await this.#database.query({ name: 'identity revoked', text, values })).rowCount > 0
  }
}

function revocationOf(row: RevocationRow): Revocation {
  if (row.grant_id !== null) return { grant: row.grant_id }
  if (row.key_id !== null) return { key: row.key_id }
  const before = row.before ?? 0
  if (row.subject !== null) return { subject: row.subject, before }
  return { client: row.client_id ?? '', before }
}

/**
 * Waits until no other transaction adds to the revocation feed. The lock makes positions follow the order of commits: a
 * reader who has seen a position has seen all before it.
 */
export async function lockRevocations(tx: Transaction): Promise<void> {
  await tx.query('LOCK TABLE identity.revocation IN SHARE ROW EXCLUSIVE MODE')
}

/** Adds to the revocation feed, as the last step of a transaction. */
export async function appendRevocations(
  tx: Transaction,
  revocations: readonly Revocation[],
  { now, expiresAt }: RevocationTimes,
): Promise<void> {
  await lockRevocations(tx)
  for (const one of revocations) {
    await tx.query(
      `INSERT INTO identity.revocation (grant_id, subject, client_id, before, key_id, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [
        'grant' in one ? one.grant : null,
        'subject' in one ? one.subject : null,
        'client' in one ? one.client : null,
        'before' in one ? one.before : null,
        'key' in one ? one.key : null,
        now,
        expiresAt,
      ],
    )
  }
}
