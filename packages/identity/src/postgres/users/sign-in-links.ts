import type { Database } from '@gatehouse/kit'
import { maxCodeAttempts } from '../../model/factors/mailed-code.ts'
import { managementRoles } from '../../model/management-roles.ts'
import type {
  CodeAttempt,
  OutboxMessage,
  PendingCode,
  SignInLink,
  SignInLinks,
  SignInLinkWithUser,
} from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { type UserRow, userOf } from '../rows.ts'

type FoundRow = UserRow & { readonly continuation: string; readonly methods: string[] }
type PendingRow = Partial<UserRow> & { readonly code_account: string }

/**
 * Whether the account `a` is still as it was when the link `l` was created. Roles may have been granted since: nobody
 * with one of `$4` signs in by mail alone, while a link that confirms a password stays valid.
 */
const accountIsUnchanged = `a.id = l.user_id AND lower(a.email) = lower(l.email)
  AND a.credential_version = l.credential_version AND a.locked_at IS NULL
  AND NOT ('email' = ANY(l.amr) AND a.roles && $4::text[])`

/** Whether the link `l` of account `a` is valid: hash, browser and time are `$1`, `$2` and `$3`. */
const linkIsValid = `l.hash = $1 AND l.browser_hash = $2 AND l.expires_at > $3 AND ${accountIsUnchanged}`

/** Whoever has the link or the code has the mailbox, so the address is verified too. */
const verifying = (condition: string) => `WITH used AS (
    DELETE FROM identity.sign_in_link l USING identity.account a WHERE ${condition} RETURNING a.*, l.continuation, l.amr AS methods
  ), verified AS (
    UPDATE identity.account SET email_verified = true, updated_at = $3
    WHERE id IN (SELECT id FROM used WHERE NOT email_verified)
  ) SELECT * FROM used`

/** Sign-in links in `identity.sign_in_link`. */
export class PostgresSignInLinks implements SignInLinks {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(link: SignInLink, messages: readonly OutboxMessage[]): Promise<void> {
    return this.#database.transaction(async (tx) => {
      const { user, code } = link
      await tx.query(
        `INSERT INTO identity.sign_in_link (hash, user_id, email, credential_version, browser_hash, continuation, amr,
           challenge_hash, code_hash, code_account, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [
          link.hash,
          user?.id ?? null,
          user?.email ?? null,
          user?.credentialVersion ?? null,
          link.browserHash,
          // Anybody may cause a row without a user, so it stays small; its page keeps the continuation.
          user === undefined ? null : link.continuation,
          link.amr,
          code?.challengeHash ?? null,
          code?.codeHash ?? null,
          code?.account ?? null,
          link.expiresAt,
        ],
      )
      await putMessages(tx, messages)
    })
  }

  find(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined> {
    const text = `SELECT a.*, l.continuation, l.amr AS methods FROM identity.sign_in_link l JOIN identity.account a ON ${linkIsValid}`
    return this.#first(text, [hash, browserHash, now, managementRoles])
  }

  consume(hash: string, browserHash: string, now: number): Promise<SignInLinkWithUser | undefined> {
    return this.#first(verifying(linkIsValid), [hash, browserHash, now, managementRoles])
  }

  async findCode(challengeHash: string, browserHash: string, now: number): Promise<PendingCode | undefined> {
    const { rows } = await this.#database.query<PendingRow>(
      `SELECT a.*, l.code_account FROM identity.sign_in_link l LEFT JOIN identity.account a ON a.id = l.user_id
       WHERE l.challenge_hash = $1 AND l.browser_hash = $2 AND l.expires_at > $3 AND l.wrong_codes < $4`,
      [challengeHash, browserHash, now, maxCodeAttempts],
    )
    const row = rows[0]
    if (row === undefined) return undefined
    const user = row.id === null || row.id === undefined ? undefined : userOf(row as UserRow)
    return { user, account: row.code_account }
  }

  async consumeCode(attempt: CodeAttempt, now: number): Promise<SignInLinkWithUser | 'wrong'> {
    const { challengeHash, codeHash, browserHash } = attempt
    // Counted in a statement of its own, so that of many attempts at once no more than these compare their code.
    const counted = await this.#database.query(
      `UPDATE identity.sign_in_link SET wrong_codes = wrong_codes + 1
       WHERE challenge_hash = $1 AND browser_hash = $2 AND expires_at > $3 AND wrong_codes < $4`,
      [challengeHash, browserHash, now, maxCodeAttempts],
    )
    if (counted.rowCount === 0) return 'wrong'
    const codeIsRight = `l.challenge_hash = $1 AND l.browser_hash = $2 AND l.expires_at > $3 AND l.code_hash = $5 AND ${accountIsUnchanged}`
    const values = [challengeHash, browserHash, now, managementRoles, codeHash]
    return (await this.#first(verifying(codeIsRight), values)) ?? 'wrong'
  }

  async #first(text: string, values: readonly unknown[]): Promise<SignInLinkWithUser | undefined> {
    const { rows } = await this.#database.query<FoundRow>(text, values)
    return rows[0] && { user: userOf(rows[0]), continuation: rows[0].continuation, amr: rows[0].methods }
  }
}
