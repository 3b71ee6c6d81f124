import type { Database } from './database.ts'

/** How large a table is, with its indexes and partitions. */
export interface TableSize {
  readonly schema: string
  readonly table: string
  readonly bytes: number
  /** By the statistics of the planner; left out before there are any. */
  readonly rows?: number
}

/** Of a table that Citus distributes: that of its shards, since it is empty itself. Nodes that fail are left out. */
const distributedSize = `CASE WHEN EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
              THEN citus_total_relation_size(c.oid, false) ELSE pg_total_relation_size(c.oid) END`

/** The sizes of the tables of some schemas, the largest first. Partitions count for their table. */
export async function readTableSizes(database: Database, schemas: readonly string[]): Promise<TableSize[]> {
  const { rows: engines } = await database.query<{ isDistributed: boolean }>(
    `SELECT to_regproc('citus_total_relation_size') IS NOT NULL AS "isDistributed"`,
  )
  const size = engines[0]?.isDistributed ? distributedSize : 'pg_total_relation_size(c.oid)'
  const { rows } = await database.query<{ schema: string; name: string; bytes: number; estimate: number | null }>(
    `SELECT n.nspname AS schema, root.relname AS name, sum(${size})::bigint AS bytes,
            sum(nullif(c.reltuples, -1))::bigint AS estimate
       FROM pg_class c JOIN pg_class root ON root.oid = coalesce(pg_partition_root(c.oid)::oid, c.oid)
       JOIN pg_namespace n ON n.oid = root.relnamespace
      WHERE c.relkind = 'r' AND n.nspname = ANY($1::text[])
      GROUP BY n.nspname, root.relname ORDER BY bytes DESC, n.nspname, root.relname`,
    [schemas],
  )
  return rows.map(({ schema, name, bytes, estimate }) => {
    return { schema, table: name, bytes, ...(estimate === null ? {} : { rows: estimate }) }
  })
}
