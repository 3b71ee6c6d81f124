import type { Queryable } from '@gatehouse/kit'
import { anchorTable, workerTables } from './tables.ts'

/** The slot that four hexadecimal digits stand for. */
const slotOf = (digits: string) => `('x' || ${digits})::bit(16)::integer`
const slotOfId = (column: string) => slotOf(`right(${column}::text, 4)`)
const slotOfUser = slotOf("left(encode(sha256(convert_to(user_id, 'UTF8')), 'hex'), 4)")

/**
 * How the slot of a row is found (SQL) where it does not come from its `user_id`. Null for rows that don't say: they
 * remember for a week what was seen, so that it counts once, and are removed.
 */
const slots: Readonly<Record<string, string | null>> = {
  timeline_entry: slotOfId('notification_id'),
  pending_item: slotOfId('window_id'),
  outbox: slotOfId('id'),
  dead_letter: slotOfId('id'),
  push_token: slotOf('left(token_hash, 4)'),
  provider_event: null,
  topic_failure: null,
}

/**
 * Moves all rows into so many buckets, in one transaction, as long as they are not distributed and nobody else works on
 * them. The ids stay: they carry the user's slot.
 */
export async function changeBuckets(session: Queryable, buckets: number, timeoutMs: number): Promise<void> {
  const tables = await workerTables(session)
  const statements = tables
    .filter(({ table, copied }) => !copied && table !== anchorTable)
    .map(({ table }) => {
      const slot = slots[table] === undefined ? slotOfUser : slots[table]
      return slot === null
        ? `DELETE FROM notify.${table}`
        : `UPDATE notify.${table} SET bucket = ${slot} % ${buckets} WHERE bucket <> ${slot} % ${buckets}`
    })
  await session.query({
    text: `BEGIN;
      ${statements.join(';\n')};
      DELETE FROM notify.${anchorTable};
      INSERT INTO notify.${anchorTable} (bucket) SELECT generate_series(0, ${buckets - 1});
      INSERT INTO notify.property (name, value) VALUES ('buckets', ${buckets})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value;
      COMMIT`,
    timeoutMs,
  })
}
