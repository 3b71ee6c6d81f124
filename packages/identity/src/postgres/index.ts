import { type Database, migrate } from '@gatehouse/kit'
import type { IdentityStore } from '../store.ts'
import { PostgresAccessTokens } from './access-tokens.ts'
import { PostgresAccounts } from './accounts.ts'
import { PostgresApiKeys } from './api-keys.ts'
import { PostgresAuditTrail } from './audit.ts'
import { PostgresClients } from './clients.ts'
import { PostgresCodes } from './codes.ts'
import { PostgresConsents } from './consents.ts'
import { PostgresDeclared } from './declared.ts'
import { PostgresDeviceCodes } from './device-codes.ts'
import { PostgresGrants } from './grants.ts'
import { PostgresLinks } from './links.ts'
import { PostgresOutbox } from './outbox.ts'
import { PostgresPurge } from './purge.ts'
import { PostgresPushedRequests } from './pushed-requests.ts'
import { PostgresRefreshFamilies } from './refresh-families.ts'
import { PostgresRegistrations } from './registrations.ts'
import { PostgresRevocations } from './revocations.ts'
import { PostgresSessions } from './sessions.ts'
import { PostgresSignInLinks } from './sign-in-links.ts'
import { PostgresSigningKeys } from './signing-keys.ts'
import { PostgresSubjects } from './subjects.ts'
import { PostgresUsedOnce } from './used-once.ts'
import { PostgresUsers } from './users.ts'

export { identityTables } from './retention.ts'
export { identitySealed } from './sealed.ts'

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
    accessTokens: new PostgresAccessTokens(database),
    accounts: new PostgresAccounts(database),
    apiKeys: new PostgresApiKeys(database),
    audit: new PostgresAuditTrail(database),
    codes: new PostgresCodes(database),
    consents: new PostgresConsents(database),
    deviceCodes: new PostgresDeviceCodes(database),
    grants: new PostgresGrants(database),
    links: new PostgresLinks(database),
    outbox: new PostgresOutbox(database),
    purge: new PostgresPurge(database),
    pushedRequests: new PostgresPushedRequests(database),
    refreshFamilies: new PostgresRefreshFamilies(database),
    registrations: new PostgresRegistrations(database),
    revocations: new PostgresRevocations(database),
    sessions: new PostgresSessions(database),
    signInLinks: new PostgresSignInLinks(database),
    usedOnce: new PostgresUsedOnce(database),
    ping: () => database.ping(),
  }
}
