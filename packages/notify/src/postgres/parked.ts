import type { Database } from '@gatehouse/kit'
import { newId } from '../ids.ts'
import type { NotifyRequest } from '../notification.ts'
import type { Parked, ParkedHead } from '../store.ts'
import { lockRates, take, writeRates } from './rates.ts'
import { among, atMost, columns, optionalTimestamp, planAfresh, timestamp } from './words.ts'

/** The first of each event type, one step of the index a type. */
const headsSql = `
WITH RECURSIVE head AS (
  (SELECT event, place FROM notify.parked WHERE bucket = $1 ORDER BY event, place LIMIT 1)
  UNION ALL
  SELECT next.event, next.place FROM head h CROSS JOIN LATERAL (
    SELECT p.event, p.place FROM notify.parked p WHERE p.bucket = $1 AND p.event > h.event
     ORDER BY p.event, p.place LIMIT 1) AS next
) SELECT event, place FROM head`

interface ParkedRow {
  readonly user_id: string
  readonly place: number
  readonly payload: NotifyRequest
  readonly occurred_at: number | null
}

export function postgresParked(database: Database): Parked {
  return {
    async heads(bucket) {
      const { rows } = await database.query<ParkedHead>({
        name: 'notify_parked_heads',
        text: headsSql,
        values: [bucket],
      })
      return rows
    },
    release: (bucket, event, rate, most, now) =>
      database.transaction(async (tx) => {
        const [, kept, waiting] = await Promise.all([
          planAfresh(tx),
          lockRates(tx, [event], now),
          tx.query<{ key: string }>(
            `SELECT key FROM notify.parked WHERE bucket = $1 AND event = $2 ORDER BY place ${atMost('$3')} FOR UPDATE`,
            [bucket, event, most],
          ),
        ])
        const keys = waiting.rows.map(({ key }) => key)
        const taken = rate && take({ event, count: keys.length, rate }, kept.get(event), now)
        const free = keys.slice(0, taken?.granted)
        if (free.length === 0) return 0
        const { rows } = await tx.query<ParkedRow>(
          `DELETE FROM notify.parked WHERE bucket = $1 AND ${among('key', '$2', 'text')} RETURNING user_id, place, payload, occurred_at`,
          [bucket, free],
        )
        const inOrder = rows.sort((a, b) => a.place - b.place)
        await Promise.all([
          taken && writeRates(tx, [taken]),
          tx.query(
            `INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload, source, occurred_at)
             SELECT $1, s.id, s.user_id, $5::timestamptz - ($6 - s.place) * interval '1 microsecond', s.payload::jsonb, 'topic',
                    s.occurred_at
               FROM unnest($2::uuid[], $3::text[], $4::text[], $7::timestamptz[]) WITH ORDINALITY
                    AS s (id, user_id, payload, occurred_at, place)`,
            [
              bucket,
              ...columns(
                inOrder,
                () => newId(bucket),
                (p) => p.user_id,
                (p) => JSON.stringify(p.payload),
              ),
              timestamp(now),
              inOrder.length,
              ...columns(inOrder, (p) => optionalTimestamp(p.occurred_at)),
            ],
          ),
        ])
        return inOrder.length
      }),
  }
}
