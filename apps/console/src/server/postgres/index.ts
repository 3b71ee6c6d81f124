import { type Database, migrate, migrationTable, type SealedColumn, type TableBound } from '@gatehouse/kit'
import { sealingPurpose } from '../session/session.ts'
import type { ConsoleStore } from '../session/store.ts'
import { PostgresPreviews } from './previews.ts'
import { PostgresRefreshes } from './refreshes.ts'
import { PostgresSessions } from './sessions.ts'
import { PostgresViews } from './views.ts'

/** Migrates the schema `console` to the current version. Returns the names of the applied migrations. */
export function migrateConsole(database: Database): Promise<string[]> {
  return migrate(database, 'console', new URL('./migrations/', import.meta.url))
}

/** The store of the console on PostgreSQL or the embedded engine. */
export function postgresConsoleStore(database: Database): ConsoleStore {
  return {
    sessions: new PostgresSessions(database),
    refreshes: new PostgresRefreshes(database),
    previews: new PostgresPreviews(database),
    views: new PostgresViews(database),
  }
}

/** What is stored sealed. */
export const consoleSealed: readonly SealedColumn[] = [
  { table: 'console.session', id: 'id_hash', idType: 'text', sealed: 'tokens_sealed', purpose: sealingPurpose },
]

/** What bounds the tables. */
export const consoleTables: readonly TableBound[] = [
  { table: 'session', bound: '20 for each administrator; idle 30 minutes or 12 hours old, and removed at a sign-in' },
  { table: 'preview', bound: '32 for each session, of a minute; removed with the session or at the next preview' },
  { table: 'saved_view', bound: '50 for each administrator, removed by hand' },
  migrationTable,
]
