import { type OperationFacts, type Operations, operations } from '@gatehouse/client'

/** The service that answers an operation. */
export type OperationService = 'identity' | 'notify' | 'gateway'

/** An operation of the APIs, named as in the API document. */
export type OperationId = keyof Operations

/** The service of each resource: the first name of an operation. */
const services: Readonly<Record<string, OperationService>> = {
  apiKeys: 'identity',
  auditEvents: 'identity',
  caller: 'identity',
  clients: 'identity',
  roles: 'identity',
  signingKeys: 'identity',
  users: 'identity',
  limits: 'gateway',
  routes: 'gateway',
  upstreams: 'gateway',
  deadLetters: 'notify',
  eventTypes: 'notify',
  notifications: 'notify',
  deliveries: 'notify',
  scheduled: 'notify',
  queue: 'notify',
  providers: 'notify',
  recipients: 'notify',
  templates: 'notify',
  suppressions: 'notify',
}

/** What notify knows of users, who are identity's otherwise. */
const ofNotify: ReadonlySet<string> = new Set(['standing', 'preferences', 'suppressions', 'devices', 'choices', 'data'])

/** The service that answers an operation. @throws Error for a resource that the console does not know */
export function serviceOf(id: OperationId): OperationService {
  const [resource = '', part = ''] = id.split('.', 2)
  if (resource === 'users' && ofNotify.has(part)) return 'notify'
  const service = services[resource]
  if (service === undefined) throw new Error(`no service is known for ${id}`)
  return service
}

/** The method of an operation, and its path with parameters in braces. */
export function factsOf(id: OperationId): OperationFacts {
  return operations[id]
}
