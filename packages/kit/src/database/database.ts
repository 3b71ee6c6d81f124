import { AsyncLocalStorage } from 'node:async_hooks'
import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type Client, type Pool, type PoolClient, type QueryResultRow, types } from 'pg'
import { type Connections, endConnection, trustedConnections } from './connections.ts'
import { isSilent, sqlState } from './error.ts'
import type { ListenHandlers } from './listener.ts'

/** A query: its text with `$1 …`, its values, and a name when it is hot enough to be prepared once per connection. */
export interface Query {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
  /** How long to wait for the answer, for statements that may take longer than most, in milliseconds. */
  readonly timeoutMs?: number
}

/** The result of a query: its rows, and how many rows it returned or changed. */
export interface Rows<Row> {
  readonly rows: Row[]
  readonly rowCount: number
}

/**
 * Something that runs SQL. `bigint` and counts come back as numbers, `timestamptz` as Unix milliseconds, `json` and
 * `jsonb` parsed, arrays as arrays.
 */
export interface Queryable {
  query<Row extends object>(query: string | Query, values?: readonly unknown[]): Promise<Rows<Row>>
}

declare const open: unique symbol

/**
 * The one handle that may be used inside {@link Database.transaction}. A {@link Database} is not one. Queries that are
 * asked for together (`Promise.all`) travel together and run in order: one round trip for all of them.
 */
export interface Transaction extends Queryable {
  readonly [open]: true
  /**
   * Runs the last statements and commits, all of it sent together: what they lock waits for no answer to reach us.
   * Nothing may follow.
   */
  finish(queries: ReadonlyArray<string | Query>): Promise<void>
}

/** What runs statements, each on some connection of a pool. */
export interface Statements extends Queryable {
  /**
   * Runs one statement in a transaction of its own, and again after a deadlock or a serialization failure, which has
   * written nothing: a procedure that commits does so as its last step.
   */
  query<Row extends object>(query: string | Query, values?: readonly unknown[]): Promise<Rows<Row>>
  /**
   * Runs `work` in one transaction (READ COMMITTED): committed when it resolves, rolled back when it throws. The whole
   * of it runs again after a deadlock or a serialization failure, so it makes no calls to the outside. A query on the
   * database itself while a transaction of the same call is open throws: on one connection it would wait for ever.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs statements in one transaction as {@link Database.transaction} does, in order, all of them and the commit sent
   * together: one round trip, in which no lock waits for an answer to reach us. Returns their answers.
   */
  pipeline<Row extends object>(queries: ReadonlyArray<string | Query>): Promise<Array<Rows<Row>>>
}

/** A database: PostgreSQL, or the embedded engine of one process. Opened by `openPostgres` or `openEmbedded`. */
export interface Database extends Statements {
  readonly engine: 'postgres' | 'embedded'
  /** The maximum number of connections in its pool. */
  readonly connections: number
  /** The same statements, but that their connections are closed when `signal` aborts: they reject, and may have taken place. */
  until(signal: AbortSignal): Statements
  /**
   * Runs `work` on one connection outside any transaction, each statement committed by itself. What it sets, and the
   * locks of its session, end with it. `isFresh` has PostgreSQL open the connection for it, beside the pool.
   */
  session<T>(work: (session: Queryable) => Promise<T>, options?: { readonly isFresh?: boolean }): Promise<T>
  /**
   * Listens to `channel` (a plain lower-case name) until the returned function is called. Notifications come from all
   * processes. PostgreSQL needs one more connection, which must not go through a transaction pooler.
   */
  listen(channel: string, hearing: ListenHandlers): () => Promise<void>
  /** @throws Error when the database does not answer or is read-only */
  ping(): Promise<void>
  close(): Promise<void>
}

const retryableStates = new Set(['40001', '40P01'])
const maxAttempts = 8
/** The pause after the first conflict, so that the winner can finish. */
const maxPauseMs = 10
/** Waits for the disk as a commit does, and leaves no row behind. */
const writeProbe = `SELECT pg_logical_emit_message(true, 'gatehouse', 'write probe'),
                           current_setting('transaction_read_only')::boolean AS reads_only`
const inTransaction = new AsyncLocalStorage<true>()

const oid = { int8: 20, timestamptz: 1184 } as const

/** How values are parsed: 64-bit integers as numbers (all are below 2^53), `timestamptz` as Unix milliseconds. */
export const typeParsers = {
  getTypeParser(id: number, format?: 'text' | 'binary'): (text: string) => unknown {
    if (id === oid.int8) return Number
    if (id === oid.timestamptz) return unixMilliseconds
    return types.getTypeParser(id, format as 'text') as (text: string) => unknown
  },
}

function unixMilliseconds(text: string): number {
  return Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))
}

/** What an engine does beyond a pool of node-postgres. */
export interface Engine {
  readonly engine: Database['engine']
  readonly listen: Database['listen']
  /** Closes what `pool.end()` doesn't. */
  readonly release?: () => Promise<void>
  /** A client of the server itself, not connected yet. */
  readonly openSession?: () => Client
  /** Whether the pool's connections change from one transaction to the next: those keep no prepared statement. */
  readonly isPooled?: boolean
}

/** Creates a database on a pool of node-postgres, for either engine. */
export function createDatabase(
  pool: Pool,
  { engine, listen, release, openSession, isPooled = false }: Engine,
): Database {
  const trusted = trustedConnections(pool)
  const connections = isPooled ? withoutPreparing(trusted) : trusted
  return {
    engine,
    connections: pool.options.max,
    listen,
    ...statementsOn(connections),
    until: (signal) => statementsOn({ use: (work) => connections.use(work, signal) }),
    async session(work, { isFresh = isPooled } = {}) {
      if (inTransaction.getStore()) throw new Error('a session inside an open transaction; use its handle')
      if (openSession && isFresh) return runSession(openSession(), work)
      return connections.use((client, discard) => {
        if (engine === 'postgres') discard()
        return work({ query: (query, values) => run(client, query, values) })
      })
    },
    async ping() {
      const { rows } = await this.query<{ reads_only: boolean }>(writeProbe)
      if (rows[0]?.reads_only) throw new Error('the database only reads')
    },
    async close() {
      await pool.end()
      await release?.()
    },
  }
}

function statementsOn(connections: Connections): Statements {
  return {
    async query(query, values) {
      if (inTransaction.getStore())
        throw new Error('a query on the database inside an open transaction; use its handle')
      return withRetries(() => connections.use((client) => run(client, query, values)))
    },
    transaction: (work) =>
      withRetries(() => connections.use((client, discard) => runTransaction(client, discard, work))),
    pipeline: (queries) => withRetries(() => connections.use((client) => sendTogether(client, queries))),
  }
}

/** Connections whose statements are not prepared. */
const unprepared = new WeakSet<object>()

function withoutPreparing(connections: Connections): Connections {
  return {
    use: (work, signal) =>
      connections.use((client, discard) => {
        unprepared.add(client)
        return work(client, discard)
      }, signal),
  }
}

async function runSession<T>(client: Client, work: (session: Queryable) => Promise<T>): Promise<T> {
  client.on('error', () => {})
  await client.connect()
  try {
    return await work({ query: (query, values) => run(client, query, values) })
  } finally {
    await endConnection(client)
  }
}

/** Runs a transaction, or a statement, again after a deadlock or a serialization failure: it has written nothing. */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  if (inTransaction.getStore()) throw new Error('a transaction inside an open transaction; use its handle')
  for (let attempts = 1; ; attempts++) {
    try {
      return await work()
    } catch (error) {
      if (attempts >= maxAttempts || !retryableStates.has(sqlState(error) ?? '')) throw error
      await pause(Math.random() * maxPauseMs * attempts)
    }
  }
}

/** After one that fails the server passes over the others, and answers the commit with a rollback. */
async function sendTogether<Row extends object>(
  client: PoolClient,
  queries: ReadonlyArray<string | Query>,
): Promise<Array<Rows<Row>>> {
  gathererOf(client)()
  const [, ...answers] = await Promise.all(
    ['BEGIN', ...queries, 'COMMIT'].map((query) => run<Row>(client, query, undefined)),
  )
  return answers.slice(0, -1)
}

async function runTransaction<T>(
  client: PoolClient,
  discard: () => void,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const gather = gathererOf(client)
  const tx = transactionOn(client, gather)
  try {
    gather()
    const begun = client.query('BEGIN')
    begun.catch(() => {})
    const result = await inTransaction.run(true, () => work(tx))
    await begun
    if (tx.end()) await client.query('COMMIT')
    return result
  } catch (error) {
    tx.end()
    // On a connection that is silent there is no use in waiting for one more answer: the server rolls back by itself.
    if (!isSilent(error)) await client.query('ROLLBACK').catch(discard)
    throw error
  }
}

/** `end` closes the handle: work that continues after a failure must not write to the next transaction. */
function transactionOn(client: PoolClient, gather: () => void): Transaction & { end(): boolean } {
  let isFinished = false
  return {
    end() {
      const wasOpen = !isFinished
      isFinished = true
      return wasOpen
    },
    query(query: string | Query, values?: readonly unknown[]) {
      if (isFinished) throw new Error('a query in a transaction after its end')
      gather()
      return run(client, query, values)
    },
    async finish(queries: ReadonlyArray<string | Query>) {
      gather()
      const answers = [...queries, 'COMMIT'].map((query) => run(client, query, undefined))
      isFinished = true
      await Promise.all(answers)
    },
  } as Transaction & { end(): boolean }
}

/**
 * Holds back what is written to a connection until the end of this tick, so that statements leave in one packet. The
 * embedded engine's connection is no socket and has nothing to hold back.
 */
function gathererOf(client: PoolClient): () => void {
  const { stream } = (client as unknown as { connection: { stream: Partial<Writable> } }).connection
  let gathering = false
  return () => {
    if (gathering) return
    gathering = true
    stream.cork?.()
    process.nextTick(() => {
      gathering = false
      stream.uncork?.()
    })
  }
}

async function run<Row extends object>(
  on: Pick<PoolClient, 'query'>,
  query: string | Query,
  values: readonly unknown[] | undefined,
): Promise<Rows<Row>> {
  const parsed = typeof query === 'string' ? { text: query, values } : query
  const config = {
    text: parsed.text,
    values: [...(parsed.values ?? [])],
    ...(typeof query !== 'string' && query.name && !unprepared.has(on) ? { name: query.name } : {}),
    ...(typeof query !== 'string' && query.timeoutMs ? { query_timeout: query.timeoutMs } : {}),
  }
  const { rows, rowCount } = await on.query<QueryResultRow & Row>(config)
  return { rows, rowCount: rowCount ?? 0 }
}
