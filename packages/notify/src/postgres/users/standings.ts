import type { Database } from '@gatehouse/kit'
import type { Counters } from '../../admission/caps.ts'
import { bucketOfUser } from '../../model/id.ts'
import type { OpenWindow, Standings } from '../../store/store.ts'
import { readOpenWindow } from '../waiting/windows.ts'

interface WindowRow {
  readonly event: string
  readonly items: number
  readonly flush_at: number
}

/** What counts for users now, on PostgreSQL. */
export function postgresStandings(database: Database, buckets: number): Standings {
  return {
    async read(userId) {
      const values = [bucketOfUser(userId, buckets), userId]
      const [counted, open] = await Promise.all([
        database.query<{ counters: Counters }>(
          'SELECT counters FROM notify.cap WHERE bucket = $1 AND user_id = $2',
          values,
        ),
        database.query<WindowRow>(
          `SELECT w.event, w.flush_at,
                  (SELECT count(*) FROM notify.pending_item i WHERE i.bucket = w.bucket AND i.window_id = w.id) AS items
             FROM notify.pending_window w
            WHERE w.bucket = $1 AND w.user_id = $2 AND w.state = 'open' ORDER BY w.flush_at, w.event`,
          values,
        ),
      ])
      const windows = open.rows.map(({ event, items, flush_at: flushAt }): OpenWindow => ({ event, items, flushAt }))
      return { counters: counted.rows[0]?.counters ?? {}, windows }
    },
    readWindow: (userId, event) => readOpenWindow(database, bucketOfUser(userId, buckets), { userId, event }),
  }
}
