import type { Database, Transaction } from '@gatehouse/kit'
import type { FactorKind } from '../model/factors/second-factor.ts'
import type { Session } from '../model/grants/session.ts'
import type { Sessions, SignedIn, SignInRecord, SignOutOptions } from '../store/index.ts'
import { isVoidAtProvider, putProviderSession } from './federation/provider-sessions.ts'
import { deleteRefreshFamilies } from './grants/ended-grants.ts'
import { putMessages } from './operations/outbox.ts'
import { type UserRow, userOf } from './rows.ts'

/** A row of `identity.session` as `n`. */
export interface SessionRow {
  readonly session_id: string
  readonly user_id: string
  readonly auth_time: number
  readonly amr: string[]
  readonly remembered: boolean
  readonly user_agent: string
  readonly address: string
  readonly started_at: number
  readonly seen_at: number
  readonly session_expires_at: number
}

/** The columns of a {@link SessionRow}. */
export const sessionColumns = `n.id AS session_id, n.user_id, n.auth_time, n.amr, n.remembered, n.user_agent, n.address, n.created_at AS started_at,
  n.seen_at, n.expires_at AS session_expires_at`

/** Converts a row. */
export function sessionOf(row: SessionRow): Session {
  return {
    id: row.session_id,
    userId: row.user_id,
    authTime: row.auth_time,
    amr: row.amr,
    remembered: row.remembered,
    userAgent: row.user_agent,
    address: row.address,
    createdAt: row.started_at,
    seenAt: row.seen_at,
    expiresAt: row.session_expires_at,
  }
}

/**
 * The account `$1` while its credentials have the version `$2` that was verified. A change of the credentials waits for
 * this lock and then ends the new session; after an earlier change this statement writes nothing.
 */
const verified = `verified AS MATERIALIZED (
    SELECT id FROM identity.account WHERE id = $1 AND credential_version = $2 AND locked_at IS NULL FOR SHARE
  )`

/** Records that the verified user signed in at this moment. */
const signedIn = (at: string) => `signed_in AS (
    INSERT INTO identity.last_sign_in AS l (user_id, at) SELECT id, ${at}::bigint FROM verified
    ON CONFLICT (user_id) DO UPDATE SET at = greatest(l.at, excluded.at)
  )`

/**
 * Whether the user, who signed in before, is at a new address, and in a new browser: by the events that the audit trail
 * still has. `isNewDevice` and `address` are parameters.
 */
const newPlace = (address: string, isNewDevice: string) => {
  const isReturning = 'EXISTS (SELECT FROM identity.last_sign_in WHERE user_id = $1)'
  const isKnown = `EXISTS (SELECT FROM identity.audit_event WHERE subject = $1 AND type = 'login' AND address = ${address})`
  return { address: `${isReturning} AND NOT ${isKnown}`, device: `${isReturning} AND ${isNewDevice}::boolean` }
}

/** How often the use of a session is recorded at most. */
const seenEveryMs = 60_000

/** Sessions in `identity.session`. */
export class PostgresSessions implements Sessions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  start(session: Session, secretHash: string, credentialVersion: string, record: SignInRecord = {}): Promise<boolean> {
    const isNew = newPlace('$8', '$12')
    return this.#write(
      session,
      record,
      `WITH ${verified}, ${signedIn('$9')}
       INSERT INTO identity.session
         (id, secret_hash, user_id, auth_time, amr, user_agent, address, created_at, seen_at, expires_at, remembered,
          new_address, new_device)
       SELECT $3, $4, verified.id, $5, $6, $7, $8, $9, $9, $10, $11, ${isNew.address}, ${isNew.device} FROM verified`,
      [
        session.userId,
        credentialVersion,
        session.id,
        secretHash,
        session.authTime,
        session.amr,
        session.userAgent,
        session.address,
        session.createdAt,
        session.expiresAt,
        session.remembered,
        record.isNewDevice ?? false,
      ],
    )
  }

  renew(session: Session, secretHash: string, credentialVersion: string, record: SignInRecord = {}): Promise<boolean> {
    const isNew = newPlace('$8', '$12')
    return this.#write(
      session,
      record,
      `WITH ${verified}, ${signedIn('$9')}
       UPDATE identity.session n SET secret_hash = $4, auth_time = $5, amr = $6, user_agent = $7, address = $8,
         seen_at = $9, expires_at = $10, remembered = $11,
         new_address = ${isNew.address} OR (n.new_address AND n.address = $8), new_device = n.new_device OR ${isNew.device}
       FROM verified WHERE n.id = $3 AND n.user_id = verified.id`,
      [
        session.userId,
        credentialVersion,
        session.id,
        secretHash,
        session.authTime,
        session.amr,
        session.userAgent,
        session.address,
        session.seenAt,
        session.expiresAt,
        session.remembered,
        record.isNewDevice ?? false,
      ],
    )
  }

  /** One statement; with more to store a transaction. True when it wrote the session. */
  async #write(
    session: Session,
    { messages = [], provider, waited, clock }: SignInRecord,
    text: string,
    values: readonly unknown[],
  ): Promise<boolean> {
    if (messages.length === 0 && provider === undefined)
      return (await this.#database.query(text, values)).rowCount === 1
    // One whose code was exchanged just before continues the session through whatever account: it is the newer one.
    const waiting = provider && { ...provider, sessionId: waited ? session.id : undefined }
    return this.#database.transaction(async (tx) => {
      if (waiting !== undefined && (await isVoidAtProvider(tx, waiting, waited ? undefined : clock))) return false
      const written = (await tx.query(text, values)).rowCount === 1
      if (written && provider !== undefined) await putProviderSession(tx, session, provider)
      if (written) await putMessages(tx, messages)
      return written
    })
  }

  async find(secretHash: string, now: number, maxSessionMs: number): Promise<SignedIn | undefined> {
    const { rows } = await this.#database.query<SessionRow & UserRow & { readonly factors: FactorKind[] }>(
      `SELECT ${sessionColumns}, a.id, s.plan, a.username, a.email, a.email_verified, a.password_hash, a.password_changed_at,
         a.credential_version, a.roles, a.claims, a.locked_at, a.created_at, a.updated_at,
         ARRAY(SELECT DISTINCT f.kind FROM identity.factor f WHERE f.user_id = a.id) AS factors
       FROM identity.session n JOIN identity.account a ON a.id = n.user_id JOIN identity.subject s ON s.id = a.id
       WHERE n.secret_hash = $1 AND n.expires_at > $2 AND a.locked_at IS NULL`,
      [secretHash, now],
    )
    const row = rows[0]
    if (row === undefined) return undefined
    if (row.seen_at < now - seenEveryMs) {
      await this.#database.query(
        `UPDATE identity.session SET seen_at = $2,
           expires_at = least($2 + (expires_at - seen_at), greatest(auth_time, created_at) + $4)
         WHERE id = $1 AND seen_at < $3`,
        [row.session_id, now, now - seenEveryMs, maxSessionMs],
      )
    }
    return { session: sessionOf(row), user: userOf(row), factors: row.factors }
  }

  async listByUser(userId: string, now: number): Promise<Session[]> {
    const { rows } = await this.#database.query<SessionRow>(
      `SELECT ${sessionColumns} FROM identity.session n WHERE user_id = $1 AND expires_at > $2 ORDER BY seen_at DESC LIMIT 500`,
      [userId, now],
    )
    return rows.map(sessionOf)
  }

  end(id: string, userId: string, end: SignOutOptions): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { sessions, grants } = await endSessions(tx, userId, { only: [id] }, end)
      await deleteRefreshFamilies(tx, grants, end)
      return sessions > 0
    })
  }
}

/** What {@link endSessions} ended. */
export interface EndedSessions {
  readonly sessions: number
  /** The revoked grants, for {@link deleteRefreshFamilies} as the last step of the transaction. */
  readonly grants: readonly { readonly id: string }[]
}

/**
 * Ends some sessions of a user, or all but one, with the grants that end with them, and adds the logout messages of the
 * clients used in them to the outbox. A grant under way waits for the session's lock and is then not given.
 */
export async function endSessions(
  tx: Transaction,
  userId: string,
  { only, keep }: { readonly only?: readonly string[] | undefined; readonly keep?: string | undefined },
  { createLogoutMessages, endsGrantsOf, now }: SignOutOptions,
): Promise<EndedSessions> {
  const ended = await tx.query<{ id: string }>(
    `SELECT id FROM identity.session WHERE user_id = $1 AND ($2::uuid[] IS NULL OR id = ANY($2)) AND id IS DISTINCT FROM $3::uuid
     ORDER BY id FOR UPDATE`,
    [userId, only ?? null, keep ?? null],
  )
  if (ended.rows.length === 0) return { sessions: 0, grants: [] }
  const ids = ended.rows.map((row) => row.id)
  const used = await tx.query<{ session_id: string; client_ids: string[] }>(
    `SELECT session_id, array_agg(client_id ORDER BY client_id) AS client_ids FROM identity.session_client
     WHERE session_id = ANY($1::uuid[]) GROUP BY session_id ORDER BY session_id`,
    [ids],
  )
  const { rows: grants } = await tx.query<{ id: string }>(
    `UPDATE identity.grant_record SET revoked_at = $3
     WHERE session_id = ANY($1::uuid[]) AND client_id = ANY($2::text[]) AND revoked_at IS NULL RETURNING id`,
    [ids, endsGrantsOf, now],
  )
  await tx.query('DELETE FROM identity.session WHERE id = ANY($1::uuid[])', [ids])
  await putMessages(
    tx,
    used.rows.flatMap((row) => createLogoutMessages(row.session_id, userId, row.client_ids)),
  )
  return { sessions: ids.length, grants }
}

/**
 * Locks a session until the end of the transaction; false when it has ended. The account is locked first, as by every
 * statement that ends sessions, which prevents deadlocks.
 */
export async function lockSession(tx: Transaction, id: string): Promise<boolean> {
  await tx.query(
    'SELECT 1 FROM identity.account WHERE id = (SELECT user_id FROM identity.session WHERE id = $1) FOR SHARE',
    [id],
  )
  return (await tx.query('SELECT 1 FROM identity.session WHERE id = $1 FOR KEY SHARE', [id])).rowCount === 1
}
