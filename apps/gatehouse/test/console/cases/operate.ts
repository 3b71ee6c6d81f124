import type { operate as actions } from '@gatehouse/console/actions'
import type { Cases } from './case.ts'

/** A call for each action of this part. */
export const operate: Cases<keyof typeof actions> = {
  whoAmI: () => ({}),
  listRoles: () => ({}),
  listMembers: () => ({ params: { role: 'gatehouse-auditor' } }),
  grantRole: () => ({ params: { role: 'gatehouse-auditor', user_id: 'target' } }),
  revokeRole: () => ({ params: { role: 'gatehouse-auditor', user_id: 'target' } }),
  readAudit: () => ({}),
  exportAudit: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const operateMayFindNothing: readonly (keyof typeof actions)[] = []
