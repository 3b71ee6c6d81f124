import { type Database, type Queryable, tokenHash } from '@gatehouse/kit'
import { type Consent, mergeConsents } from '../../model/grants/consent.ts'
import type { Consents, OutboxMessage } from '../../store/index.ts'
import { putMessages } from '../operations/outbox.ts'
import { queries, runStatement } from '../queries.ts'

interface ConsentRow {
  readonly client_id: string
  readonly scopes: string[]
  readonly resources: string[]
  readonly claims: string[]
  readonly granted_at: number
}

const columns = 'client_id, scopes, resources, claims, granted_at'

/** More than a person ever allows one client; beyond it the oldest pages are forgotten. */
const maxPages = 100
const maxRowsOfUser = 1_000

/** Consents in `identity.consent`. */
export class PostgresConsents implements Consents {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  find(userId: string, clientId: string): Promise<Consent[]> {
    return findConsents(this.#database, userId, clientId)
  }

  async listByUser(userId: string): Promise<Consent[]> {
    const text = `SELECT ${columns} FROM identity.consent WHERE user_id = $1
      ORDER BY granted_at DESC LIMIT ${maxRowsOfUser}`
    const { rows } = await this.#database.query<ConsentRow>(text, [userId])
    return [...Map.groupBy(rows.map(consentOf), ({ clientId }) => clientId)].map(([, pages]) => mergeConsents(pages))
  }

  async add(
    userId: string,
    sessionId: string,
    consent: Consent,
    messages: readonly OutboxMessage[] = [],
  ): Promise<boolean> {
    const { clientId, grantedAt } = consent
    const named = [consent.scopes, consent.resources, consent.claims].map((names) => [...new Set(names)].sort())
    const values = [userId, clientId, tokenHash(JSON.stringify(named)), ...named, grantedAt, sessionId]
    if (messages.length === 0) return (await runStatement(this.#database, queries.addConsent, values)).rowCount === 1
    return this.#database.transaction(async (tx) => {
      const added = (await runStatement(tx, queries.addConsent, values)).rowCount === 1
      if (added) await putMessages(tx, messages)
      return added
    })
  }
}

/** What a user allowed a client, by page. */
export async function findConsents(on: Queryable, userId: string, clientId: string): Promise<Consent[]> {
  const text = `SELECT ${columns} FROM identity.consent WHERE user_id = $1 AND client_id = $2
    ORDER BY granted_at DESC LIMIT ${maxPages}`
  return (await on.query<ConsentRow>(text, [userId, clientId])).rows.map(consentOf)
}

function consentOf(row: ConsentRow): Consent {
  const { scopes, resources, claims } = row
  return { clientId: row.client_id, scopes, resources, claims, grantedAt: row.granted_at }
}
