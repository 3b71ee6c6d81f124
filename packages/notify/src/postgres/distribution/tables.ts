import type { Queryable } from '@gatehouse/kit'

/** One row a bucket; the other tables of users are placed where its rows are. */
export const anchorTable = 'bucket_anchor'

/**
 * Tables that statements on users read as well, copied to every node. Only what changes by hand may be one: whoever writes
 * to it locks it on all nodes. All other tables without a bucket stay on the coordinator.
 */
const referenceTables: readonly string[] = ['property']

/** Tables about buckets, not about users: statements lock several of their rows, and no worker that is down may stop them. */
const coordinatorTables: readonly string[] = ['bucket_lease', 'numbered_batch']

/** Where a distributed database has a table that Citus knows: `divided` by bucket over the workers, or `copied` to every node. */
export type Placement = 'divided' | 'copied'

/** A table that Citus knows. */
export interface CitusTable {
  readonly table: string
  readonly placement: Placement
  /** Whether it is placed so already. */
  readonly distributed: boolean
  /** Whether the coordinator has the rows that were in it before, where no statement sees them. */
  readonly leftover: boolean
}

/** Those that Citus knows in a distributed database, the anchor first. The database must have Citus. */
export async function citusTables(on: Queryable): Promise<CitusTable[]> {
  const { rows } = await on.query<CitusTable>(
    `SELECT c.relname AS table,
            CASE WHEN c.relname = ANY ($1::text[]) THEN 'copied' ELSE 'divided' END AS placement,
            EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid) AS distributed,
            EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid) AND (
              pg_relation_size(c.oid) > 0
              OR EXISTS (SELECT FROM pg_partition_tree(c.oid) t WHERE pg_relation_size(t.relid) > 0)) AS leftover
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
