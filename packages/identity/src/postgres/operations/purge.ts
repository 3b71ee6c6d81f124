import type { Database } from '@gatehouse/kit'
import type { Purge } from '../../store/index.ts'
import { queries, runStatement } from '../queries.ts'
import { type AgingTable, agingTables } from './retention.ts'

/** Grants examined in one pass: most outlive their codes by their refresh tokens. */
const grantsAtOnce = 5_000
/** How often a walk over all expired grants starts, in milliseconds. */
const walkEveryMs = 3_600_000

/** Makes a planner without statistics use the index instead of reading the whole table. */
const byIndex = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off'

const head = { end: 0, id: '00000000-0000-0000-0000-000000000000' }

/** Deletes expired rows, in batches small enough to hold no lock for long. */
export class PostgresPurge implements Purge {
  readonly #database: Database
  #walk = { since: Number.NEGATIVE_INFINITY, reached: head, done: true }

  constructor(database: Database) {
    this.#database = database
  }

  async purge(now: number, auditBefore: number, limit: number): Promise<Record<string, number>> {
    const removed: Record<string, number> = {}
    for (const table of agingTables)
      removed[table.table] =
        table.from === 'auditBefore'
          ? await this.#removeEvents(table, auditBefore, limit)
          : await this.#delete(table, now, limit)
    removed.grant_record = await this.#grants(now)
    return removed
  }

  /** Recorded before: whoever reads fewer events also reads why. */
  async #removeEvents(table: AgingTable, before: number, limit: number): Promise<number> {
    await this.#database.query(
      `INSERT INTO identity.audit_removal AS r (id, before)
       SELECT 1, $1::bigint WHERE EXISTS (SELECT FROM identity.audit_event WHERE at < $1)
       ON CONFLICT (id) DO UPDATE SET before = greatest(r.before, excluded.before)`,
      [before],
    )
    return this.#delete(table, before, limit)
  }

  #delete({ table, key, age, before }: AgingTable, at: number, limit: number): Promise<number> {
    const keys = (of: string) => key.map((column) => `${of}.${column}`).join(', ')
    const text = `WITH ended AS MATERIALIZED (
        SELECT ${key.join(', ')} FROM identity.${table} WHERE ${age} < ${before}
         ORDER BY ${age} LIMIT $2 FOR UPDATE SKIP LOCKED
      ) DELETE FROM identity.${table} t USING ended WHERE (${keys('t')}) = (${keys('ended')})`
    return this.#database.transaction(async (tx) => {
      const [, { rowCount }] = await Promise.all([tx.query(byIndex), tx.query(text, [at, limit])])
      return rowCount
    })
  }

  /**
   * Deletes expired grants without tokens. A grant expires long before its refresh tokens do, so the index starts with
   * many grants that are still in use: they are walked through once an hour, not in every pass.
   */
  async #grants(now: number): Promise<number> {
    const isWalkDue = now < this.#walk.since || now >= this.#walk.since + walkEveryMs
    if (this.#walk.done && isWalkDue) this.#walk = { since: now, reached: head, done: false }
    const { reached } = this.#walk
    const { rows } = await this.#database.transaction(async (tx) => {
      const [, found] = await Promise.all([
        tx.query(byIndex),
        runStatement(tx, queries.deleteExpiredGrants, [reached.end, reached.id, now, grantsAtOnce]),
      ])
      return found
    })
    const [row] = rows
    if (row?.last_expiry != null && row.last_id !== null)
      this.#walk = { ...this.#walk, reached: { end: row.last_expiry, id: row.last_id } }
    this.#walk = { ...this.#walk, done: (row?.examined ?? 0) < grantsAtOnce }
    return row?.deleted ?? 0
  }
}
