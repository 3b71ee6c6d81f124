export type { Branding } from '@gatehouse/kit/page'
export type { Management } from './admin/commands.ts'
export { type Overlap, OverlapBody } from './admin/overlap.ts'
export { adminScopes } from './admin/scopes.ts'
export { convertUser, type SourceName, sourceNames } from './admin/users/import/convert.ts'
export { type ImportResult, maxImportedUsers } from './admin/users/import/import-users.ts'
export type { SourceParameters, SourceRecord } from './admin/users/import/source.ts'
export { findDeclaredClientFaults } from './clients/registration.ts'
export {
  type AttemptDecision,
  type AttemptLimitName,
  attemptLimitPolicies,
  type Blocked,
  type Forgive,
  type Limit,
  type Refund,
} from './config/attempt-limits.ts'
export { ConnectionDeclaration } from './config/connections.ts'
export {
  ClientDeclaration,
  ClientPatch,
  ImportedUser,
  ResourceDeclaration,
  UserDeclaration,
  UserPatch,
} from './config/declarations.ts'
export type { Features } from './config/features.ts'
export type { DeclaredLimits, LimitFault, LimitFaultPlace, LimitRules } from './config/limit-rules.ts'
export type { IdentityDeclarations, IdentityOptions } from './config/options.ts'
export {
  InvitationBody,
  MemberBody,
  NewOrganization,
  OrganizationDeclaration,
  OrganizationRoleDeclaration,
} from './config/organizations.ts'
export { findConnectionFaults } from './connections/faults.ts'
export { defaultPlan } from './context/create.ts'
export type { Seeded } from './declarations/seed.ts'
export { operation as identityOperations } from './http/operations/index.ts'
export { createIdentity, type Identity, type IdentityLimits } from './identity.ts'
export {
  type GoneRecipient,
  identityEvents,
  mailLifetimes,
  type Notify,
  type NotifyRequest,
  type OnRecipient,
  phoneCodeEvent,
  type Recipient,
} from './mail/messages.ts'
export type { Authenticate, Caller } from './model/caller.ts'
export { signingAlgorithms } from './model/client.ts'
export { type MfaPolicy, mfaPolicies } from './model/factors/second-factor.ts'
export { defaultLifetimes, type Lifetimes, lifetimeBounds } from './model/grants/lifetimes.ts'
export { checkUserRole, isManagementRole, isManagementScope } from './model/management-roles.ts'
export { serviceScopes } from './model/service-scopes.ts'
export { defaultHashCost, defaultHashesAtOnce, defaultHashesWaiting } from './passwords/hasher.ts'
export { defaultMinPasswordLength, minPasswordLengthBounds } from './passwords/rule.ts'
