import type { Queryable } from '@gatehouse/kit'

/** One row a bucket; the other tables of users are placed where its rows are. */
export const anchorTable = 'bucket_anchor'

/**
 * Tables that statements on users read as well, copied to every node. Only what changes by hand may be one: whoever writes
 * to it locks it on all nodes. All other tables without a bucket stay on the coordinator.
 */
const referenceTables: readonly string[] = ['property']

/** Tables about buckets, not about users: statements lock several of their rows, and no worker that is down may stop them. */
const coordinatorTables: readonly string[] = ['bucket_lease']

/** A table that a distributed database has on its workers. */
export interface WorkerTable {
  readonly table: string
  /** Copied to every node instead of divided by bucket. */
  readonly copied: boolean
  readonly distributed: boolean
}

/** Those that a distributed database has on its workers, the anchor first. The database must have Citus. */
export async function workerTables(on: Queryable): Promise<WorkerTable[]> {
  const { rows } = await on.query<WorkerTable>(
    `SELECT c.relname AS table, c.relname = ANY ($1::text[]) AS copied,
            EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid) AS distributed
       FROM pg_class c
      WHERE c.relnamespace = 'notify'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname <> ALL ($3::text[])
        AND (c.relname = ANY ($1::text[]) OR EXISTS (
              SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'bucket' AND NOT a.attisdropped))
      ORDER BY c.relname <> $2, c.relname`,
    [referenceTables, anchorTable, coordinatorTables],
  )
  return rows
}
