import { type Database, migrate } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { isDistributed, testDatabase } from './engine.ts'

const migrations = new URL('../../../src/postgres/migrations/', import.meta.url)
const tables = (database: Database) => migrate(database, 'notify', migrations)

/**
 * A database with the tables of notifications; `migrateNotify` then settles the number of buckets alone. It is an embedded
 * one, unless the tests run on a distributed one.
 */
export const notifyDatabase = (): Promise<Database> => (isDistributed ? testDatabase() : memoryDatabase(tables))
