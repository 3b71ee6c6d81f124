import type { Database } from '@gatehouse/kit'
import type { BucketLease, Ownership } from '../../store/ownership.ts'
import { queries } from '../queries/index.ts'

const raiseGeneration = 'UPDATE notify.worker_generation SET generation = generation + 1'

/** The longest lease that may be declared. */
const maxLeaseMs = 600_000

/**
 * The row of a process stands for its life: once that is gone, its leases are free, and it can't be renewed. One that
 * would end later than any lease can was written before the database's clock went back; whoever lives joins anew. Rows
 * that another locks are left to it, and the generation is locked last, so that nobody waits in a circle.
 */
const removeExpiredSql = `
WITH gone AS (
  DELETE FROM notify.worker_process WHERE id IN (
    SELECT id FROM notify.worker_process
     WHERE expires_at <= now() OR expires_at > now() + $1::integer * interval '1 millisecond'
       FOR UPDATE SKIP LOCKED) RETURNING id
)
${raiseGeneration} WHERE EXISTS (SELECT FROM gone)`

const removeExpired = (leaseMs: number) => ({
  name: 'notify_remove_expired',
  text: removeExpiredSql,
  values: [Math.max(maxLeaseMs, 2 * leaseMs)],
})

const joinSql = `
INSERT INTO notify.worker_process (id, expires_at, reads_topic, lost_topic)
VALUES ($1, now() + $2::integer * interval '1 millisecond', NOT $3::boolean, $3::boolean)`

const addBucketsSql = `
INSERT INTO notify.bucket_lease (bucket, fence) SELECT b, 0 FROM generate_series(0, $1::integer - 1) AS b
ON CONFLICT (bucket) DO NOTHING`

const renewSql = `
WITH former AS MATERIALIZED (
  SELECT id, reads_topic FROM notify.worker_process WHERE id = $1 AND expires_at > now() FOR UPDATE
), renewed AS (
  UPDATE notify.worker_process p
     SET expires_at = now() + $2::integer * interval '1 millisecond',
         reads_topic = p.reads_topic OR NOT $3::boolean, lost_topic = $3::boolean
    FROM former WHERE p.id = former.id RETURNING p.id
), raised AS (
  ${raiseGeneration} WHERE EXISTS (SELECT FROM former WHERE NOT reads_topic AND NOT $3::boolean)
)
SELECT id FROM renewed`

/** For a process that reaches the topic for certain: it and others read the partitions of those that have lost it. */
const replaceLostSql = `
WITH lost AS (
  UPDATE notify.worker_process SET reads_topic = false WHERE id IN (
    SELECT id FROM notify.worker_process
     WHERE lost_topic AND reads_topic AND $2::boolean
       AND EXISTS (SELECT FROM notify.worker_process WHERE id = $1 AND expires_at > now())
       FOR UPDATE SKIP LOCKED) RETURNING id
)
${raiseGeneration} WHERE EXISTS (SELECT FROM lost)`

/** In one statement, so that a generation has the same processes for whoever reads it. */
const processesSql = `
SELECT g.generation, p.id, p.reads_topic FROM notify.worker_generation g LEFT JOIN notify.worker_process p ON true`

const leaveSql = `
WITH gone AS (DELETE FROM notify.worker_process WHERE id = $1 RETURNING id)
${raiseGeneration} WHERE EXISTS (SELECT FROM gone)`

const leasesSql = 'SELECT bucket, owner, fence FROM notify.bucket_lease ORDER BY bucket'

const releaseSql = `
UPDATE notify.bucket_lease SET owner = NULL, fence = fence + 1 WHERE owner = $1 AND bucket = ANY ($2::smallint[])`

interface ProcessRow {
  readonly generation: number
  readonly id: string | null
  readonly reads_topic: boolean | null
}

interface LeaseRow {
  readonly bucket: number
  readonly owner: string | null
  readonly fence: number
}

/** The leases of the buckets on PostgreSQL. Times are the database's. */
export function postgresOwnership(database: Database, count: number): Ownership {
  return {
    async join(process, leaseMs, reach) {
      await database.pipeline([
        { text: joinSql, values: [process, leaseMs, reach === 'lost'] },
        removeExpired(leaseMs),
        raiseGeneration,
        { text: addBucketsSql, values: [count] },
      ])
    },
    async renew(process, leaseMs, reach) {
      const [renewed, removed, replaced, processes, leases] = await database.pipeline<object>([
        { name: 'notify_renew_process', text: renewSql, values: [process, leaseMs, reach === 'lost'] },
        removeExpired(leaseMs),
        { name: 'notify_replace_lost', text: replaceLostSql, values: [process, reach === 'reached'] },
        { name: 'notify_processes', text: processesSql },
        { name: 'notify_bucket_leases', text: leasesSql },
      ])
      if (renewed?.rowCount !== 1) return undefined
      const known = (processes?.rows ?? []) as ProcessRow[]
      return {
        processes: known.flatMap(({ id }) => id ?? []),
        readers: known.flatMap(({ id, reads_topic }) => (reads_topic ? (id ?? []) : [])),
        generation: known[0]?.generation ?? 0,
        foundGone: removed?.rowCount === 1 || replaced?.rowCount === 1,
        leases: ((leases?.rows ?? []) as LeaseRow[]).map(leaseOf),
      }
    },
    async acquire(process, leases) {
      const buckets = leases.map(({ bucket }) => bucket)
      const fences = leases.map(({ fence }) => fence)
      const { rows } = await database.query<LeaseRow>(queries['agenda/acquire-leases'], [process, buckets, fences])
      return rows.map(leaseOf)
    },
    async release(process, buckets) {
      await database.query(releaseSql, [process, buckets])
    },
    async leave(process) {
      await database.query(leaveSql, [process])
    },
  }
}

function leaseOf({ owner, ...row }: LeaseRow): BucketLease {
  return { ...row, owner: owner ?? undefined }
}
