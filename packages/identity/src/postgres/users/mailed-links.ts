import type { Database, Transaction } from '@gatehouse/kit'
import { managementRoles } from '../../model/management-roles.ts'
import type { LinkPurpose, MailedLink, MailedLinks, OutboxMessage } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { queries, runStatement } from '../queries.ts'
import { orUndefined } from '../rows.ts'

interface LinkRow {
  readonly user_id: string
  readonly email: string
  readonly credential_version: string | null
  readonly expires_at: number
}

/** Whether the account `a` is still as it was when the link `l` was created. */
const linkMatches = `a.id = l.user_id AND lower(a.email) = lower(l.email)
  AND (l.credential_version IS NULL OR (l.credential_version = a.credential_version AND a.locked_at IS NULL))`

/** Roles may have been granted since the link was mailed: nobody with one of `$4` resets a password by mail. */
const select = `SELECT l.user_id, l.email, l.credential_version, l.expires_at
  FROM identity.mailed_link l JOIN identity.account a ON ${linkMatches}
  WHERE l.hash = $1 AND l.purpose = $2 AND l.expires_at > $3 AND NOT (l.purpose = 'reset' AND a.roles && $4::text[])`

/** Mailed links in `identity.mailed_link`. */
export class PostgresMailedLinks implements MailedLinks {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(link: MailedLink, message: OutboxMessage): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { hash, purpose, userId, email, credentialVersion, expiresAt } = link
      const values = [hash, purpose, userId, email, credentialVersion ?? null, expiresAt]
      const { rowCount } = await runStatement(tx, queries.putMailedLink, values)
      if (rowCount === 1) await putMessages(tx, [message])
      return rowCount === 1
    })
  }

  async find(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined> {
    const { rows } = await this.#database.query<LinkRow>(select, [hash, purpose, now, managementRoles])
    return rows[0] && linkOf(hash, purpose, rows[0])
  }

  consume(hash: string, purpose: LinkPurpose, now: number): Promise<MailedLink | undefined> {
    return this.#database.transaction((tx) => consumeLink(tx, hash, purpose, now))
  }
}

/** Consumes a link, and locks its account until the end of the transaction. */
export async function consumeLink(
  tx: Transaction,
  hash: string,
  purpose: LinkPurpose,
  now: number,
): Promise<MailedLink | undefined> {
  const { rows } = await tx.query<LinkRow>(`${select} FOR NO KEY UPDATE OF a`, [hash, purpose, now, managementRoles])
  const row = rows[0]
  if (row === undefined) return undefined
  const { rowCount } = await tx.query('DELETE FROM identity.mailed_link WHERE hash = $1', [hash])
  return rowCount === 1 ? linkOf(hash, purpose, row) : undefined
}

/** Deletes the links to an address that the user no longer has. */
export async function removeStaleLinks(tx: Transaction, userId: string, email: string | undefined): Promise<void> {
  await tx.query('DELETE FROM identity.mailed_link WHERE user_id = $1 AND lower(email) IS DISTINCT FROM lower($2)', [
    userId,
    email ?? null,
  ])
}

/** Deletes the links that the previous credentials allowed. */
export async function removeCredentialLinks(tx: Transaction, userId: string): Promise<void> {
  await tx.query('DELETE FROM identity.mailed_link WHERE user_id = $1 AND credential_version IS NOT NULL', [userId])
}

function linkOf(hash: string, purpose: LinkPurpose, row: LinkRow): MailedLink {
  return {
    hash,
    purpose,
    userId: row.user_id,
    email: row.email,
    credentialVersion: orUndefined(row.credential_version),
    expiresAt: row.expires_at,
  }
}
