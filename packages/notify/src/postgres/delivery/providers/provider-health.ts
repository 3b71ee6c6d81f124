import type { Database } from '@gatehouse/kit'
import { type BreakerRules, type Health, nextHealth } from '../../../model/delivery/breaker.ts'
import type { ProviderHealth, ReportedCalls } from '../../../store/store.ts'
import { optionalTimestamp, timestamp } from '../../sql/columns.ts'

interface HealthRow {
  readonly since: number
  readonly calls: number
  readonly failures: number
  readonly open_until: number | null
  readonly openings: number
}

const pauseHorizonMs = 60_000
const maxReasonLength = 500
/** Where so many others came between, these calls are left out: the others say the same. */
const maxAttempts = 24

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
    async report(provider, counted, rules, now) {
      const isFine = counted.failures === 0 && counted.misconfigured === undefined
      if (isFine && (await addToClosed(database, provider, counted, rules, now))) return false
      for (let attempts = 0; attempts < maxAttempts; attempts++) {
        const before = await read(database, provider)
        const known = before ?? { since: now, calls: 0, failures: 0, openings: 0 }
        const after = nextHealth(known, counted, rules, now)
        // Of calls that were under way when it opened there is nothing to store.
        if (after === known && counted.misconfigured === undefined) return false
        if (await replace(database, provider, { before, after, counted }))
          return known.openUntil === undefined && after.openUntil !== undefined
      }
      return false
    },
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

/**
 * Adds calls that went well to a breaker that is closed and that they do not open, as nearly all do: in one statement, so
 * that the processes of a fleet, which all report to one row, wait for the server alone. False where nothing was added.
 */
async function addToClosed(
  database: Database,
  provider: string,
  { calls }: ReportedCalls,
  { windowMs, minCalls, failureRate }: BreakerRules,
  now: number,
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'notify_add_calls',
    text: `INSERT INTO notify.provider_health AS h (provider, since, calls, failures) VALUES ($1, $2::timestamptz, $3::integer, 0)
           ON CONFLICT (provider) DO UPDATE
              SET since = CASE WHEN h.since > $4 THEN h.since ELSE $2 END,
                  calls = CASE WHEN h.since > $4 THEN h.calls ELSE 0 END + $3,
                  failures = CASE WHEN h.since > $4 THEN h.failures ELSE 0 END,
                  openings = 0, probe_until = NULL, misconfigured = NULL
            WHERE h.open_until IS NULL
              AND (h.since <= $4::timestamptz OR h.failures = 0 OR h.calls + $3 < $5::integer
                   OR h.failures < (h.calls + $3) * $6::float8)`,
    values: [provider, timestamp(now), calls, timestamp(now - windowMs), minCalls, failureRate],
  })
  return rowCount > 0
}

async function read(database: Database, provider: string): Promise<Health | undefined> {
  const { rows } = await database.query<HealthRow>({
    name: 'notify_read_health',
    text: 'SELECT since, calls, failures, open_until, openings FROM notify.provider_health WHERE provider = $1',
    values: [provider],
  })
  const [row] = rows
  if (!row) return undefined
  const { since, calls, failures, open_until, openings } = row
  return { since, calls, failures, openings, ...(open_until === null ? {} : { openUntil: open_until }) }
}

interface Replacement {
  /** Undefined where there was no row. */
  readonly before: Health | undefined
  readonly after: Health
  readonly counted: ReportedCalls
}

/** Stores the state after calls, unless another process has stored one meanwhile: false then. */
async function replace(
  database: Database,
  provider: string,
  { before, after, counted }: Replacement,
): Promise<boolean> {
  const reason = counted.misconfigured?.slice(0, maxReasonLength) ?? null
  const state = ({ since, calls, failures, openUntil, openings }: Health) => [
    timestamp(since),
    calls,
    failures,
    optionalTimestamp(openUntil),
    openings,
  ]
  if (!before) {
    const { rowCount } = await database.query({
      name: 'notify_insert_health',
      text: `INSERT INTO notify.provider_health (provider, since, calls, failures, open_until, openings, misconfigured)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (provider) DO NOTHING`,
      values: [provider, ...state(after), reason],
    })
    return rowCount > 0
  }
  const { rowCount } = await database.query({
    name: 'notify_replace_health',
    text: `UPDATE notify.provider_health
              SET since = $2, calls = $3, failures = $4, open_until = $5, openings = $6, probe_until = NULL,
                  misconfigured = coalesce($7, CASE WHEN $8::boolean THEN misconfigured END)
            WHERE provider = $1 AND since = $9 AND calls = $10 AND failures = $11
              AND open_until IS NOT DISTINCT FROM $12::timestamptz AND openings = $13`,
    values: [
      provider,
      ...state(after),
      reason,
      after.openUntil !== undefined || counted.failures === counted.calls,
      ...state(before),
    ],
  })
  return rowCount > 0
}
