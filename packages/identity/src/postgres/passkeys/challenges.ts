import type { Database } from '@gatehouse/kit'
import type { PasskeyChallenge, PasskeyChallenges } from '../../store/index.ts'

/** Challenges in `identity.passkey_challenge`. */
export class PostgresPasskeyChallenges implements PasskeyChallenges {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async put({ hash, purpose, browserHash, userId }: PasskeyChallenge, expiresAt: number): Promise<void> {
    await this.#database.query(
      `INSERT INTO identity.passkey_challenge (hash, purpose, browser_hash, user_id, expires_at)
       VALUES ($1, $2, $3, $4, $5)`,
      [hash, purpose, browserHash, userId ?? null, expiresAt],
    )
  }

  async consume({ hash, purpose, browserHash, userId }: PasskeyChallenge, now: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `DELETE FROM identity.passkey_challenge WHERE hash = $1 AND purpose = $2 AND browser_hash = $3
         AND user_id IS NOT DISTINCT FROM $4::text AND expires_at > $5`,
      [hash, purpose, browserHash, userId ?? null, now],
    )
    return rowCount === 1
  }
}
