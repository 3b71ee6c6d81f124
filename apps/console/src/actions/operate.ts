import { accountable, dangerous, everybody, owner, read } from './action.ts'

/** What is done with administrators and the audit trail. */
export const operate = {
  whoAmI: read('caller.get', everybody),
  listRoles: read('roles.list', accountable),
  readRole: read('roles.get', accountable),
  putRole: dangerous('roles.put', [owner], 'roles.list', 'roles.get'),
  listMembers: read('roles.members.list', accountable),
  grantRole: dangerous('roles.members.add', [owner], 'roles.members.list', 'users.get'),
  revokeRole: dangerous('roles.members.remove', [owner], 'roles.members.list', 'users.get'),
  readAudit: read('auditEvents.list', accountable),
  exportAudit: read('auditEvents.export', accountable),
}
