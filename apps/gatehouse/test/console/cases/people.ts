import type {
  people as actions,
  quotas as limitActions,
  recipients as recipientActions,
  searches as searchActions,
} from '@gatehouse/console/actions'
import { type Cases, nothing, target } from './case.ts'

/** A call for each action of this part. */
export const people: Cases<keyof typeof actions> = {
  listUsers: () => ({}),
  searchUsers: () => ({ body: { email: 'target@example.com' } }),
  exportUsers: () => ({ body: {} }),
  createUser: (role) => ({ body: { id: `created-by-${role}` } }),
  readUser: () => target,
  updateUser: () => ({ ...target, body: { plan: 'pro' } }),
  lockUser: (role) => ({ params: { id: `user-of-${role}` }, body: { locked: true } }),
  deleteUser: (role) => ({ params: { id: `user-of-${role}` } }),
  mailUser: () => ({ ...target, body: { kind: 'reset' } }),
  revealUser: () => ({ ...target, body: { fields: ['email'], reason: 'a test' } }),
  listSessions: () => target,
  endSession: () => ({ params: { id: 'target', session_id: nothing } }),
  endAllSessions: () => target,
  findSessions: () => ({}),
  endSelectedSessions: () => ({ query: { user_id: 'target' } }),
  listGrants: () => target,
  endGrant: () => ({ params: { id: 'target', grant_id: nothing } }),
  listConsents: () => target,
  withdrawConsent: () => ({ params: { id: 'target', client_id: 'setup' } }),
  readFactors: () => target,
  resetFactors: () => target,
}

/** A call for each action with users as recipients. */
export const recipients: Cases<keyof typeof recipientActions> = {
  readRecipient: () => ({ params: { user_id: 'target' } }),
  searchRecipients: () => ({ body: { email: 'target@example.com' } }),
  revealRecipient: () => ({ params: { user_id: 'target' }, body: { fields: ['email'], reason: 'a test' } }),
  readStanding: () => target,
  listNotificationsOfUser: () => ({ query: { user_id: 'target' } }),
  listPreferences: () => target,
  readChoices: () => target,
  listDevices: () => target,
  deleteDevice: () => ({ params: { id: 'target', device_id: 'phone' } }),
  exportUserData: () => target,
  eraseUserData: () => ({ params: { id: 'nobody' } }),
}

/** A call for each action of the search. */
export const searches: Cases<keyof typeof searchActions> = {
  findApiKey: () => ({ body: { key: `gk_${'k'.repeat(43)}` } }),
  readApiKey: () => ({ params: { id: nothing } }),
  findDelivery: () => ({ params: { id: nothing } }),
  findDeadLetter: () => ({ params: { id: nothing } }),
  findTemplates: () => ({}),
  findProviders: () => ({}),
}

const limit = { policy: 'free', kind: 'user', id: 'target' }

/** A call for each action with the limits of a user. */
export const quotas: Cases<keyof typeof limitActions> = {
  readUserTiers: () => ({}),
  readUserLimit: () => ({ params: limit }),
  grantRequestsToUser: () => ({ params: limit, body: { amount: 1 } }),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const peopleMayFindNothing: readonly (
  | keyof typeof actions
  | keyof typeof recipientActions
  | keyof typeof searchActions
)[] = [
  'endSession',
  'endGrant',
  'withdrawConsent',
  'resetFactors',
  'readRecipient',
  'revealRecipient',
  'deleteDevice',
  'readApiKey',
  'findDelivery',
  'findDeadLetter',
]
