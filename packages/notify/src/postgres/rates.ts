import type { Database } from '@gatehouse/kit'
import type { RateAsked, RateGranted } from '../store.ts'
import { timestamp } from './words.ts'

interface RateRow {
  readonly event: string
  readonly since: number
  readonly used: number
}

/** Takes from the event types' rates, in a transaction of its own: fixed windows that all processes share. */
export async function takeRates(
  database: Database,
  asked: readonly RateAsked[],
  now: number,
): Promise<Map<string, RateGranted>> {
  const sorted = [...asked].sort((a, b) => (a.event < b.event ? -1 : 1))
  return database.transaction(async (tx) => {
    const { rows } = await tx.query<RateRow>(
      `INSERT INTO notify.event_rate (event, since, used)
       SELECT r.event, $2, 0 FROM unnest($1::text[]) WITH ORDINALITY AS r (event, place) ORDER BY r.place
       ON CONFLICT (event) DO UPDATE SET event = excluded.event RETURNING event, since, used`,
      [sorted.map(({ event }) => event), timestamp(now)],
    )
    const kept = new Map(rows.map((row) => [row.event, row]))
    const taken = sorted.map((ask) => take(ask, kept.get(ask.event), now))
    await tx.query(
      `UPDATE notify.event_rate e SET since = t.since, used = t.used
         FROM unnest($1::text[], $2::timestamptz[], $3::integer[]) AS t (event, since, used) WHERE e.event = t.event`,
      [taken.map(({ event }) => event), taken.map(({ since }) => timestamp(since)), taken.map(({ used }) => used)],
    )
    return new Map(taken.map(({ event, granted, nextAt }) => [event, { granted, nextAt }]))
  })
}

function take({ event, count, rate }: RateAsked, kept: RateRow | undefined, now: number) {
  const spanMs = rate.perSeconds * 1000
  const current = kept && now < kept.since + spanMs ? kept : { since: now, used: 0 }
  const granted = Math.max(0, Math.min(count, rate.limit - current.used))
  return { event, since: current.since, used: current.used + granted, granted, nextAt: current.since + spanMs }
}
