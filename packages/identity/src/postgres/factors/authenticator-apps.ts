import type { Database } from '@gatehouse/kit'
import type {
  AuthenticatorApp,
  AuthenticatorApps,
  Enrolment,
  EnrolmentChange,
  FactorChange,
} from '../../store/index.ts'
import { isVoidAtProvider } from '../federation/provider-sessions.ts'
import { putMessages } from '../operations/outbox.ts'
import { lockForEnrolment, raiseSession } from '../raised-session.ts'
import { completeEnrolment, removeUselessCodes, renewCredentials } from './factors.ts'

/** Authenticator apps in `identity.authenticator_app`. */
export class PostgresAuthenticatorApps implements AuthenticatorApps {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(userId: string): Promise<AuthenticatorApp | undefined> {
    const { rows } = await this.#database.query<{ secret_sealed: string; last_step: number }>(
      'SELECT secret_sealed, last_step FROM identity.authenticator_app WHERE user_id = $1',
      [userId],
    )
    return rows[0] && { userId, secretSealed: rows[0].secret_sealed, lastStep: rows[0].last_step }
  }

  enrol(
    { userId, secretSealed, lastStep }: AuthenticatorApp,
    codeHashes: readonly string[],
    change: EnrolmentChange,
  ): Promise<Enrolment | undefined> {
    const { session, waiting } = change
    return this.#database.transaction(async (tx) => {
      if (waiting !== undefined && (await isVoidAtProvider(tx, waiting))) return undefined
      if (session !== undefined && !(await lockForEnrolment(tx, change, session))) return undefined
      const credentialVersion = await renewCredentials(tx, change)
      if (credentialVersion === undefined) return undefined
      await tx.query(
        `INSERT INTO identity.authenticator_app (user_id, secret_sealed, last_step, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO UPDATE SET secret_sealed = excluded.secret_sealed, last_step = excluded.last_step,
           created_at = excluded.created_at, used_at = NULL`,
        [userId, secretSealed, lastStep, change.now],
      )
      const storedCodes = await completeEnrolment(tx, userId, codeHashes, change.now)
      if (session !== undefined) await raiseSession(tx, session)
      await putMessages(tx, change.messages)
      return { credentialVersion, storedCodes }
    })
  }

  async accept(userId: string, step: number, now: number): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      'UPDATE identity.authenticator_app SET last_step = $2, used_at = $3 WHERE user_id = $1 AND last_step < $2',
      [userId, step, now],
    )
    return rowCount === 1
  }

  remove(change: FactorChange): Promise<string | undefined> {
    return this.#database.transaction(async (tx) => {
      const { userId } = change
      const text = 'SELECT 1 FROM identity.authenticator_app WHERE user_id = $1'
      if ((await tx.query(text, [userId])).rowCount === 0) return undefined
      const credentialVersion = await renewCredentials(tx, change)
      if (credentialVersion === undefined) return undefined
      await tx.query('DELETE FROM identity.authenticator_app WHERE user_id = $1', [userId])
      await removeUselessCodes(tx, userId)
      await putMessages(tx, change.messages)
      return credentialVersion
    })
  }
}
