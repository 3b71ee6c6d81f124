import type { Queryable } from '@gatehouse/kit'
import { anchorTable, citusTables } from './tables.ts'

/** The slot that four hexadecimal digits stand for. */
const slotOf = (digits: string) => `('x' || ${digits})::bit(16)::integer`
const slotOfId = (column: string) => slotOf(`right(${column}::text, 4)`)
const slotOfUser = 'pg_temp.slot_of_user(user_id)'

/** The slot of a user, as `slotOfUser` in model/id.ts finds it: FNV-1a of the user's token. */
const slotOfUserSql = `
CREATE FUNCTION pg_temp.slot_of_user(user_id text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  bytes bytea := convert_to(user_id, 'UTF8');
  hash bigint := 2166136261;
  byte integer;
  piece text;
BEGIN
  FOR place IN 0 .. length(bytes) - 1 LOOP
    byte := get_byte(bytes, place);
    piece := CASE WHEN byte < 128 AND chr(byte) ~ '^[A-Za-z0-9_-]$' THEN chr(byte)
                  ELSE '%' || lpad(upper(to_hex(byte)), 2, '0') END;
    FOR at IN 1 .. length(piece) LOOP
      hash := ((hash # ascii(substr(piece, at, 1))) * 16777619) & 4294967295;
    END LOOP;
  END LOOP;
  RETURN hash & 65535;
END $$`

/**
 * How the slot of a row is found (SQL) where it does not come from its `user_id`. Null for rows that don't say: they
 * remember for a week what was seen, so that it counts once, and are removed.
 */
const slots: Readonly<Record<string, string | null>> = {
  timeline_entry: slotOfId('notification_id'),
  pending_item: slotOfId('window_id'),
  dead_letter: slotOfId('id'),
  push_token: slotOf('left(token_hash, 4)'),
  topic_failure: null,
}

/**
 * Nobody works in the buckets as they were: a process that comes back with a lease has lost it, and who comes next need not
 * wait for its end.
 */
const endLeases = (buckets: number) => `
      DELETE FROM notify.worker_process;
      DELETE FROM notify.bucket_lease WHERE bucket >= ${buckets};
      UPDATE notify.bucket_lease SET owner = NULL, fence = fence + 1;`

/** The changes of a row of the outbox are of users whose buckets may be different ones from now on. */
const numberOutbox = `
      SELECT notify.number_state_changes(array_agg(bucket), array_agg('00000000-0000-0000-0000-000000000000'::uuid), 2147483647, now())
        FROM (SELECT DISTINCT bucket FROM notify.outbox) AS waiting HAVING count(*) > 0;`

/**
 * Moves all rows into so many buckets, in one transaction, as long as they are not distributed and nobody else works on
 * them. The ids stay: they carry the user's slot. The leases of the buckets end.
 */
export async function changeBuckets(session: Queryable, buckets: number, timeoutMs: number): Promise<void> {
  const tables = await citusTables(session)
  const statements = tables
    .filter(({ table, placement }) => placement === 'divided' && table !== anchorTable && table !== 'outbox')
    .map(({ table }) => {
      const slot = slots[table] === undefined ? slotOfUser : slots[table]
      return slot === null
        ? `DELETE FROM notify.${table}`
        : `UPDATE notify.${table} SET bucket = ${slot} % ${buckets} WHERE bucket <> ${slot} % ${buckets}`
    })
  await session.query({
    text: `${slotOfUserSql};
      BEGIN;${numberOutbox}
      ${statements.join(';\n')};${endLeases(buckets)}
      DELETE FROM notify.${anchorTable};
      INSERT INTO notify.${anchorTable} (bucket) SELECT generate_series(0, ${buckets - 1});
      INSERT INTO notify.property (name, value) VALUES ('buckets', ${buckets})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value;
      COMMIT`,
    timeoutMs,
  })
}
