import type { Database, Queryable, Transaction } from '@gatehouse/kit'
import type { EventType } from '../../model/notification/event-type.ts'
import type { EventTypes } from '../../store/store.ts'
import { everywhere } from '../nodes/spread-database.ts'
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
    put: (eventType, now, expected) =>
      everywhere(database).transaction((tx) => putEventType(tx, eventType, now, expected)),
    remove: (event) =>
      everywhere(database).transaction(async (tx) => {
        const { rowCount } = await tx.query('DELETE FROM notify.event_type WHERE event = $1', [event])
        await turnVersion(tx)
        return rowCount > 0
      }),
  }
}

/** Stores an event type, unless it is another than expected, and has every process read the catalog again. */
export async function putEventType(
  tx: Transaction,
  eventType: EventType,
  now: number,
  expected?: EventType,
): Promise<boolean> {
  const values = [eventType.event, JSON.stringify(eventType), timestamp(now)]
  const { rowCount } =
    expected === undefined
      ? await tx.query(
          `INSERT INTO notify.event_type (event, settings, updated_at) VALUES ($1, $2, $3)
           ON CONFLICT (event) DO UPDATE SET settings = excluded.settings, updated_at = excluded.updated_at`,
          values,
        )
      : await tx.query(
          `UPDATE notify.event_type SET settings = $2, updated_at = $3 WHERE event = $1 AND settings = $4::jsonb`,
          [...values, JSON.stringify(expected)],
        )
  if (rowCount === 1) await turnVersion(tx)
  return rowCount === 1
}

/** Makes every process read the event types and templates again with its next batch. */
export async function turnVersion(on: Queryable): Promise<void> {
  await on.query("UPDATE notify.property SET value = value + 1 WHERE name = 'settings_version'")
}
