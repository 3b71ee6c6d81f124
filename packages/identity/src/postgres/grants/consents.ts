import { type Database, tokenHash } from '@gatehouse/kit'
import type { Consent, Consents } from '../../store/index.ts'

interface ConsentRow {
  readonly client_id: string
  readonly scopes: string[]
  readonly resources: string[]
  readonly claims: string[]
  readonly granted_at: number
}

const columns = 'client_id, scopes, resources, claims, granted_at'

/** More pages than a person ever allows one client; the oldest are asked about again. */
const maxPages = 100
const maxRowsOfUser = 1_000

/** The locks make whoever ends the session wait; one that has ended allows nothing. */
const add = `WITH locked AS MATERIALIZED (
    SELECT n.user_id FROM identity.account a JOIN identity.session n ON n.user_id = a.id WHERE n.id = $8 AND a.id = $1
    FOR SHARE OF a FOR KEY SHARE OF n
  ), narrower AS (
    DELETE FROM identity.consent
    WHERE user_id IN (SELECT user_id FROM locked) AND client_id = $2 AND digest <> $3
      AND scopes <@ $4 AND resources <@ $5 AND claims <@ $6
  )
  INSERT INTO identity.consent (user_id, client_id, digest, scopes, resources, claims, granted_at)
  SELECT user_id, $2, $3, $4, $5, $6, $7 FROM locked
  ON CONFLICT (user_id, client_id, digest) DO UPDATE SET granted_at = excluded.granted_at`

export class PostgresConsents implements Consents {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(userId: string, clientId: string): Promise<Consent[]> {
    const text = `SELECT ${columns} FROM identity.consent WHERE user_id = $1 AND client_id = $2
      ORDER BY granted_at DESC LIMIT ${maxPages}`
    return (await this.#database.query<ConsentRow>(text, [userId, clientId])).rows.map(consentOf)
  }

  async listByUser(userId: string): Promise<Consent[]> {
    const text = `SELECT ${columns} FROM identity.consent WHERE user_id = $1
      ORDER BY granted_at DESC LIMIT ${maxRowsOfUser}`
    const { rows } = await this.#database.query<ConsentRow>(text, [userId])
    return [...Map.groupBy(rows.map(consentOf), ({ clientId }) => clientId)].map(mergePages)
  }

  async add(userId: string, sessionId: string, consent: Consent): Promise<boolean> {
    const { clientId, grantedAt } = consent
    const named = [consent.scopes, consent.resources, consent.claims].map((names) => [...new Set(names)].sort())
    const values = [userId, clientId, tokenHash(JSON.stringify(named)), ...named, grantedAt, sessionId]
    return (await this.#database.query(add, values)).rowCount === 1
  }
}

function consentOf(row: ConsentRow): Consent {
  const { scopes, resources, claims } = row
  return { clientId: row.client_id, scopes, resources, claims, grantedAt: row.granted_at }
}

function mergePages([clientId, pages]: [string, readonly Consent[]]): Consent {
  const all = (of: (page: Consent) => readonly string[]) => [...new Set(pages.flatMap(of))].sort()
  return {
    clientId,
    scopes: all(({ scopes }) => scopes),
    resources: all(({ resources }) => resources),
    claims: all(({ claims }) => claims),
    grantedAt: Math.max(...pages.map(({ grantedAt }) => grantedAt)),
  }
}
