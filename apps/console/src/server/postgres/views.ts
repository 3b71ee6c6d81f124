import type { Database } from '@gatehouse/kit'
import { maxViews, type SavedView, type SavedViews } from '../views/store.ts'

/** Saved views in `console.saved_view`. */
export class PostgresViews implements SavedViews {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(userId: string, screen: string): Promise<readonly SavedView[]> {
    const { rows } = await this.#database.query<SavedView>(
      `SELECT id, screen, name, filters FROM console.saved_view
        WHERE user_id = $1 AND screen = $2 ORDER BY name LIMIT ${maxViews}`,
      [userId, screen],
    )
    return rows
  }

  async save(userId: string, { id, screen, name, filters }: SavedView, now: number): Promise<boolean> {
    // Two saves at once may pass the maximum by one each: it bounds the table, and is no quota.
    const { rowCount } = await this.#database.query(
      `INSERT INTO console.saved_view (user_id, screen, name, id, filters, created_at)
       SELECT $1, $2, $3, $4, $5, $6
        WHERE (SELECT count(*) FROM console.saved_view WHERE user_id = $1) < ${maxViews}
           OR EXISTS (SELECT FROM console.saved_view WHERE user_id = $1 AND screen = $2 AND name = $3)
       ON CONFLICT (user_id, screen, name) DO UPDATE SET filters = excluded.filters`,
      [userId, screen, name, id, JSON.stringify(filters), now],
    )
    return rowCount === 1
  }

  async remove(userId: string, id: string): Promise<boolean> {
    const { rowCount } = await this.#database.query('DELETE FROM console.saved_view WHERE user_id = $1 AND id = $2', [
      userId,
      id,
    ])
    return rowCount === 1
  }
}
