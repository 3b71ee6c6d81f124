import type { Database } from '@gatehouse/kit'
import type { AuditEvent, AuditQuery, AuditTrail } from '../store.ts'
import { orUndefined } from './rows.ts'

interface EventRow {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly actor: string | null
  readonly subject: string | null
  readonly client_id: string | null
  readonly address: string | null
  readonly request_id: string | null
  readonly details: Record<string, unknown>
}

const list = `SELECT id, at, type, actor, subject, client_id, address, request_id, details FROM identity.audit_event
  WHERE ($1::text IS NULL OR type = $1) AND ($2::text IS NULL OR subject = $2) AND ($3::bigint IS NULL OR at >= $3)
    AND ($4::bigint IS NULL OR at < $4) AND ($5::uuid IS NULL OR id > $5)
  ORDER BY id LIMIT $6`

/** Security events in the order of their ids, which follow time (UUIDv7). */
export class PostgresAuditTrail implements AuditTrail {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async record(event: AuditEvent): Promise<void> {
    await this.#database.query(
      `INSERT INTO identity.audit_event (id, at, type, actor, subject, client_id, address, request_id, details)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        event.id,
        event.at,
        event.type,
        event.actor ?? null,
        event.subject ?? null,
        event.clientId ?? null,
        event.address ?? null,
        event.requestId ?? null,
        JSON.stringify(event.details),
      ],
    )
  }

  async list({ type, subject, since, until, after, most }: AuditQuery): Promise<AuditEvent[]> {
    const values = [type ?? null, subject ?? null, since ?? null, until ?? null, after ?? null, most]
    const { rows } = await this.#database.query<EventRow>(list, values)
    return rows.map((row) => ({
      id: row.id,
      at: row.at,
      type: row.type,
      actor: orUndefined(row.actor),
      subject: orUndefined(row.subject),
      clientId: orUndefined(row.client_id),
      address: orUndefined(row.address),
      requestId: orUndefined(row.request_id),
      details: row.details,
    }))
  }
}
