import type { Database } from '@gatehouse/kit'
import { rangesOf } from '../../agenda/shares.ts'
import type { DueWork } from '../../model/work/work-kind.ts'
import type { Survey } from '../../store/ownership.ts'
import { queries } from '../queries/index.ts'
import { timestamp } from '../sql/columns.ts'
import { queryByIndex } from '../sql/index-plans.ts'

/** So many rows are looked at for one that is not leased. */
const rowsRead = 16

/**
 * When the first of some rows is due: of one that is leased when its lease ends, on the caller's clock, which may be
 * another than the database's. Where all rows that were read are leased, one behind them may be due now. `$1` is the time.
 */
function front(from: string, dueAt: string): string {
  return `SELECT CASE WHEN count(*) = ${rowsRead} AND bool_and(r.is_leased) THEN $1::timestamptz ELSE min(r.due_at) END AS due_at
            FROM (SELECT coalesce(w.lease_until >= now(), false) AS is_leased,
                         CASE WHEN w.lease_until >= now() THEN greatest(w.${dueAt}, $1::timestamptz + (w.lease_until - now()))
                              ELSE w.${dueAt} END AS due_at
                    FROM ${from} LIMIT ${rowsRead}) AS r`
}

interface Surveyed {
  readonly table: string
  /** What is due in a bucket: rows of a kind and a time, which may be null. */
  readonly due: (bucket: string) => string
}

const timed = (kind: string, table: string, dueAt: string): Surveyed => ({
  table,
  due: (bucket) =>
    `SELECT '${kind}' AS kind, due_at
       FROM (${front(`notify.${table} w WHERE w.bucket = ${bucket} ORDER BY w.${dueAt}`, dueAt)}) AS front`,
})

const always = (kind: string, table: string): Surveyed => ({
  table,
  due: (bucket) =>
    `SELECT '${kind}' AS kind, $1::timestamptz AS due_at
      WHERE EXISTS (SELECT FROM notify.${table} w WHERE w.bucket = ${bucket})`,
})

const group = (bucket: string) =>
  `notify.delivery_queue w WHERE w.bucket = ${bucket} AND w.channel = g.channel AND w.priority = g.priority
      AND w.event = g.event ORDER BY w.due_at, w.delivery_id`

const deliveries: Surveyed = {
  table: 'delivery_queue',
  due: (bucket) =>
    queries['agenda/survey-deliveries']
      .replaceAll('{front}', () => front(group(bucket), 'due_at'))
      .replaceAll('{bucket}', () => bucket)
      .replaceAll('<= $1', () => '<= $1::timestamptz'),
}

const surveyed: readonly Surveyed[] = [
  deliveries,
  timed('schedule', 'scheduled', 'fire_at'),
  timed('resume', 'deferred', 'resume_at'),
  timed('resume', 'pending_window', 'flush_at'),
  always('release', 'parked'),
  always('outbox', 'outbox'),
]

/** Of one bucket, `$2`: on a distributed engine, one node runs it alone. */
const ofBucketSql = surveyed
  .map(({ due }, n) => `SELECT s${n}.* FROM (${due('$2::smallint')}) AS s${n} WHERE s${n}.due_at IS NOT NULL`)
  .join('\nUNION ALL\n')

/** Of ranges of buckets, from `$2` to `$3`: a loose scan of each table goes from bucket to bucket that has any rows. */
const ofRangesSql = `WITH RECURSIVE ranges AS MATERIALIZED (
  SELECT * FROM unnest($2::smallint[], $3::smallint[]) AS r (first, last)
), ${surveyed.map(({ table }) => bucketsOf(table)).join(', ')}
${surveyed
  .map(
    ({
      table,
      due,
    }) => `SELECT s.kind, b.bucket, s.due_at FROM in_${table} b CROSS JOIN LATERAL (${due('b.bucket')}) AS s
 WHERE b.bucket IS NOT NULL AND s.due_at IS NOT NULL`,
  )
  .join('\nUNION ALL\n')}`

function bucketsOf(table: string): string {
  return `in_${table} (bucket, last) AS (
  SELECT (SELECT min(t.bucket) FROM notify.${table} t WHERE t.bucket BETWEEN r.first AND r.last), r.last FROM ranges r
  UNION ALL
  SELECT (SELECT min(t.bucket) FROM notify.${table} t WHERE t.bucket > b.bucket AND t.bucket <= b.last), b.last
    FROM in_${table} b WHERE b.bucket IS NOT NULL
)`
}

interface DueRow {
  readonly kind: DueWork['kind']
  readonly bucket: number
  readonly due_at: number
}

/** The survey on PostgreSQL: one statement for all buckets, or one for each where they are on different nodes. */
export function postgresSurvey(database: Database, distributed: boolean): Survey {
  return {
    apart: distributed,
    async survey(buckets, now) {
      const at = timestamp(now)
      if (distributed) {
        const rows = buckets.map(async (bucket) => {
          const query = { name: 'notify_survey_bucket', text: ofBucketSql, values: [at, bucket] }
          const found = await queryByIndex<DueRow>(database, { bucket }, query)
          return found.rows.map((row) => ({ ...row, bucket }))
        })
        return (await Promise.all(rows)).flat().map(dueWorkOf)
      }
      const ranges = rangesOf(buckets)
      const values = [at, ranges.map(([first]) => first), ranges.map(([, last]) => last)]
      const query = { name: 'notify_survey', text: ofRangesSql, values }
      return (await queryByIndex<DueRow>(database, {}, query)).rows.map(dueWorkOf)
    },
  }
}

function dueWorkOf({ kind, bucket, due_at: dueAt }: DueRow): DueWork {
  return { kind, bucket, dueAt }
}
