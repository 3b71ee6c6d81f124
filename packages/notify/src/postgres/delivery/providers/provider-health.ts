import type { Database, Transaction } from '@gatehouse/kit'
import { type Health, nextHealth } from '../../../model/delivery/breaker.ts'
import type { ProviderHealth } from '../../../store/store.ts'
import { timestamp } from '../../sql/columns.ts'

interface HealthRow {
  readonly since: number
  readonly calls: number
  readonly failures: number
  readonly open_until: number | null
  readonly openings: number
}

const pauseHorizonMs = 60_000
const maxReasonLength = 500

/** Circuit breakers of providers on PostgreSQL. */
export function postgresProviderHealth(database: Database): ProviderHealth {
  return {
    async open(now) {
      const { rows } = await database.query<{ provider: string; open_until: number }>(
        `SELECT provider, greatest(open_until, probe_until, CASE WHEN paused_until > $1 THEN least(paused_until, $2) END) AS open_until
           FROM notify.provider_health WHERE open_until IS NOT NULL OR paused_until > $1`,
        [timestamp(now), timestamp(now + pauseHorizonMs)],
      )
      return new Map(rows.map((row) => [row.provider, row.open_until]))
    },
    async order(channel) {
      const { rows } = await database.query<{ providers: string[] }>(
        'SELECT providers FROM notify.provider_order WHERE channel = $1',
        [channel],
      )
      return rows[0]?.providers ?? []
    },
    report: (provider, counted, rules, now) =>
      database.transaction(async (tx) => {
        const before = await lock(tx, provider, now)
        const after = nextHealth(before, counted, rules, now)
        await tx.query(
          `UPDATE notify.provider_health
              SET since = $2, calls = $3, failures = $4, open_until = $5, openings = $6, probe_until = NULL,
                  misconfigured = coalesce($7, CASE WHEN $8::boolean THEN misconfigured END)
            WHERE provider = $1`,
          [
            provider,
            timestamp(after.since),
            after.calls,
            after.failures,
            after.openUntil === undefined ? null : timestamp(after.openUntil),
            after.openings,
            counted.misconfigured?.slice(0, maxReasonLength) ?? null,
            after.openUntil !== undefined || counted.failures === counted.calls,
          ],
        )
        return before.openUntil === undefined && after.openUntil !== undefined
      }),
    async probe(provider, now, untilMs) {
      const { rowCount } = await database.query(
        `UPDATE notify.provider_health SET probe_until = $3
          WHERE provider = $1 AND open_until <= $2 AND (probe_until IS NULL OR probe_until <= $2)`,
        [provider, timestamp(now), timestamp(now + untilMs)],
      )
      return rowCount > 0
    },
  }
}

async function lock(tx: Transaction, provider: string, now: number): Promise<Health> {
  const { rows } = await tx.query<HealthRow>(
    `INSERT INTO notify.provider_health (provider, since, calls, failures) VALUES ($1, $2, 0, 0)
     ON CONFLICT (provider) DO UPDATE SET provider = excluded.provider
     RETURNING since, calls, failures, open_until, openings`,
    [provider, timestamp(now)],
  )
  const { since = now, calls = 0, failures = 0, openings = 0, open_until = null } = rows[0] ?? {}
  return { since, calls, failures, openings, ...(open_until === null ? {} : { openUntil: open_until }) }
}
