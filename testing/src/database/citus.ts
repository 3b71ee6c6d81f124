import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import pg from 'pg'
import { howToInstall, isInstalled } from '../server.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'

/** A distributed PostgreSQL: a coordinator, to which programs connect, and workers, which have the rows. */
export interface CitusServer {
  /** Of the coordinator. */
  readonly url: string
  readonly coordinator: PostgresServer
  readonly workers: readonly PostgresServer[]
  /** The addresses of all nodes, the coordinator's first. */
  readonly nodes: readonly string[]
  stop(): Promise<void>
}

export interface CitusOptions {
  /** Further settings of every node. */
  readonly settings?: readonly string[]
  /** Default 2. */
  readonly workers?: number
}

const settingsOfNodes = [
  'shared_preload_libraries=citus',
  // Each database has a process of Citus on every node.
  'max_worker_processes=64',
  'max_prepared_transactions=400',
  // Nodes of one machine need no TLS.
  'citus.node_conninfo=sslmode=disable',
]

/** Starts a Citus cluster: a coordinator and workers, each a PostgreSQL with a folder and a port of its own. */
export async function startCitus({ settings = [], workers: count = 2 }: CitusOptions = {}): Promise<CitusServer> {
  if (!isInstalled('citus')) throw new Error(`citus is missing: ${howToInstall('citus')}`)
  const options = { settings: [...settingsOfNodes, ...settings] }
  const [coordinator, ...workers] = await Promise.all(Array.from({ length: count + 1 }, () => startPostgres(options)))
  if (!coordinator) throw new Error('a cluster needs a coordinator')
  const all = [coordinator, ...workers]
  return {
    url: coordinator.url,
    coordinator,
    workers,
    nodes: all.map(({ url }) => url),
    async stop() {
      await Promise.all(all.map((node) => node.stop()))
    },
  }
}

let databases = 0

/** A database on all nodes, which know one another; nothing in it is distributed. Returns its address. */
export async function createCitusDatabase(nodes: readonly string[]): Promise<string> {
  const name = `test_${process.pid}_${++databases}`
  await Promise.all(
    nodes.map(async (node) => {
      await runOn(node, `CREATE DATABASE ${name}`)
      await runOn(urlOf(node, name), 'CREATE EXTENSION citus')
    }),
  )
  const [coordinator = '', ...workers] = nodes
  const at = (node: string) => `'127.0.0.1', ${new URL(node).port}`
  const url = urlOf(coordinator, name)
  await runOn(url, `SELECT citus_set_coordinator_host(${at(coordinator)})`)
  for (const worker of workers) await runOn(url, `SELECT citus_add_node(${at(worker)})`)
  return url
}

/**
 * A copy of a database on all nodes, with its tables and what is distributed. Nobody may use that any more: the processes
 * that Citus has in it are ended.
 */
export async function copyCitusDatabase(nodes: readonly string[], url: string): Promise<string> {
  const template = nameOf(url)
  const name = `test_${process.pid}_${++databases}`
  await Promise.all(
    nodes.map((node) =>
      runOn(
        node,
        // Processes copy one after the other: two at once would change the same row of the catalog.
        'SELECT pg_advisory_lock(1)',
        `ALTER DATABASE ${template} ALLOW_CONNECTIONS false`,
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${template}'`,
        `CREATE DATABASE ${name} TEMPLATE ${template}`,
      ),
    ),
  )
  return urlOf(nodes[0] ?? '', name)
}

/** Removes a database from all nodes. */
export async function dropCitusDatabase(nodes: readonly string[], url: string): Promise<void> {
  await Promise.all(nodes.map((node) => runOn(node, `DROP DATABASE IF EXISTS ${nameOf(url)} WITH (FORCE)`)))
}

/** Tests hold locks on purpose, on machines that may be busy. */
const patient = { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 }

/** Opens a database of a cluster. */
export function openCitusDatabase(url: string, connections: number = 10): Promise<Database> {
  return openPostgres({ url: new Secret(url), log: silentLog, connections, timeouts: patient })
}

const nameOf = (url: string) => new URL(url).pathname.slice(1)

function urlOf(node: string, database: string): string {
  const url = new URL(node)
  url.pathname = `/${database}`
  return url.href
}

async function runOn(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
