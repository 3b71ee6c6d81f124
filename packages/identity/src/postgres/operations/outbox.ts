import type { Database, Queryable } from '@gatehouse/kit'
import type { Outbox, OutboxMessage } from '../../store/index.ts'
import { queries, runStatement } from '../queries.ts'

interface MessageRow {
  readonly id: string
  readonly kind: OutboxMessage['kind']
  readonly subject: string
  readonly payload_sealed: string
  readonly attempts: number
  readonly due_at: number
  readonly expires_at: number
}

const claim = `WITH due AS MATERIALIZED (
    SELECT id FROM identity.outbox WHERE kind = ANY($4::text[]) AND due_at <= $1 ORDER BY due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
  )
  UPDATE identity.outbox o SET due_at = $2, attempts = attempts + 1 FROM due WHERE o.id = due.id
  RETURNING o.id, kind, subject, payload_sealed, attempts, due_at, expires_at`

/** Messages in `identity.outbox`. */
export class PostgresOutbox implements Outbox {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  put(messages: readonly OutboxMessage[]): Promise<void> {
    return putMessages(this.#database, messages)
  }

  async claim(
    kinds: readonly OutboxMessage['kind'][],
    now: number,
    leaseMs: number,
    limit: number,
  ): Promise<(OutboxMessage & { attempts: number })[]> {
    const { rows } = await this.#database.query<MessageRow>(claim, [now, now + leaseMs, limit, kinds])
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      subject: row.subject,
      payloadSealed: row.payload_sealed,
      attempts: row.attempts,
      dueAt: row.due_at,
      expiresAt: row.expires_at,
    }))
  }

  async remove(id: string): Promise<void> {
    await this.#database.query('DELETE FROM identity.outbox WHERE id = $1', [id])
  }

  async replace(id: string, messages: readonly OutboxMessage[]): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const { rowCount } = await tx.query('DELETE FROM identity.outbox WHERE id = $1', [id])
      if (rowCount === 1) await putMessages(tx, messages)
    })
  }

  async postpone(id: string, dueAt: number): Promise<void> {
    await this.#database.query('UPDATE identity.outbox SET due_at = $2 WHERE id = $1', [id, dueAt])
  }
}

/** Adds messages to the outbox, in the transaction that causes them. */
export async function putMessages(on: Queryable, messages: readonly OutboxMessage[]): Promise<void> {
  for (const { id, kind, subject, payloadSealed, dueAt, expiresAt, bound } of messages) {
    const values = [id, kind, subject, payloadSealed, dueAt, expiresAt]
    if (bound === undefined) await on.query(`${insert} VALUES ($1, $2, $3, $4, $5, $6)`, values)
    else await runStatement(on, queries.putBoundMessage, [...values, bound.kind, bound.count, bound.windowMs])
  }
}

const insert = 'INSERT INTO identity.outbox (id, kind, subject, payload_sealed, due_at, expires_at)'
