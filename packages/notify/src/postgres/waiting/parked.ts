import type { Database } from '@gatehouse/kit'
import type { Parked, ParkedHead } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { timestamp } from '../sql/columns.ts'

/** The first of each event type, one step of the index a type. */
const headsSql = `
WITH RECURSIVE head AS (
  (SELECT event, place FROM notify.parked WHERE bucket = $1 ORDER BY event, place LIMIT 1)
  UNION ALL
  SELECT next.event, next.place FROM head h CROSS JOIN LATERAL (
    SELECT p.event, p.place FROM notify.parked p WHERE p.bucket = $1 AND p.event > h.event
     ORDER BY p.event, p.place LIMIT 1) AS next
) SELECT event, place FROM head`

/** Parked events on PostgreSQL. */
export function postgresParked(database: Database): Parked {
  return {
    async heads(bucket) {
      const { rows } = await at(database, bucket).query<ParkedHead>({
        name: 'notify_parked_heads',
        text: headsSql,
        values: [bucket],
      })
      return rows
    },
    async release(bucket, { event, rate }, max, now) {
      const { rows } = await at(database, bucket).query<{ released: number }>({
        name: 'notify_release_parked',
        text: 'CALL notify.release_parked($1, $2, $3, $4, $5, $6, NULL)',
        values: [bucket, event, max, rate?.limit ?? null, rate ? rate.perSeconds * 1000 : null, timestamp(now)],
      })
      return rows[0]?.released ?? 0
    },
  }
}
