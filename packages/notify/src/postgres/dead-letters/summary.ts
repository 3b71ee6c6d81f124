import type { Database } from '@gatehouse/kit'
import {
  type DeadLetterFilter,
  type DeadLetterGroup,
  type DeadLetterGrouping,
  type DeadLetterSummary,
  type LetterTrend,
  trendSpans,
} from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { withoutNulls } from '../sql/columns.ts'
import { fingerprintSql, matching, providerSql, valuesOf } from './filter.ts'

/** So many letters are looked at, the last that died; a group of older ones is left out. */
const maxRows = 20_000

interface GroupRow {
  readonly key: string | null
  readonly count: number
  readonly first_at: number
  readonly last_at: number
  readonly trend: number[]
  readonly sample: { readonly id: string; readonly cause: string; readonly detail: string }
}

const keys: Readonly<Record<DeadLetterGrouping, string>> = {
  cause: 'cause',
  provider: providerSql,
  event: 'event',
  fingerprint: fingerprintSql,
}

/** How many died in each span. */
const trendSql = `ARRAY[${Array.from(
  { length: trendSpans },
  (_, span) => `count(*) FILTER (WHERE span = ${span + 1})`,
).join(', ')}]::integer[]`

interface SummaryRequest {
  readonly groupBy: DeadLetterGrouping
  readonly filter: DeadLetterFilter
  readonly trend: LetterTrend
}

/** Groups letters bucket by bucket, and adds the groups up. */
export async function summarize(
  database: Database,
  buckets: readonly number[],
  { groupBy, filter, trend }: SummaryRequest,
): Promise<DeadLetterSummary> {
  const groups = new Map<string | null, DeadLetterGroup>()
  let total = 0
  for (const bucket of buckets) {
    if (total >= maxRows) break
    const { rows } = await at(database, bucket).query<GroupRow>(
      `SELECT key, count(*) AS count, min(died_at) AS first_at, max(died_at) AS last_at,
              ${trendSql} AS trend,
              (array_agg(json_build_object('id', id, 'cause', cause, 'detail', detail) ORDER BY died_at DESC, id DESC))[1] AS sample
         FROM (SELECT id, cause, detail, died_at, ${keys[groupBy]} AS key,
                      width_bucket(extract(epoch FROM died_at)::float8, $12::float8, $13::float8, ${trendSpans}) AS span
                 FROM notify.dead_letter
                WHERE ${matching} ORDER BY died_at DESC LIMIT $11) AS looked
        GROUP BY key`,
      [...valuesOf(bucket, filter), maxRows - total, trend.from / 1_000, trend.to / 1_000],
    )
    for (const row of rows) {
      total += row.count
      groups.set(row.key, merge(groups.get(row.key), groupOf(row)))
    }
  }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt)
  return { groups: sorted, total, isComplete: total < maxRows }
}

function groupOf({ key, count, first_at: firstAt, last_at: lastAt, sample, trend }: GroupRow): DeadLetterGroup {
  return { count, firstAt, lastAt, sample, trend, ...withoutNulls({ key }) }
}

function merge(known: DeadLetterGroup | undefined, group: DeadLetterGroup): DeadLetterGroup {
  if (!known) return group
  return {
    ...group,
    count: known.count + group.count,
    firstAt: Math.min(known.firstAt, group.firstAt),
    lastAt: Math.max(known.lastAt, group.lastAt),
    trend: known.trend.map((count, span) => count + (group.trend[span] ?? 0)),
    sample: known.lastAt > group.lastAt ? known.sample : group.sample,
  }
}
