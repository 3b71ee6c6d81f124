import type { people as actions } from '@gatehouse/console/actions'
import { type Cases, nothing, target } from './case.ts'

/** A call for each action of this part. */
export const people: Cases<keyof typeof actions> = {
  listUsers: () => ({}),
  readUser: () => target,
  lockUser: (role) => ({ params: { id: `user-of-${role}` }, body: { locked: true } }),
  deleteUser: (role) => ({ params: { id: `user-of-${role}` } }),
  mailUser: () => ({ ...target, body: { kind: 'reset' } }),
  revealUser: () => ({ ...target, body: { fields: ['email'], reason: 'a test' } }),
  listSessions: () => target,
  endSession: () => ({ params: { id: 'target', session_id: nothing } }),
  listConsents: () => target,
  withdrawConsent: () => ({ params: { id: 'target', client_id: 'setup' } }),
  readFactors: () => target,
  resetFactors: () => target,
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const peopleMayFindNothing: readonly (keyof typeof actions)[] = ['endSession', 'withdrawConsent', 'resetFactors']
