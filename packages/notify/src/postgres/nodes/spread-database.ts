import { type Database, type Log, type Queryable, type Statements, sqlState } from '@gatehouse/kit'
import type { Nodes } from '../../store/ownership.ts'
import { NodeWatch } from './node-watch.ts'
import { Placement } from './placement.ts'
import type { Probed } from './watched-node.ts'

/** A database whose buckets are on different nodes. */
interface SpreadDatabase extends Database {
  /** Statements on rows of these buckets, or of all, which end when one of their nodes does not answer. */
  readonly ofBuckets: (buckets?: readonly number[]) => Statements
}

/**
 * Where to run statements on the rows of one bucket: where buckets are on different nodes, so that one that does not
 * answer holds up its own alone. Statements that name no bucket are for the database itself.
 */
export function at(database: Database, bucket: number | undefined): Statements {
  return bucket !== undefined && isSpread(database) ? database.ofBuckets([bucket]) : database
}

/**
 * Where to run statements on the rows of several buckets: they fail at once where a node of these is known not to answer.
 * A statement that waits for such a node leaves a session of the coordinator behind, with its locks.
 */
export function atEach(database: Database, buckets: readonly number[]): Statements {
  return isSpread(database) ? database.ofBuckets(buckets) : database
}

/** Where to run statements on the rows of all buckets, or on what every node has a copy of, as {@link atEach}. */
export function everywhere(database: Database): Statements {
  return isSpread(database) ? database.ofBuckets() : database
}

function isSpread(database: Database): database is SpreadDatabase {
  return 'ofBuckets' in database
}

/** So much of the pool is in use for one node at most: the rest is for the others, and for what is on the coordinator. */
const shareOfNode = 0.7

/** Options of {@link spreadDatabase}. */
export interface SpreadOptions {
  /** How many buckets there are. */
  readonly count: number
  readonly log: Log
}

/** A database whose buckets are on different nodes, as {@link at} uses it, and what becomes of its nodes. */
export function spreadDatabase(
  database: Database,
  { count, log }: SpreadOptions,
): { readonly database: Database; readonly nodes: Nodes } {
  const watch = new NodeWatch({
    probe: (node, onSent) => probe(database, node, onSent),
    maxAtOnce: Math.max(1, Math.floor(database.connections * shareOfNode)),
    log,
  })
  const placement = new Placement(database, count, (nodes) => watch.keep(nodes))
  const onNodes = async <Result>(
    buckets: readonly number[] | undefined,
    work: (on: Statements) => Promise<Result>,
  ): Promise<Result> => {
    const nodes = await placement.nodesOf(buckets)
    return nodes.size === 0 ? work(database) : watch.runOnEach(nodes, (signal) => work(database.until(signal)))
  }
  const spread: SpreadDatabase = {
    ...database,
    ofBuckets: (buckets) => ({
      query: (query, values) => onNodes(buckets, (on) => on.query(query, values)),
      transaction: (work) => onNodes(buckets, (on) => on.transaction(work)),
      pipeline: (queries) => onNodes(buckets, (on) => on.pipeline(queries)),
    }),
  }
  return {
    database: spread,
    nodes: { onReturn: (listener) => watch.onReturn((node) => listener(placement.bucketsOn(node))) },
  }
}

/** SQLSTATE of a statement that the coordinator gave up: it waited for the node all the time. */
const cancelled = '57014'

/**
 * Has a node answer, on a connection of its own that has none to the node yet: the coordinator can give up a connection
 * that it waits for, and can't end a statement on a node that does not answer. The check of Citus does not wait where the
 * coordinator has as many connections to the node as it may have, as any other statement would.
 */
async function probe(database: Database, node: string, onSent: () => void): Promise<Probed> {
  const [, host, port] = /^(.*):(\d+)$/.exec(node) ?? []
  const ask = async (session: Queryable): Promise<Probed> => {
    onSent()
    const query = session.query<{ answers: boolean }>(
      'SELECT citus_check_connection_to_node($1, $2::integer) AS answers',
      [host, port],
    )
    const { rows } = await query
    return rows[0]?.answers ? 'answers' : 'refuses'
  }
  try {
    return await database.session(ask, { isFresh: true })
  } catch (error) {
    if (sqlState(error) === cancelled) return 'silent'
    throw error
  }
}
