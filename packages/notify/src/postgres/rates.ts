import type { Database, Transaction } from '@gatehouse/kit'
import type { EventRate } from '../event-type.ts'
import type { Parkable, RateAsked, RateGranted } from '../store.ts'
import { columns, timestamp } from './words.ts'

interface RateRow {
  readonly event: string
  readonly since: number
  readonly used: number
}

interface Taken extends RateRow {
  readonly granted: number
  readonly nextAt: number
}

/**
 * Takes from the event types' rates, in a transaction of its own: fixed windows that all processes share. What may wait
 * and gets nothing, or finds others of its type waiting, is parked in the same transaction.
 */
export async function takeRates(
  database: Database,
  bucket: number,
  asked: readonly RateAsked[],
  now: number,
): Promise<Map<string, RateGranted>> {
  const sorted = [...asked].sort((a, b) => (a.event < b.event ? -1 : 1))
  return database.transaction(async (tx) => {
    const events = sorted.map(({ event }) => event)
    const [kept, waiting] = await Promise.all([lockRates(tx, events, now), typesThatWait(tx, bucket, events)])
    const decided = sorted.map((ask) => {
      const { event, count, parkable, rate } = ask
      const passing = waiting.has(event) ? 0 : parkable.length
      const taken = take({ event, count: count + passing, rate }, kept.get(event), now)
      const passed = Math.max(0, taken.granted - count)
      return { taken, passed, granted: taken.granted - passed, left: parkable.slice(passed) }
    })
    await Promise.all([
      writeRates(
        tx,
        decided.map(({ taken }) => taken),
      ),
      park(
        tx,
        bucket,
        decided.flatMap(({ left }) => left),
      ),
    ])
    return new Map(
      decided.map(({ taken, granted, passed }) => [taken.event, { granted, passed, nextAt: taken.nextAt }]),
    )
  })
}

/** Locks the rates of event types (in the order given) and answers them. */
export async function lockRates(
  tx: Transaction,
  events: readonly string[],
  now: number,
): Promise<Map<string, RateRow>> {
  const { rows } = await tx.query<RateRow>(
    `INSERT INTO notify.event_rate (event, since, used)
     SELECT r.event, $2, 0 FROM unnest($1::text[]) WITH ORDINALITY AS r (event, place) ORDER BY r.place
     ON CONFLICT (event) DO UPDATE SET event = excluded.event RETURNING event, since, used`,
    [events, timestamp(now)],
  )
  return new Map(rows.map((row) => [row.event, row]))
}

async function typesThatWait(tx: Transaction, bucket: number, events: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ event: string }>(
    `SELECT e.event FROM unnest($2::text[]) AS e (event)
      WHERE EXISTS (SELECT FROM notify.parked p WHERE p.bucket = $1 AND p.event = e.event)`,
    [bucket, events],
  )
  return new Set(rows.map(({ event }) => event))
}

/** What is left of a rate, and what remains to be written of it. */
export function take(
  { event, count, rate }: { readonly event: string; readonly count: number; readonly rate: EventRate },
  kept: RateRow | undefined,
  now: number,
): Taken {
  const spanMs = rate.perSeconds * 1000
  const current = kept && now < kept.since + spanMs ? kept : { since: now, used: 0 }
  const granted = Math.max(0, Math.min(count, rate.limit - current.used))
  return { event, since: current.since, used: current.used + granted, granted, nextAt: current.since + spanMs }
}

export async function writeRates(tx: Transaction, taken: readonly Taken[]): Promise<void> {
  await tx.query(
    `UPDATE notify.event_rate e SET since = t.since, used = t.used
       FROM unnest($1::text[], $2::timestamptz[], $3::integer[]) AS t (event, since, used) WHERE e.event = t.event`,
    [taken.map(({ event }) => event), taken.map(({ since }) => timestamp(since)), taken.map(({ used }) => used)],
  )
}

/** One that is there already is the same message, delivered again. */
async function park(tx: Transaction, bucket: number, left: readonly Parkable[]): Promise<void> {
  if (left.length === 0) return
  const sorted = [...left].sort((a, b) => a.place - b.place)
  await tx.query({
    name: 'notify_park',
    text: `INSERT INTO notify.parked (bucket, key, user_id, event, place, payload, occurred_at)
           SELECT $1, p.key, p.user_id, p.event, p.place, p.payload::jsonb, p.occurred_at
             FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::timestamptz[])
                  AS p (key, user_id, event, place, payload, occurred_at)
           ON CONFLICT (bucket, key) DO NOTHING`,
    values: [
      bucket,
      ...columns(
        sorted,
        (p) => p.key,
        (p) => p.request.user_id,
        (p) => p.request.event,
        (p) => p.place,
        (p) => JSON.stringify(p.request),
        (p) => timestamp(p.occurredAt),
      ),
    ],
  })
}
