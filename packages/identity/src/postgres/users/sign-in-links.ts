import type { Database } from '@gatehouse/kit'
import type { OutboxMessage, SignInLink, SignInLinks, SignInLinkWithUser } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { type UserRow, userOf } from '../rows.ts'

type FoundRow = UserRow & { readonly continuation: string }

/** Whether the link `l` of account `a` is valid: hash, browser and time are `$1`, `$2` and `$3`. */
const linkIsValid = `l.hash = $1 AND l.browser_hash = $2 AND l.expires_at > $3 AND a.id = l.user_id
  AND lower(a.email) = lower(l.email) AND a.credential_version = l.credential_version AND a.locked_at IS NULL`

/** Sign-in links in `identity.sign_in_link`. */
export class PostgresSignInLinks implements SignInLinks {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(link: SignInLink, mail: OutboxMessage): Promise<void> {
    return this.#database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO identity.sign_in_link (hash, user_id, email, credential_version, browser_hash, continuation, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [
          link.hash,
          link.userId,
          link.email,
          link.credentialVersion,
          link.browserHash,
          link.continuation,
          link.expiresAt,
        ],
      )
      await putMessages(tx, [mail])
    })
  }

  find(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined> {
    const text = `SELECT a.*, l.continuation FROM identity.sign_in_link l JOIN identity.account a ON ${linkIsValid}`
    return this.#first(text, [hash, browserHash, now])
  }

  consume(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined> {
    const text = `DELETE FROM identity.sign_in_link l USING identity.account a WHERE ${linkIsValid} RETURNING a.*, l.continuation`
    return this.#first(text, [hash, browserHash, now])
  }

  async #first(text: string, values: readonly unknown[]): Promise<SignInLinkWithUser | undefined> {
    const { rows } = await this.#database.query<FoundRow>(text, values)
    return rows[0] && { user: userOf(rows[0]), continuation: rows[0].continuation }
  }
}
