export type { Branding } from '@gatehouse/kit/page'
export { adminScopes } from './admin/scopes.ts'
export type { Authenticate, Caller } from './caller.ts'
export { signingAlgorithms } from './client.ts'
export { ClientDeclaration, ClientPatch, ResourceDeclaration, UserDeclaration, UserPatch } from './declarations.ts'
export type { Features } from './features.ts'
export {
  type Blocked,
  type Forgive,
  type GuardDecision,
  type GuardName,
  guardPolicies,
  type Limit,
  type Refund,
} from './guards.ts'
export { createIdentity, defaultPlan, type Identity } from './identity.ts'
export { defaultLifetimes, type Lifetimes, lifetimeBounds } from './lifetimes.ts'
export type { Management } from './management.ts'
export { isManagementRole, isManagementScope } from './management-roles.ts'
export {
  type GoneRecipient,
  identityEvents,
  mailLifetimesOf,
  type Notify,
  type NotifyRequest,
  type OnRecipient,
  type Recipient,
} from './messages.ts'
export type { IdentityDeclarations, IdentityOptions } from './options.ts'
export { defaultMinPasswordLength, minPasswordLengthBounds } from './password-rule.ts'
export { defaultHashesAtOnce, defaultHashesWaiting } from './passwords.ts'
export type { Seeded } from './seed.ts'
export { serviceScopes } from './service-scopes.ts'
