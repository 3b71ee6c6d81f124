import type { AccessTokens } from './store/access-tokens.ts'
import type { Accounts } from './store/accounts.ts'
import type { ApiKeys } from './store/api-keys.ts'
import type { AuditTrail } from './store/audit.ts'
import type { Clients } from './store/clients.ts'
import type { Codes } from './store/codes.ts'
import type { Consents } from './store/consents.ts'
import type { Declared } from './store/declared.ts'
import type { DeviceCodes } from './store/device-codes.ts'
import type { Grants } from './store/grants.ts'
import type { Links } from './store/links.ts'
import type { Outbox } from './store/outbox.ts'
import type { Purge } from './store/purge.ts'
import type { PushedRequests } from './store/pushed-requests.ts'
import type { RefreshFamilies } from './store/refresh-families.ts'
import type { Registrations } from './store/registrations.ts'
import type { Revocations } from './store/revocations.ts'
import type { Sessions } from './store/sessions.ts'
import type { SignInLinks } from './store/sign-in-links.ts'
import type { SigningKeyRows } from './store/signing-keys.ts'
import type { UsedOnce } from './store/used-once.ts'
import type { Subjects, Users } from './store/users.ts'

export type * from './store/access-tokens.ts'
export type * from './store/accounts.ts'
export type * from './store/api-keys.ts'
export type * from './store/audit.ts'
export type * from './store/clients.ts'
export type * from './store/codes.ts'
export type * from './store/consents.ts'
export type * from './store/declared.ts'
export type * from './store/device-codes.ts'
export type * from './store/grants.ts'
export type * from './store/links.ts'
export type * from './store/outbox.ts'
export type * from './store/purge.ts'
export type * from './store/pushed-requests.ts'
export type * from './store/refresh-families.ts'
export type * from './store/registrations.ts'
export type * from './store/revocations.ts'
export type * from './store/sessions.ts'
export type * from './store/sign-in-links.ts'
export type * from './store/signing-keys.ts'
export type * from './store/used-once.ts'
export * from './store/users.ts'

/** Everything identity keeps, by role. A feature asks for its roles only. */
export interface IdentityStore {
  readonly clients: Clients
  readonly users: Users
  readonly accounts: Accounts
  readonly links: Links
  readonly registrations: Registrations
  readonly apiKeys: ApiKeys
  readonly subjects: Subjects
  readonly declared: Declared
  readonly signingKeys: SigningKeyRows
  readonly sessions: Sessions
  readonly signInLinks: SignInLinks
  readonly grants: Grants
  readonly codes: Codes
  readonly refreshFamilies: RefreshFamilies
  readonly revocations: Revocations
  readonly accessTokens: AccessTokens
  readonly deviceCodes: DeviceCodes
  readonly pushedRequests: PushedRequests
  readonly consents: Consents
  readonly usedOnce: UsedOnce
  readonly outbox: Outbox
  readonly audit: AuditTrail
  readonly purge: Purge
  ping(): Promise<void>
}
