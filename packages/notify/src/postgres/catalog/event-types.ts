import type { Database, Queryable, Transaction } from '@gatehouse/kit'
import type { EventType } from '../../model/event-type.ts'
import type { EventTypes } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'

/** Event types on PostgreSQL. */
export function postgresEventTypes(database: Database): EventTypes {
  return {
    async version() {
      const { rows } = await database.query<{ value: number }>(
        "SELECT value FROM notify.property WHERE name = 'settings_version'",
      )
      return rows[0]?.value ?? 0
    },
    async list() {
      const { rows } = await database.query<{ settings: EventType }>(
        'SELECT settings FROM notify.event_type ORDER BY event',
      )
      return rows.map(({ settings }) => settings)
    },
    put: (eventType, now) => database.transaction((tx) => putEventType(tx, eventType, now)),
    remove: (event) =>
      database.transaction(async (tx) => {
        const { rowCount } = await tx.query('DELETE FROM notify.event_type WHERE event = $1', [event])
        await turnVersion(tx)
        return rowCount > 0
      }),
  }
}

/** Stores an event type and has every process read the catalog again. */
export async function putEventType(tx: Transaction, eventType: EventType, now: number): Promise<void> {
  await tx.query(
    `INSERT INTO notify.event_type (event, settings, updated_at) VALUES ($1, $2, $3)
     ON CONFLICT (event) DO UPDATE SET settings = excluded.settings, updated_at = excluded.updated_at`,
    [eventType.event, JSON.stringify(eventType), timestamp(now)],
  )
  await turnVersion(tx)
}

/** Makes every process read the event types and templates again with its next batch. */
export async function turnVersion(on: Queryable): Promise<void> {
  await on.query("UPDATE notify.property SET value = value + 1 WHERE name = 'settings_version'")
}
