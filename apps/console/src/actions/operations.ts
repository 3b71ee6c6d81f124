import { type OperationFacts, type Operations, operations } from '@gatehouse/client'

/** The service that answers an operation. */
export type OperationService = 'identity' | 'notify' | 'gateway'

/** An operation of the APIs, named as in the API document. */
export type OperationId = keyof Operations

/** The service of each resource: the first names of an operation; the longer ones count. */
const services: Readonly<Record<string, OperationService>> = {
  apiKeys: 'identity',
  auditEvents: 'identity',
  caller: 'identity',
  clients: 'identity',
  config: 'identity',
  drift: 'identity',
  limitOverrides: 'identity',
  limitSettings: 'identity',
  organizations: 'identity',
  roles: 'identity',
  sessions: 'identity',
  setup: 'identity',
  signInStats: 'identity',
  signingKeys: 'identity',
  status: 'identity',
  storage: 'identity',
  users: 'identity',
  deadLetters: 'notify',
  deliveries: 'notify',
  eventTypes: 'notify',
  notifications: 'notify',
  parked: 'notify',
  pending: 'notify',
  providers: 'notify',
  queue: 'notify',
  recipients: 'notify',
  replays: 'notify',
  scheduled: 'notify',
  stats: 'notify',
  suppressions: 'notify',
  templates: 'notify',
  'users.choices': 'notify',
  'users.data': 'notify',
  'users.devices': 'notify',
  'users.preferences': 'notify',
  'users.standing': 'notify',
  'users.suppressions': 'notify',
  limits: 'gateway',
  routes: 'gateway',
  upstreams: 'gateway',
}

/** The service that answers an operation. @throws Error for a resource that the console does not know */
export function serviceOf(id: OperationId): OperationService {
  const [resource = '', part = ''] = id.split('.', 2)
  const service = services[`${resource}.${part}`] ?? services[resource]
  if (service === undefined) throw new Error(`no service is known for ${id}`)
  return service
}

/** An answer that comes only once all of the work is done: 10,000 events are accepted one after another. */
const slow: Partial<Record<OperationId, number>> = { 'notifications.sendBulk': 5 * 60_000 }

/** How long an operation may take before it answers, in milliseconds; undefined where that is no longer than usual. */
export function slowAnswerMs(id: OperationId): number | undefined {
  return slow[id]
}

/** The method of an operation, and its path with parameters in braces. */
export function factsOf(id: OperationId): OperationFacts {
  return operations[id]
}
