import { type Database, migrate } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'

const migrations = new URL('../../src/postgres/migrations/', import.meta.url)
const tables = (database: Database) => migrate(database, 'notify', migrations)

/** An embedded database with the tables of notifications; `migrateNotify` then settles the number of buckets alone. */
export const notifyDatabase = (): Promise<Database> => memoryDatabase(tables)
