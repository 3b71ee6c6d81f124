import type { Database } from '@gatehouse/kit'
import type { AuditEvent, AuditQuery, AuditTrail } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface EventRow {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly service: AuditEvent['service']
  readonly actor: string | null
  readonly role: string | null
  readonly subject: string | null
  readonly client_id: string | null
  readonly address: string | null
  readonly request_id: string | null
  readonly action: string | null
  readonly target_type: string | null
  readonly target_id: string | null
  readonly members_before: Record<string, unknown> | null
  readonly members_after: Record<string, unknown> | null
  readonly details: Record<string, unknown>
}

const columns = `id, at, type, service, actor, role, subject, client_id, address, request_id, action, target_type,
  target_id, members_before, members_after, details`

const filtered = `SELECT ${columns} FROM identity.audit_event
  WHERE ($1::text IS NULL OR type = $1) AND ($2::text IS NULL OR subject = $2) AND ($3::bigint IS NULL OR at >= $3)
    AND ($4::bigint IS NULL OR at < $4) AND ($5::text IS NULL OR actor = $5) AND ($6::text IS NULL OR client_id = $6)
    AND ($7::text IS NULL OR service = $7) AND ($8::text IS NULL OR request_id = $8)
    AND ($9::text IS NULL OR address = $9)`

const oldestFirst = `${filtered} AND ($10::uuid IS NULL OR id > $10) ORDER BY id LIMIT $11`
const newestFirst = `${filtered} AND ($10::uuid IS NULL OR id < $10) ORDER BY id DESC LIMIT $11`

/** Audit events in `identity.audit_event`, in the order of their ids, which follow time (UUIDv7). */
export class PostgresAuditTrail implements AuditTrail {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async record(event: AuditEvent): Promise<void> {
    await this.#database.query(
      `INSERT INTO identity.audit_event (${columns})
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
      [
        event.id,
        event.at,
        event.type,
        event.service,
        event.actor ?? null,
        event.role ?? null,
        event.subject ?? null,
        event.clientId ?? null,
        event.address ?? null,
        event.requestId ?? null,
        event.action ?? null,
        event.target?.type ?? null,
        event.target?.id ?? null,
        jsonOrNull(event.before),
        jsonOrNull(event.after),
        JSON.stringify(event.details),
      ],
    )
  }

  async list(query: AuditQuery): Promise<AuditEvent[]> {
    const { type, subject, since, until, actor, clientId, service, requestId, address, after, limit } = query
    const filters = [type, subject, since, until, actor, clientId, service, requestId, address, after]
    const text = query.descending ? newestFirst : oldestFirst
    const { rows } = await this.#database.query<EventRow>(text, [...filters.map((one) => one ?? null), limit])
    return rows.map(parseEvent)
  }

  async findRemoval(): Promise<number | undefined> {
    const { rows } = await this.#database.query<{ before: number }>('SELECT before FROM identity.audit_removal')
    return rows[0]?.before
  }
}

function jsonOrNull(members: object | undefined): string | null {
  return members === undefined ? null : JSON.stringify(members)
}

function parseEvent(row: EventRow): AuditEvent {
  const target =
    row.target_type === null || row.target_id === null ? undefined : { type: row.target_type, id: row.target_id }
  return {
    id: row.id,
    at: row.at,
    type: row.type,
    service: row.service,
    actor: orUndefined(row.actor),
    role: orUndefined(row.role),
    subject: orUndefined(row.subject),
    clientId: orUndefined(row.client_id),
    address: orUndefined(row.address),
    requestId: orUndefined(row.request_id),
    action: orUndefined(row.action),
    target,
    before: orUndefined(row.members_before),
    after: orUndefined(row.members_after),
    details: row.details,
  }
}
