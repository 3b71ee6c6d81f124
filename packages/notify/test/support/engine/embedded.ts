import { type Database, migrate } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'

const migrations = new URL('../../../src/postgres/migrations/', import.meta.url)
const tables = (database: Database) => migrate(database, 'notify', migrations)

/** An embedded database with the tables, for what is about databases that no engine distributes. */
export const embeddedDatabase = (): Promise<Database> => memoryDatabase(tables)
