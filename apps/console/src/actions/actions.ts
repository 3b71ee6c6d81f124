import type { OperationId } from './operations.ts'

/** The management roles, in the order of their power. */
export const roles = ['gatehouse-owner', 'gatehouse-operator', 'gatehouse-support', 'gatehouse-auditor'] as const
/** A management role. */
export type Role = (typeof roles)[number]

const [owner, operator, support, auditor] = roles
const everybody = roles
const editors = [owner, operator] as const
const accountable = [owner, operator, auditor] as const

/** Something that a person does in the console. */
export interface Action {
  readonly operation: OperationId
  /** Who sees it. The API decides; a test calls it as every role and compares. */
  readonly roles: readonly Role[]
  /** Whether the API requires a sign-in of the last ten minutes. */
  readonly dangerous: boolean
  /** The operations whose answers it changes. */
  readonly invalidates: readonly OperationId[]
}

const read = (operation: OperationId, allowed: readonly Role[]): Action => ({
  operation,
  roles: allowed,
  dangerous: false,
  invalidates: [],
})
const write = (operation: OperationId, allowed: readonly Role[], ...invalidates: readonly OperationId[]): Action => ({
  operation,
  roles: allowed,
  dangerous: false,
  invalidates,
})
const dangerous = (
  operation: OperationId,
  allowed: readonly Role[],
  ...invalidates: readonly OperationId[]
): Action => ({ ...write(operation, allowed, ...invalidates), dangerous: true })

/**
 * Every action of the console. The server forwards the operations that are named here and no others; the pages show an
 * action to the roles that have it.
 */
export const actions = {
  whoAmI: read('caller.get', everybody),
  listUsers: read('users.list', everybody),
  readUser: read('users.get', everybody),
  lockUser: write('users.update', editors, 'users.get', 'users.list', 'users.sessions.list'),
  deleteUser: dangerous('users.delete', editors, 'users.list', 'users.get'),
  mailUser: write('users.sendMail', [owner, operator, support]),
  revealUser: write('users.reveal', [owner, support]),
  listSessions: read('users.sessions.list', everybody),
  endSession: write('users.sessions.end', [owner, operator, support], 'users.sessions.list'),
  listConsents: read('users.consents.list', everybody),
  withdrawConsent: write('users.consents.withdraw', editors, 'users.consents.list'),
  readFactors: read('users.factors.get', everybody),
  resetFactors: dangerous('users.factors.reset', editors, 'users.factors.get', 'users.sessions.list'),
  listClients: read('clients.list', everybody),
  readClient: read('clients.get', everybody),
  rotateSecret: dangerous('clients.rotateSecret', editors, 'clients.get'),
  deleteClient: dangerous('clients.delete', editors, 'clients.list', 'clients.get'),
  listApiKeys: read('apiKeys.list', everybody),
  createApiKey: dangerous('apiKeys.create', editors, 'apiKeys.list'),
  revokeApiKey: dangerous('apiKeys.delete', editors, 'apiKeys.list'),
  listSigningKeys: read('signingKeys.list', accountable),
  listRoles: read('roles.list', accountable),
  listMembers: read('roles.members.list', accountable),
  grantRole: dangerous('roles.members.add', [owner], 'roles.members.list', 'users.get'),
  revokeRole: dangerous('roles.members.remove', [owner], 'roles.members.list', 'users.get'),
  readAudit: read('auditEvents.list', accountable),
  exportAudit: read('auditEvents.export', accountable),
  readNotification: read('notifications.get', everybody),
  explain: read('notifications.explain', everybody),
  listEventTypes: read('eventTypes.list', everybody),
  listDeadLetters: read('deadLetters.list', everybody),
  replayDeadLetter: write('deadLetters.replay', editors, 'deadLetters.list', 'notifications.get'),
  discardDeadLetter: dangerous('deadLetters.discard', editors, 'deadLetters.list'),
} as const satisfies Readonly<Record<string, Action>>

/** The name of an action. */
export type ActionId = keyof typeof actions

/** Whether one of these roles has the action. */
export function mayDo(id: ActionId, userRoles: readonly string[]): boolean {
  const { roles: allowed }: Action = actions[id]
  return allowed.some((role) => userRoles.includes(role))
}
