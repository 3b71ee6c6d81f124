import type { Database } from '@gatehouse/kit'
import { type BreakerRules, closedHealth, type Health, nextHealth } from '../../../model/delivery/breaker.ts'
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
/** Where so many others opened or closed it between, these calls are left out: theirs are newer. */
const maxAttempts = 24

/** The calls of the current window, with those that are added. */
const inWindow = `(
  SELECT CASE WHEN h.since > $5::timestamptz THEN h.calls ELSE 0 END + $3 AS calls,
         CASE WHEN h.since > $5::timestamptz THEN h.failures ELSE 0 END + $4 AS failures)`

/** Those of a window that is over ($5) count no more. A breaker that has no row yet is one that the calls may open ($8). */
const addToClosedSql = `
INSERT INTO notify.provider_health AS h (provider, since, calls, failures)
SELECT $1, $2::timestamptz, $3::integer, $4::integer
 WHERE NOT $8::boolean OR EXISTS (SELECT FROM notify.provider_health WHERE provider = $1)
ON CONFLICT (provider) DO UPDATE
   SET (since, calls, failures) = (
         SELECT CASE WHEN h.since > $5::timestamptz THEN h.since ELSE $2 END, w.calls, w.failures FROM ${inWindow} AS w),
       openings = 0, probe_until = NULL,
       misconfigured = CASE WHEN $4 = $3 THEN h.misconfigured END
 WHERE h.open_until IS NULL
   AND (SELECT w.failures = 0 OR w.calls < $6::integer OR w.failures < w.calls * $7::float8 FROM ${inWindow} AS w)`

/** Circuit breakers of providers on PostgreSQL. */
export function postgresProviderHealth(database: Database): ProviderHealth {
  return {
    async open(now, maxWaitMs) {
      const { rows } = await database.query<{ provider: string; open_until: number }>(
        `SELECT provider, greatest(CASE WHEN open_until > $3 THEN $1 ELSE open_until END,
                                   CASE WHEN probe_until > $3 THEN $1 ELSE probe_until END,
                                   CASE WHEN paused_until > $1 THEN least(paused_until, $2) END) AS open_until
           FROM notify.provider_health WHERE open_until IS NOT NULL OR paused_until > $1`,
        [timestamp(now), timestamp(now + pauseHorizonMs), timestamp(now + maxWaitMs)],
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
      for (let attempts = 0; attempts < maxAttempts; attempts++) {
        if (await addToClosed(database, provider, counted, rules, now)) return false
        const before = await read(database, provider)
        const known = before ?? closedHealth(now)
        const after = nextHealth(known, counted, rules, now)
        // Of calls that were under way when it opened there is nothing to store.
        if (after === known && counted.misconfigured === undefined) return false
        const opensOrCloses = known.openUntil !== undefined || after.openUntil !== undefined
        if (opensOrCloses && (await replace(database, provider, { before, after, counted })))
          return known.openUntil === undefined && after.openUntil !== undefined
      }
      return false
    },
    async probe(provider, now, untilMs, maxWaitMs) {
      const { rowCount } = await database.query(
        `UPDATE notify.provider_health SET probe_until = $3
          WHERE provider = $1 AND (open_until <= $2 OR open_until > $4)
            AND (probe_until IS NULL OR probe_until <= $2 OR probe_until > $4)`,
        [provider, timestamp(now), timestamp(now + untilMs), timestamp(now + maxWaitMs)],
      )
      return rowCount > 0
    },
  }
}

/**
 * Adds calls to a breaker that is closed and that they do not open, as nearly all do: in one statement, so that the
 * processes of a fleet, which all report to one row, wait for the server alone. False where nothing was added.
 */
async function addToClosed(
  database: Database,
  provider: string,
  counted: ReportedCalls,
  rules: BreakerRules,
  now: number,
): Promise<boolean> {
  const opensNew = nextHealth(closedHealth(now), counted, rules, now).openUntil !== undefined
  const { rowCount } = await database.query({
    name: 'notify_add_calls',
    text: addToClosedSql,
    values: [
      provider,
      timestamp(now),
      counted.calls,
      counted.failures,
      timestamp(now - rules.windowMs),
      rules.minCalls,
      rules.failureRate,
      opensNew,
    ],
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

/**
 * Opens, closes or keeps open a breaker, unless another process has done so since it was read: false then. Each sets
 * `since`. What others have added meanwhile is of no account after it.
 */
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
            WHERE provider = $1 AND since = $9 AND open_until IS NOT DISTINCT FROM $10::timestamptz`,
    values: [
      provider,
      ...state(after),
      reason,
      after.openUntil !== undefined || counted.failures === counted.calls,
      timestamp(before.since),
      optionalTimestamp(before.openUntil),
    ],
  })
  return rowCount > 0
}
