import { type Database, migrate, statTable } from '@gatehouse/kit'
import { measures } from '../model/measure.ts'
import type { IdentityStore } from '../store/index.ts'
import { PostgresClientLogos } from './client-logos.ts'
import { PostgresClients } from './clients.ts'
import { PostgresAuthenticatorApps } from './factors/authenticator-apps.ts'
import { PostgresFactors } from './factors/factors.ts'
import { PostgresRecoveryCodes } from './factors/recovery-codes.ts'
import { PostgresRememberedDevices } from './factors/remembered-devices.ts'
import { PostgresConnectionFlows } from './federation/connection-flows.ts'
import { PostgresConnections } from './federation/connections.ts'
import { PostgresLinkedAccounts } from './federation/linked-accounts.ts'
import { PostgresProviderSessions } from './federation/provider-logouts.ts'
import { PostgresAuthorizationCodes } from './grants/authorization-codes.ts'
import { PostgresConsents } from './grants/consents.ts'
import { PostgresDeviceCodes } from './grants/device-codes.ts'
import { PostgresGrants } from './grants/grants.ts'
import { PostgresPushedRequests } from './grants/pushed-requests.ts'
import { PostgresRefreshFamilies } from './grants/refresh-families.ts'
import { PostgresLimitGateways } from './limits/gateways.ts'
import { PostgresLimitOverrides } from './limits/overrides.ts'
import { PostgresLimitVersions } from './limits/versions.ts'
import { PostgresAuditTrail } from './operations/audit-trail.ts'
import { PostgresDeclarations } from './operations/declared.ts'
import { PostgresOutbox } from './operations/outbox.ts'
import { PostgresPurge } from './operations/purge.ts'
import { PostgresOrganizationDomains } from './organizations/domains.ts'
import { PostgresInvitations } from './organizations/invitations.ts'
import { PostgresMemberships } from './organizations/memberships.ts'
import { PostgresOrganizations } from './organizations/organizations.ts'
import { PostgresOrganizationRoles } from './organizations/roles.ts'
import { PostgresPasskeyChallenges } from './passkeys/challenges.ts'
import { PostgresPasskeys } from './passkeys/passkeys.ts'
import { PostgresPasskeyRegistrations } from './passkeys/registrations.ts'
import { PostgresReplayCache } from './replay-cache.ts'
import { PostgresSessionDirectory } from './session-directory.ts'
import { PostgresSessions } from './sessions.ts'
import { PostgresAccessTokens } from './tokens/access-tokens.ts'
import { PostgresApiKeys } from './tokens/api-keys.ts'
import { PostgresLastUses } from './tokens/last-uses.ts'
import { PostgresRevocations } from './tokens/revocations.ts'
import { PostgresRetiredKeys, PostgresSigningKeys } from './tokens/signing-keys.ts'
import { PostgresAccounts } from './users/accounts.ts'
import { PostgresUserDirectory } from './users/directory.ts'
import { PostgresEmailChanges } from './users/email-changes.ts'
import { PostgresMailedLinks } from './users/mailed-links.ts'
import { PostgresManagementRoles } from './users/management-roles.ts'
import { PostgresPhoneChanges } from './users/phone-changes.ts'
import { PostgresRegistrations } from './users/registrations.ts'
import { PostgresSignInLinks } from './users/sign-in-links.ts'
import { PostgresSubjects } from './users/subjects.ts'
import { PostgresUsers } from './users/users.ts'

export { identityDeclared } from './operations/declared-entities.ts'
export { identityTables } from './operations/retention.ts'
export { identitySealed } from './operations/sealed-columns.ts'

/** Migrates the schema `identity` to the current version. Returns the names of the applied migrations. */
export function migrateIdentity(database: Database): Promise<string[]> {
  return migrate(database, 'identity', new URL('migrations/', import.meta.url))
}

/** The stores of identity on PostgreSQL or its embedded twin. */
export function postgresIdentityStore(database: Database): IdentityStore {
  return {
    clients: new PostgresClients(database),
    clientLogos: new PostgresClientLogos(database),
    users: new PostgresUsers(database),
    userDirectory: new PostgresUserDirectory(database),
    subjects: new PostgresSubjects(database),
    declarations: new PostgresDeclarations(database),
    signingKeys: new PostgresSigningKeys(database),
    retiredKeys: new PostgresRetiredKeys(database),
    accessTokens: new PostgresAccessTokens(database),
    accounts: new PostgresAccounts(database),
    apiKeys: new PostgresApiKeys(database),
    lastUses: new PostgresLastUses(database),
    audit: new PostgresAuditTrail(database),
    authenticatorApps: new PostgresAuthenticatorApps(database),
    authorizationCodes: new PostgresAuthorizationCodes(database),
    connectionFlows: new PostgresConnectionFlows(database),
    connections: new PostgresConnections(database),
    linkedAccounts: new PostgresLinkedAccounts(database),
    providerSessions: new PostgresProviderSessions(database),
    consents: new PostgresConsents(database),
    deviceCodes: new PostgresDeviceCodes(database),
    factors: new PostgresFactors(database),
    grants: new PostgresGrants(database),
    mailedLinks: new PostgresMailedLinks(database),
    managementRoles: new PostgresManagementRoles(database),
    organizations: new PostgresOrganizations(database),
    memberships: new PostgresMemberships(database),
    organizationRoles: new PostgresOrganizationRoles(database),
    invitations: new PostgresInvitations(database),
    organizationDomains: new PostgresOrganizationDomains(database),
    limitGateways: new PostgresLimitGateways(database),
    limitOverrides: new PostgresLimitOverrides(database),
    limitVersions: new PostgresLimitVersions(database),
    outbox: new PostgresOutbox(database),
    passkeyChallenges: new PostgresPasskeyChallenges(database),
    passkeyRegistrations: new PostgresPasskeyRegistrations(database),
    passkeys: new PostgresPasskeys(database),
    purge: new PostgresPurge(database),
    pushedRequests: new PostgresPushedRequests(database),
    recoveryCodes: new PostgresRecoveryCodes(database),
    refreshFamilies: new PostgresRefreshFamilies(database),
    registrations: new PostgresRegistrations(database),
    rememberedDevices: new PostgresRememberedDevices(database),
    revocations: new PostgresRevocations(database),
    sessions: new PostgresSessions(database),
    sessionDirectory: new PostgresSessionDirectory(database),
    signInLinks: new PostgresSignInLinks(database),
    emailChanges: new PostgresEmailChanges(database),
    phoneChanges: new PostgresPhoneChanges(database),
    replayCache: new PostgresReplayCache(database),
    stats: statTable(database, { schema: 'identity', measures: Object.keys(measures) }),
    ping: () => database.ping(),
  }
}
