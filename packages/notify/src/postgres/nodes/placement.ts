import type { Database } from '@gatehouse/kit'
import { anchorTable } from '../distribution/tables.ts'

/** Which node has the rows of each bucket: host and port, by the catalog of the coordinator alone. */
const placementSql = `
SELECT b.bucket, n.nodename || ':' || n.nodeport AS node
  FROM generate_series(0, $1::integer - 1) AS b (bucket)
  JOIN pg_catalog.pg_dist_placement p
    ON p.shardid = get_shard_id_for_distribution_column('notify.${anchorTable}', b.bucket::smallint)
  JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'`

/** After this it is read again, in milliseconds: a bucket may have moved, or a node have another address. */
const refreshMs = 30_000

/** Which node has the rows of a bucket, as last read. */
export class Placement {
  readonly #database: Database
  readonly #count: number
  readonly #onRead: (nodes: ReadonlySet<string>) => void
  #nodes: ReadonlyMap<number, string> = new Map()
  #reading: Promise<void> | undefined
  /** By `performance.now()`. */
  #readAt = Number.NEGATIVE_INFINITY

  /** `onRead` is called with the nodes that have buckets, whenever that was read. */
  constructor(database: Database, count: number, onRead: (nodes: ReadonlySet<string>) => void) {
    this.#database = database
    this.#count = count
    this.#onRead = onRead
  }

  /** The node of a bucket; undefined where it can't be known at the moment. Only the first call waits for the database. */
  async nodeOf(bucket: number): Promise<string | undefined> {
    if (performance.now() - this.#readAt > refreshMs) {
      this.#reading ??= this.#read()
      if (this.#nodes.size === 0) await this.#reading
    }
    return this.#nodes.get(bucket)
  }

  /** The nodes of some buckets, or of all, as far as they are known. */
  async nodesOf(buckets?: readonly number[]): Promise<ReadonlySet<string>> {
    await this.nodeOf(0)
    const nodes = buckets?.flatMap((bucket) => this.#nodes.get(bucket) ?? []) ?? this.#nodes.values()
    return new Set(nodes)
  }

  /** The buckets of a node. */
  bucketsOn(node: string): readonly number[] {
    return [...this.#nodes].flatMap(([bucket, own]) => (own === node ? [bucket] : []))
  }

  async #read(): Promise<void> {
    try {
      const { rows } = await this.#database.query<{ bucket: number; node: string }>(placementSql, [this.#count])
      this.#nodes = new Map(rows.map(({ bucket, node }) => [bucket, node]))
      this.#onRead(new Set(this.#nodes.values()))
    } catch {
      // What was known last stands. Who waited runs into the same error, or into none.
    } finally {
      this.#readAt = performance.now()
      this.#reading = undefined
    }
  }
}
