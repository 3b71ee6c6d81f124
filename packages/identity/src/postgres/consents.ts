import type { Database } from '@gatehouse/kit'
import type { Consent, Consents } from '../store.ts'

interface ConsentRow {
  readonly client_id: string
  readonly scopes: string[]
  readonly resources: string[]
  readonly granted_at: number
}

const select = 'SELECT client_id, scopes, resources, granted_at FROM identity.consent'

/** The locks make whoever ends the session wait; one that has ended allows nothing. */
const add = `WITH held AS MATERIALIZED (
    SELECT n.user_id FROM identity.account a JOIN identity.session n ON n.user_id = a.id WHERE n.id = $6 AND a.id = $1
    FOR SHARE OF a FOR KEY SHARE OF n
  )
  INSERT INTO identity.consent AS c (user_id, client_id, scopes, resources, granted_at) SELECT user_id, $2, $3, $4, $5 FROM held
  ON CONFLICT (user_id, client_id) DO UPDATE SET granted_at = excluded.granted_at,
    scopes = ARRAY(SELECT DISTINCT unnest(c.scopes || excluded.scopes) ORDER BY 1),
    resources = ARRAY(SELECT DISTINCT unnest(c.resources || excluded.resources) ORDER BY 1)`

export class PostgresConsents implements Consents {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(userId: string, clientId: string): Promise<Consent | undefined> {
    const { rows } = await this.#database.query<ConsentRow>(`${select} WHERE user_id = $1 AND client_id = $2`, [
      userId,
      clientId,
    ])
    return rows[0] && consentOf(rows[0])
  }

  async ofUser(userId: string): Promise<Consent[]> {
    const text = `${select} WHERE user_id = $1 ORDER BY granted_at DESC LIMIT 500`
    return (await this.#database.query<ConsentRow>(text, [userId])).rows.map(consentOf)
  }

  async add(userId: string, sessionId: string, { clientId, scopes, resources, grantedAt }: Consent): Promise<boolean> {
    const values = [userId, clientId, scopes, resources, grantedAt, sessionId]
    return (await this.#database.query(add, values)).rowCount === 1
  }
}

function consentOf(row: ConsentRow): Consent {
  return { clientId: row.client_id, scopes: row.scopes, resources: row.resources, grantedAt: row.granted_at }
}
