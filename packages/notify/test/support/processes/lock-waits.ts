import type { Database } from '@gatehouse/kit'

/** How many connections of a database wait for a lock. */
export async function lockWaits(database: Database): Promise<number> {
  const { rowCount } = await database.query(
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  )
  return rowCount
}

/** Resolves when so many wait for a lock, or after fifty looks. */
export async function someoneWaits(database: Database, waiting = 1): Promise<void> {
  for (let looks = 0; looks < 50; looks++) if ((await lockWaits(database)) >= waiting) return
}
