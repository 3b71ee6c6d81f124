import type { Database, Query } from '../database/database.ts'
import type { TableBound } from '../database/table-bound.ts'
import type { StatBatch, StatQuery, StatStore } from './store.ts'
import { statRetentionMs } from './store.ts'
import type { StatLabels } from './tally.ts'

const minuteMs = 60_000
const hourMs = 3_600_000
const writeTimeoutMs = 5_000
const readTimeoutMs = 5_000
const maxRows = 200_000
const purgeRows = 2_000

/** What bounds the two tables. */
export const statTables: readonly TableBound[] = [
  { table: 'stat', bound: '`at`; one for each combination of labels', kept: 'minutes 7 days, hours 400 days' },
  { table: 'stat_batch', bound: '`at`; one a minute for each process', kept: '1 hour' },
]

/** Options of {@link statTable}. */
export interface StatTableOptions {
  /** The schema with the tables `stat` and `stat_batch`, a plain lower-case name. */
  readonly schema: string
  /** All measures that are kept. */
  readonly measures: readonly string[]
  /** Those that are kept by the hour alone, since they have many labels. */
  readonly hourly?: ReadonlySet<string>
}

/**
 * The history in the tables `stat` and `stat_batch` of a schema: each count once by the minute and once by the hour. Rows
 * are written in the order of their key, so that processes that write at once wait for each other and never in a circle.
 */
export function statTable(database: Database, options: StatTableOptions): StatStore {
  const { schema, measures, hourly = new Set() } = options
  const purgeStep = async (stepMs: number, before: number) => {
    const { rowCount } = await database.query(purgeQuery(schema, measures, { stepMs, before }))
    return rowCount >= purgeRows
  }
  return {
    async add(batch) {
      await database.query(addQuery(schema, hourly, batch))
    },
    async read(query) {
      const { rows } = await database.query<{ at: number; labels: StatLabels; value: number }>(
        readQuery(schema, hourly, query),
      )
      return rows.map(({ at, ...row }) => ({ ...row, at: at * 1_000 }))
    },
    async purge(now) {
      const minutes = await purgeStep(minuteMs, now - statRetentionMs.minute)
      const hours = await purgeStep(hourMs, now - statRetentionMs.hour)
      const { rowCount } = await database.query(
        `DELETE FROM ${schema}.stat_batch WHERE id IN (
           SELECT id FROM ${schema}.stat_batch WHERE at < to_timestamp($1) LIMIT ${purgeRows})`,
        [(now - hourMs) / 1_000],
      )
      return minutes || hours || rowCount >= purgeRows
    },
    async seen(measure, without) {
      const one = (order: string) => `(SELECT at FROM ${schema}.stat
          WHERE step = $1 AND measure = $2 AND NOT coalesce(labels->>$3 = ANY ($4::text[]), false)
          ORDER BY step ${order}, measure ${order}, at ${order} LIMIT 1)`
      const { rows } = await database.query<{ first: number | null; last: number }>({
        text: `SELECT ${one('ASC')} AS first, ${one('DESC')} AS last`,
        values: [hourMs / 1_000, measure, without?.label ?? '', without?.values ?? []],
        timeoutMs: readTimeoutMs,
      })
      const [row] = rows
      return row?.first == null ? undefined : { first: row.first, last: row.last }
    },
  }
}

/** Whoever inserts the batch's id adds its counts; a second time, also at once, nothing is added. */
function addQuery(schema: string, hourly: ReadonlySet<string>, { id, at, counts }: StatBatch): Query {
  const rows = counts.flatMap(({ measure, labels, value }) =>
    [minuteMs, hourMs]
      .filter((stepMs) => stepMs === hourMs || !hourly.has(measure))
      .map((stepMs) => ({
        step: stepMs / 1_000,
        at: Math.floor(at / stepMs) * (stepMs / 1_000),
        measure,
        labels,
        value,
      })),
  )
  return {
    name: `${schema}_add_stats`,
    text: `WITH batch AS (
             INSERT INTO ${schema}.stat_batch (id, at) VALUES ($1, to_timestamp($2)) ON CONFLICT DO NOTHING RETURNING id)
           INSERT INTO ${schema}.stat AS s (step, measure, at, labels, value)
           SELECT c.step, c.measure, to_timestamp(c.at), c.labels::jsonb, c.value
             FROM unnest($3::int[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
                  AS c (step, measure, at, labels, value), batch
            ORDER BY c.step, c.measure, c.at, c.labels::jsonb
           ON CONFLICT (step, measure, at, labels) DO UPDATE SET value = s.value + excluded.value`,
    values: [
      id,
      at / 1_000,
      rows.map(({ step }) => step),
      rows.map(({ measure }) => measure),
      rows.map((row) => row.at),
      rows.map(({ labels }) => JSON.stringify(labels)),
      rows.map(({ value }) => value),
    ],
    timeoutMs: writeTimeoutMs,
  }
}

/** Hours are read where the step is made of them, else minutes. */
function readQuery(schema: string, hourly: ReadonlySet<string>, { measure, from, to, stepMs }: StatQuery): Query {
  const kept = hourly.has(measure) || stepMs % hourMs === 0 ? hourMs : minuteMs
  return {
    text: `SELECT (floor((extract(epoch FROM at) - $3) / $5) * $5 + $3)::bigint AS at, labels, sum(value)::bigint AS value
             FROM ${schema}.stat
            WHERE step = $1 AND measure = $2 AND at >= to_timestamp($3) AND at < to_timestamp($4)
            GROUP BY 1, 2 LIMIT ${maxRows}`,
    values: [kept / 1_000, measure, from / 1_000, to / 1_000, stepMs / 1_000],
    timeoutMs: readTimeoutMs,
  }
}

function purgeQuery(
  schema: string,
  measures: readonly string[],
  { stepMs, before }: { readonly stepMs: number; readonly before: number },
): Query {
  return {
    text: `DELETE FROM ${schema}.stat WHERE (step, measure, at, labels) IN (
             SELECT step, measure, at, labels FROM ${schema}.stat
              WHERE step = $1 AND measure = ANY ($2::text[]) AND at < to_timestamp($3)
              LIMIT ${purgeRows} FOR UPDATE SKIP LOCKED)`,
    values: [stepMs / 1_000, measures, before / 1_000],
  }
}
