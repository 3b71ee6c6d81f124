import pg from 'pg'
import type { Log } from '../log.ts'
import type { Secret } from '../secrets/secret.ts'
import { StartError } from '../start-error.ts'
import { createDatabase, type Database, typeParsers } from './database.ts'
import { keepListening } from './listener.ts'

/** How {@link openPostgres} connects. */
export interface PostgresOptions {
  readonly url: Secret
  /**
   * The server itself, where `url` is a pooler that keeps a connection for a transaction alone: listening and sessions go
   * there. Statements of the pool are then not prepared, and the timeouts are those of the role.
   */
  readonly sessionUrl?: Secret | undefined
  readonly log: Log
  /** Most connections of this process in its pool. Default 10. */
  readonly connections?: number
  readonly timeouts?: Partial<DatabaseTimeouts>
}

/** What ends a wait on the database, in milliseconds. */
export interface DatabaseTimeouts {
  /** A statement: the server cancels it, and half a second later the connection counts as silent. */
  readonly statementMs: number
  /** A wait for a lock that another transaction has. */
  readonly lockMs: number
  /** A transaction whose process says nothing more: the server rolls it back and frees its locks. */
  readonly idleTransactionMs: number
}

/** The timeouts of {@link openPostgres} unless its options say otherwise. */
export const defaultTimeouts: DatabaseTimeouts = { statementMs: 9_000, lockMs: 5_000, idleTransactionMs: 3_000 }

const oldestVersion = 15
const defaultConnections = 10
/** How much longer than the server we wait for its answer before the connection counts as silent. */
const silenceMs = 500
const connectTimeoutMs = 5_000
const keepAliveSeconds = 10

/**
 * Opens PostgreSQL 15 or newer.
 * @throws StartError when it can't be reached, is too old, or has no timeouts behind a pooler
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const { url, sessionUrl } = options
  const timeouts = { ...defaultTimeouts, ...options.timeouts }
  const server = serverConnection(sessionUrl ?? url, timeouts)
  const pool = new pg.Pool({
    ...(sessionUrl ? poolerConnection(url, timeouts) : server),
    max: options.connections ?? defaultConnections,
    pipeline: true,
    types: typeParsers,
  })
  pool.on('error', (error) => options.log.warn({ err: error }, 'an idle database connection broke'))
  try {
    const version = await serverVersion(pool)
    if (version < oldestVersion)
      throw new StartError(`DATABASE_URL names PostgreSQL ${version}; ${oldestVersion} or newer is needed.`)
    if (sessionUrl) await requireTimeouts(pool, timeouts)
    await reportConnections(pool, options)
  } catch (error) {
    await pool.end()
    if (error instanceof StartError) throw error
    throw new StartError(`PostgreSQL at DATABASE_URL can't be used: ${reasonOf(error)}.`, { cause: error })
  }
  const client = () => new pg.Client({ ...server, types: typeParsers })
  return createDatabase(pool, {
    engine: 'postgres',
    listen: (channel, hearing) => keepListening(client, channel, hearing, options.log),
    openSession: client,
    isPooled: sessionUrl !== undefined,
  })
}

/** A connection to the server itself, which applies the timeouts to it. */
function serverConnection(url: Secret, timeouts: DatabaseTimeouts): pg.ClientConfig {
  return {
    ...poolerConnection(url, timeouts),
    connectionString: withServerSettings(url.reveal()),
    statement_timeout: timeouts.statementMs,
    lock_timeout: timeouts.lockMs,
    idle_in_transaction_session_timeout: timeouts.idleTransactionMs,
  }
}

/** A connection to a pooler, which takes no settings of a server. */
function poolerConnection(url: Secret, { statementMs }: DatabaseTimeouts): pg.ClientConfig {
  return {
    connectionString: url.reveal(),
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'gatehouse',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveSeconds * 1000,
    query_timeout: statementMs + silenceMs,
  }
}

/** @throws StartError unless the role bounds its waits by itself */
async function requireTimeouts(pool: pg.Pool, timeouts: DatabaseTimeouts): Promise<void> {
  const wanted = {
    statement_timeout: timeouts.statementMs,
    lock_timeout: timeouts.lockMs,
    idle_in_transaction_session_timeout: timeouts.idleTransactionMs,
  }
  const { rows } = await pool.query<{ name: string; role: string }>(
    "SELECT name, quote_ident(current_user) AS role FROM pg_settings WHERE name = ANY ($1) AND setting = '0' ORDER BY name",
    [Object.keys(wanted)],
  )
  if (rows.length === 0) return
  const statements = rows.map(
    ({ name, role }) => `ALTER ROLE ${role} SET ${name} = '${wanted[name as keyof typeof wanted]}ms';`,
  )
  throw new StartError(`Behind a pooler the timeouts are those of the role. Run: ${statements.join(' ')}`)
}

/**
 * The server, too, notices a client that is gone: it asks after ten idle seconds, and gives up on data that nobody
 * acknowledges for ten. It compiles no expressions: for statements as short as ours that takes many times what it saves.
 */
function withServerSettings(connectionString: string): string {
  const url = new URL(connectionString)
  const settings = [
    `tcp_keepalives_idle=${keepAliveSeconds}`,
    'tcp_keepalives_interval=3',
    'tcp_keepalives_count=3',
    `tcp_user_timeout=${keepAliveSeconds * 1000}`,
    'jit=off',
  ]
  const own = url.searchParams.get('options')
  url.searchParams.set('options', [...(own ? [own] : []), ...settings.map((each) => `-c ${each}`)].join(' '))
  return url.href
}

async function serverVersion(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ version: string }>("SELECT current_setting('server_version_num') AS version")
  return Math.floor(Number(rows[0]?.version) / 10_000)
}

/** Connections beside the pool: those on which the inbox and the workers listen. */
const listeningConnections = 2
/** One more where the server is the coordinator of Citus: that on which a node that is slow is probed. */
const probingConnections = "(to_regclass('pg_catalog.pg_dist_node') IS NOT NULL)::int"

/** Says what a process takes of the server's connections, so that an operator can add up all processes. */
async function reportConnections(
  pool: pg.Pool,
  { log, connections = defaultConnections }: PostgresOptions,
): Promise<void> {
  const { rows } = await pool.query<{ max: number; in_use: number; probing: number }>(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS max,
            (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS in_use,
            ${probingConnections} AS probing`,
  )
  const [{ max, in_use: inUse, probing } = { max: 0, in_use: 0, probing: 0 }] = rows
  const needed = connections + listeningConnections + probing
  const facts = { perProcess: needed, serverAllows: max, inUseNow: inUse, processesThatFit: Math.floor(max / needed) }
  if (inUse + needed > max) log.warn(facts, 'the database may run out of connections: lower DATABASE_CONNECTIONS')
  else log.info(facts, 'connections to the database')
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  const { message, code } = error as Error & { code?: string }
  if (message.includes('client password must be a string'))
    return 'the server requires a password, and the URL has none'
  return message || String(code)
}
