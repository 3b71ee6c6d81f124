import type { Database, Log, Queryable, Statements } from '@gatehouse/kit'
import { anchorTable } from '../distribution/tables.ts'
import { NodeWatch } from './node-watch.ts'
import { Placement } from './placement.ts'

/** A database whose buckets are on different nodes. */
interface SpreadDatabase extends Database {
  /** Statements on the rows of one bucket, which end when its node does not answer. */
  readonly ofBucket: (bucket: number) => Statements
}

/**
 * Where to run statements on the rows of one bucket: where buckets are on different nodes, so that one that does not
 * answer holds up its own alone. Statements that name no bucket, or several, are for the database itself.
 */
export function at(database: Database, bucket: number | undefined): Statements {
  return bucket !== undefined && isSpread(database) ? database.ofBucket(bucket) : database
}

function isSpread(database: Database): database is SpreadDatabase {
  return 'ofBucket' in database
}

/** So much of the pool is in use for one node at most: the rest is for the others, and for what is on the coordinator. */
const shareOfNode = 0.7

/** Options of {@link spreadDatabase}. */
export interface SpreadOptions {
  /** How many buckets there are. */
  readonly count: number
  readonly log: Log
}

/** A database whose buckets are on different nodes, as {@link at} uses it. */
export function spreadDatabase(database: Database, { count, log }: SpreadOptions): Database {
  const watch = new NodeWatch({
    probe: (node, onSent) => probe(database, placement.bucketOn(node), onSent),
    maxAtOnce: Math.max(1, Math.floor(database.connections * shareOfNode)),
    log,
  })
  const placement = new Placement(database, count, (nodes) => watch.keep(nodes))
  const onNode = async <Result>(bucket: number, work: (on: Statements) => Promise<Result>): Promise<Result> => {
    const node = await placement.nodeOf(bucket)
    return node === undefined ? work(database) : watch.run(node, (signal) => work(database.until(signal)))
  }
  const spread: SpreadDatabase = {
    ...database,
    ofBucket: (bucket) => ({
      query: (query, values) => onNode(bucket, (on) => on.query(query, values)),
      transaction: (work) => onNode(bucket, (on) => on.transaction(work)),
      pipeline: (queries) => onNode(bucket, (on) => on.pipeline(queries)),
    }),
  }
  return spread
}

/**
 * Has a node answer, on a connection of its own that has none to the node yet: the coordinator can give up a connection
 * that it waits for, and can't end a statement on a node that does not answer.
 */
async function probe(database: Database, bucket: number | undefined, onSent: () => void): Promise<void> {
  const text = `SELECT bucket FROM notify.${anchorTable} WHERE bucket = $1::smallint`
  const ask = (session: Queryable) => {
    onSent()
    return session.query(text, [bucket ?? 0])
  }
  await database.session(ask, { isFresh: true })
}
