import { type Database, migrate } from '@gatehouse/kit'
import type { IdentityStore } from '../store.ts'
import { PostgresClients } from './clients.ts'
import { PostgresDeclared } from './declared.ts'
import { PostgresSigningKeys } from './signing-keys.ts'
import { PostgresSubjects } from './subjects.ts'
import { PostgresUsers } from './users.ts'

/** Brings the schema `identity` up to date; answers the names of the migrations it applied. */
export function migrateIdentity(database: Database): Promise<string[]> {
  return migrate(database, 'identity', new URL('migrations/', import.meta.url))
}

/** What identity keeps, in PostgreSQL or its embedded twin. */
export function postgresIdentityStore(database: Database): IdentityStore {
  return {
    clients: new PostgresClients(database),
    users: new PostgresUsers(database),
    subjects: new PostgresSubjects(database),
    declared: new PostgresDeclared(database),
    signingKeys: new PostgresSigningKeys(database),
    ping: () => database.ping(),
  }
}
