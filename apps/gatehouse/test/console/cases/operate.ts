import type { operate as actions } from '@gatehouse/console/actions'
import type { Cases } from './case.ts'

/** The scopes that the role comes with, so that the other actions find it as it was. */
const supportScopes = [
  'read:accounts',
  'read:clients',
  'read:delivery',
  'read:settings',
  'read:limits',
  'read:organizations',
  'write:sessions',
  'write:account-mail',
  'write:limit-grants',
  'reveal:personal-data',
]

/** A call for each action of this part. */
export const operate: Cases<keyof typeof actions> = {
  whoAmI: () => ({}),
  listRoles: () => ({}),
  readRole: () => ({ params: { role: 'gatehouse-support' } }),
  putRole: () => ({ params: { role: 'gatehouse-support' }, body: { scopes: supportScopes } }),
  listMembers: () => ({ params: { role: 'gatehouse-auditor' } }),
  grantRole: () => ({ params: { role: 'gatehouse-auditor', user_id: 'target' } }),
  revokeRole: () => ({ params: { role: 'gatehouse-auditor', user_id: 'target' } }),
  readAudit: () => ({}),
  exportAudit: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const operateMayFindNothing: readonly (keyof typeof actions)[] = []
