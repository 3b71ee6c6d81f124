/** The service that answers an operation. */
export type OperationService = 'identity' | 'notify' | 'gateway'

interface Operation {
  readonly service: OperationService
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with its parameters in braces, as the API document has it. */
  readonly path: string
}

const table = {
  'caller.get': ['identity', 'GET', '/admin/v1/me'],
  'users.list': ['identity', 'GET', '/admin/v1/users'],
  'users.get': ['identity', 'GET', '/admin/v1/users/{id}'],
  'users.update': ['identity', 'PATCH', '/admin/v1/users/{id}'],
  'users.delete': ['identity', 'DELETE', '/admin/v1/users/{id}'],
  'users.sendMail': ['identity', 'POST', '/admin/v1/users/{id}/mail'],
  'users.reveal': ['identity', 'POST', '/admin/v1/users/{id}/reveal'],
  'users.sessions.list': ['identity', 'GET', '/admin/v1/users/{id}/sessions'],
  'users.sessions.end': ['identity', 'DELETE', '/admin/v1/users/{id}/sessions/{session_id}'],
  'users.consents.list': ['identity', 'GET', '/admin/v1/users/{id}/consents'],
  'users.consents.withdraw': ['identity', 'DELETE', '/admin/v1/users/{id}/consents/{client_id}'],
  'users.factors.get': ['identity', 'GET', '/admin/v1/users/{id}/factors'],
  'users.factors.reset': ['identity', 'DELETE', '/admin/v1/users/{id}/factors'],
  'clients.list': ['identity', 'GET', '/admin/v1/clients'],
  'clients.get': ['identity', 'GET', '/admin/v1/clients/{id}'],
  'clients.rotateSecret': ['identity', 'POST', '/admin/v1/clients/{id}/secret'],
  'clients.delete': ['identity', 'DELETE', '/admin/v1/clients/{id}'],
  'apiKeys.list': ['identity', 'GET', '/admin/v1/api-keys'],
  'apiKeys.create': ['identity', 'POST', '/admin/v1/api-keys'],
  'apiKeys.delete': ['identity', 'DELETE', '/admin/v1/api-keys/{id}'],
  'signingKeys.list': ['identity', 'GET', '/admin/v1/signing-keys'],
  'roles.list': ['identity', 'GET', '/admin/v1/roles'],
  'roles.members.list': ['identity', 'GET', '/admin/v1/roles/{role}/members'],
  'roles.members.add': ['identity', 'PUT', '/admin/v1/roles/{role}/members/{user_id}'],
  'roles.members.remove': ['identity', 'DELETE', '/admin/v1/roles/{role}/members/{user_id}'],
  'auditEvents.list': ['identity', 'GET', '/admin/v1/audit-events'],
  'auditEvents.export': ['identity', 'GET', '/admin/v1/audit-events/export'],
  'notifications.get': ['notify', 'GET', '/v1/notifications/{id}'],
  'notifications.explain': ['notify', 'POST', '/v1/explain'],
  'eventTypes.list': ['notify', 'GET', '/v1/event-types'],
  'deadLetters.list': ['notify', 'GET', '/v1/dead-letters'],
  'deadLetters.replay': ['notify', 'POST', '/v1/dead-letters/{id}/replay'],
  'deadLetters.discard': ['notify', 'DELETE', '/v1/dead-letters/{id}'],
} as const satisfies Readonly<Record<string, readonly [OperationService, Operation['method'], string]>>

/** An operation of the APIs that the console uses, named as in the API document. */
export type OperationId = keyof typeof table

/** The operations that the console uses. Nothing else is forwarded. */
export const operations = Object.fromEntries(
  Object.entries(table).map(([id, [service, method, path]]) => [id, { service, method, path }]),
) as Readonly<Record<OperationId, Operation>>
