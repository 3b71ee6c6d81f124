import type { StatStore } from '@gatehouse/kit'
import type { ClientLogos, Clients, ReplayCache } from './clients.ts'
import type { ConnectionFlows, Connections, LinkedAccounts, ProviderSessions } from './connections.ts'
import type { DeclarationStore } from './declared.ts'
import type { SessionDirectory, UserDirectory } from './directory.ts'
import type { EmailChanges } from './email-changes.ts'
import type { AuthenticatorApps, Factors, RecoveryCodes, RememberedDevices } from './factors.ts'
import type { AuthorizationCodes, Consents, DeviceCodes, Grants, PushedRequests, RefreshFamilies } from './grants.ts'
import type { LimitGateways, LimitOverrides, LimitVersions } from './limits.ts'
import type { ManagementRoles } from './management-roles.ts'
import type { AuditTrail, Outbox, Purge } from './operations.ts'
import type {
  Invitations,
  Memberships,
  OrganizationDomains,
  OrganizationRoles,
  Organizations,
} from './organizations.ts'
import type { PasskeyChallenges, PasskeyRegistrations, Passkeys } from './passkeys.ts'
import type { PhoneChanges } from './phone-changes.ts'
import type { Sessions } from './sessions.ts'
import type { SignInLinks } from './sign-in-links.ts'
import type { AccessTokens, ApiKeys, LastUseStore, RetiredKeys, Revocations, SigningKeyStore } from './tokens.ts'
import type { Accounts, MailedLinks, Registrations, Subjects, Users } from './users.ts'

export type * from './clients.ts'
export * from './connections.ts'
export type * from './declared.ts'
export type * from './directory.ts'
export type * from './email-changes.ts'
export type * from './factors.ts'
export type * from './grants.ts'
export type * from './limits.ts'
export type * from './management-roles.ts'
export type * from './operations.ts'
export type * from './organizations.ts'
export type * from './passkeys.ts'
export type * from './phone-changes.ts'
export type * from './sessions.ts'
export type * from './sign-in-links.ts'
export type * from './tokens.ts'
export * from './users.ts'

/** The stores of identity, by role. */
export interface IdentityStore {
  readonly clients: Clients
  readonly clientLogos: ClientLogos
  readonly connections: Connections
  readonly connectionFlows: ConnectionFlows
  readonly linkedAccounts: LinkedAccounts
  readonly providerSessions: ProviderSessions
  readonly users: Users
  readonly managementRoles: ManagementRoles
  readonly userDirectory: UserDirectory
  readonly accounts: Accounts
  readonly mailedLinks: MailedLinks
  readonly passkeys: Passkeys
  readonly passkeyRegistrations: PasskeyRegistrations
  readonly passkeyChallenges: PasskeyChallenges
  readonly registrations: Registrations
  readonly apiKeys: ApiKeys
  readonly lastUses: LastUseStore
  readonly subjects: Subjects
  readonly declarations: DeclarationStore
  readonly signingKeys: SigningKeyStore
  readonly retiredKeys: RetiredKeys
  readonly sessions: Sessions
  readonly sessionDirectory: SessionDirectory
  readonly factors: Factors
  readonly authenticatorApps: AuthenticatorApps
  readonly recoveryCodes: RecoveryCodes
  readonly rememberedDevices: RememberedDevices
  readonly signInLinks: SignInLinks
  readonly emailChanges: EmailChanges
  readonly phoneChanges: PhoneChanges
  readonly grants: Grants
  readonly authorizationCodes: AuthorizationCodes
  readonly refreshFamilies: RefreshFamilies
  readonly revocations: Revocations
  readonly accessTokens: AccessTokens
  readonly deviceCodes: DeviceCodes
  readonly pushedRequests: PushedRequests
  readonly consents: Consents
  readonly replayCache: ReplayCache
  readonly organizations: Organizations
  readonly memberships: Memberships
  readonly organizationRoles: OrganizationRoles
  readonly invitations: Invitations
  readonly organizationDomains: OrganizationDomains
  readonly limitVersions: LimitVersions
  readonly limitOverrides: LimitOverrides
  readonly limitGateways: LimitGateways
  readonly outbox: Outbox
  readonly audit: AuditTrail
  readonly purge: Purge
  /** The history of what was counted. */
  readonly stats: StatStore
  ping(): Promise<void>
}
