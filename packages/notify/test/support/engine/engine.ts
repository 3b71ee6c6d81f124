/**
 * The database that the tests of stores run on: an embedded one or PostgreSQL with one bucket, or, where
 * `NOTIFY_TEST_CITUS` has the addresses of the nodes of a Citus cluster and that of a database to copy, a distributed
 * one with 32 buckets.
 */
import type { Database } from '@gatehouse/kit'
import {
  type PostgresOptions,
  postgresDatabase as plainDatabase,
  type Server,
  sharedPostgres,
  startPostgres,
} from '@gatehouse/testing'
import * as postgres from '../../../src/postgres/index.ts'
import { distributedDatabase } from './distributed.ts'

const [template = '', ...nodes] = (process.env.NOTIFY_TEST_CITUS ?? '').split(' ').filter(Boolean)

/** Whether the tests run on a distributed database. */
export const isDistributed = nodes.length > 0

/** The number of buckets of tests that don't say. */
export const testBuckets = isDistributed ? 32 : 1

/** Brings the tables up to date, in as many buckets as the tests have. */
export function migrateNotify(database: Database, options: postgres.PostgresNotifyOptions = {}) {
  return postgres.migrateNotify(database, { buckets: options.buckets ?? testBuckets })
}

/** A store in as many buckets as the tests have. */
export function postgresNotifyStore(database: Database, options: postgres.PostgresNotifyOptions = {}) {
  return postgres.postgresNotifyStore(database, { buckets: testBuckets, distributed: isDistributed, ...options })
}

/** A server for {@link postgresDatabase}. */
export type DatabaseServer = Pick<Server, 'url' | 'stop'>

/** The server of this process, or one with settings of its own; a distributed one runs already. */
export async function startDatabaseServer(options?: PostgresOptions): Promise<DatabaseServer> {
  if (isDistributed) return { url: nodes[0] ?? '', stop: async () => {} }
  return options ? startPostgres(options) : sharedPostgres()
}

/** A database on a running PostgreSQL; where it is distributed, with the tables. */
export function postgresDatabase(server: DatabaseServer, connections?: number): Promise<Database> {
  return isDistributed ? testDatabase(connections) : plainDatabase(server, connections)
}

/** A distributed database with the tables, and no number of buckets yet. */
export const testDatabase = (connections?: number): Promise<Database> =>
  distributedDatabase({ nodes, template }, connections)
