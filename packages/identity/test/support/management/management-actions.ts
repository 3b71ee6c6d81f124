import { defaultScopes } from '../../../src/model/management-roles.ts'
import type { Call, createFixtures, Role } from './administrators.ts'
import { organizationActions } from './organization-actions.ts'

type Fixtures = ReturnType<typeof createFixtures>
type Prepared = Omit<Call, 'method'> & { readonly secrets?: readonly string[] }

/** A management route: which roles may use it, how it is called, and what the audit trail records. */
export interface Action {
  readonly route: string
  readonly allowed: readonly Role[]
  readonly prepare: (things: Fixtures) => Promise<Prepared>
  /** The action of the audit event; undefined for a route that changes nothing. */
  readonly recorded?: string
  /** Whether it only searches, by a body. */
  readonly searches?: boolean
}

const owner = 'gatehouse-owner'
const operator = 'gatehouse-operator'
const support = 'gatehouse-support'
const auditor = 'gatehouse-auditor'
const all = [owner, operator, support, auditor] as const

const supportScopes = [...defaultScopes(support)]

const at = (url: string): Prepared => ({ url })
const users = '/admin/v1/users'
const clients = '/admin/v1/clients'
const connections = '/admin/v1/connections'
const keys = '/admin/v1/api-keys'
const secret = 'quiet-secret-of-a-test'
const unusedKey = `gk_${'k'.repeat(43)}`

const aboutUser = async (things: Fixtures, rest: string, payload?: object): Promise<Prepared> => {
  const url = `${users}/${await things.user()}${rest}`
  return payload === undefined ? { url } : { url, payload }
}

/** Every management route. Routes between services are allowed for no role. */
export const actions: readonly Action[] = [
  { route: `GET ${clients}`, allowed: all, prepare: async () => at(clients) },
  { route: `GET ${clients}/:id`, allowed: all, prepare: async () => at(`${clients}/console`) },
  { route: `GET ${clients}/:id/grants`, allowed: all, prepare: async () => at(`${clients}/console/grants`) },
  { route: `GET ${clients}/:id/plan`, allowed: [], prepare: async () => at(`${clients}/console/plan`) },
  {
    route: `POST ${clients}`,
    allowed: [owner, operator],
    prepare: async ({ name }) => ({
      url: clients,
      payload: { client_id: name('new'), client_secret: secret, scopes: ['orders:read'] },
      secrets: [secret],
    }),
    recorded: 'clients.create',
  },
  {
    route: `PATCH ${clients}/:id`,
    allowed: [owner, operator],
    prepare: async ({ client }) => ({ url: `${clients}/${await client()}`, payload: { client_name: 'Another name' } }),
    recorded: 'clients.update',
  },
  {
    route: `DELETE ${clients}/:id`,
    allowed: [owner, operator],
    prepare: async ({ client }) => at(`${clients}/${await client()}`),
    recorded: 'clients.delete',
  },
  {
    route: `POST ${clients}/:id/secret`,
    allowed: [owner, operator],
    prepare: async ({ client }) => ({ url: `${clients}/${await client()}/secret`, payload: { overlap_seconds: 60 } }),
    recorded: 'clients.renew_secret',
  },
  { route: `GET ${connections}`, allowed: all, prepare: async () => at(connections) },
  {
    route: `GET ${connections}/:id`,
    allowed: all,
    prepare: async ({ connection }) => at(`${connections}/${await connection()}`),
  },
  {
    route: `POST ${connections}`,
    allowed: [owner],
    prepare: async ({ name }) => ({
      url: connections,
      payload: { id: name('new'), kind: 'google', client_id: 'c', client_secret: secret },
      secrets: [secret],
    }),
    recorded: 'connections.create',
  },
  {
    route: `PATCH ${connections}/:id`,
    allowed: [owner],
    prepare: async ({ connection }) => ({
      url: `${connections}/${await connection()}`,
      payload: { enabled: false, client_secret: secret },
      secrets: [secret],
    }),
    recorded: 'connections.update',
  },
  {
    route: `DELETE ${connections}/:id`,
    allowed: [owner],
    prepare: async ({ connection }) => at(`${connections}/${await connection()}`),
    recorded: 'connections.delete',
  },
  { route: `GET ${users}`, allowed: all, prepare: async () => at(users) },
  { route: `GET ${users}/:id`, allowed: all, prepare: async (things) => aboutUser(things, '') },
  {
    route: `POST ${users}`,
    allowed: [owner, operator],
    prepare: async ({ name }) => ({ url: users, payload: { id: name('new'), password: secret }, secrets: [secret] }),
    recorded: 'users.create',
  },
  {
    route: `POST ${users}/search`,
    allowed: all,
    prepare: async () => ({ url: `${users}/search`, payload: { email: 'ada@people.example' } }),
    searches: true,
  },
  {
    route: 'POST /admin/v1/user-exports',
    allowed: [owner, operator],
    prepare: async () => ({ url: '/admin/v1/user-exports', payload: { plan: 'pro' } }),
    recorded: 'users.export',
  },
  { route: 'GET /admin/v1/sessions', allowed: all, prepare: async () => at('/admin/v1/sessions') },
  {
    route: 'DELETE /admin/v1/sessions',
    allowed: [owner, operator],
    prepare: async ({ session }) => at(`/admin/v1/sessions?user_id=${(await session()).user}`),
    recorded: 'sessions.end_selected',
  },
  {
    route: `DELETE ${users}/:id/sessions`,
    allowed: [owner, operator, support],
    prepare: async ({ session }) => at(`${users}/${(await session()).user}/sessions`),
    recorded: 'sessions.end_all',
  },
  { route: `GET ${users}/:id/grants`, allowed: all, prepare: async (things) => aboutUser(things, '/grants') },
  {
    route: `DELETE ${users}/:id/grants/:grant_id`,
    allowed: [owner, operator, support],
    prepare: async ({ grant }) => {
      const { user, grant: id } = await grant()
      return at(`${users}/${user}/grants/${id}`)
    },
    recorded: 'grants.end',
  },
  {
    route: 'POST /admin/v1/user-imports',
    allowed: [owner, operator],
    prepare: async ({ name }) => ({ url: '/admin/v1/user-imports', payload: { users: [{ id: name('new') }] } }),
    recorded: 'users.import',
  },
  {
    route: `PATCH ${users}/:id`,
    allowed: [owner, operator],
    prepare: async (things) => aboutUser(things, '', { plan: 'pro', locked: true }),
    recorded: 'users.update',
  },
  {
    route: `DELETE ${users}/:id`,
    allowed: [owner, operator],
    prepare: async (things) => aboutUser(things, ''),
    recorded: 'users.delete',
  },
  {
    route: `PUT ${users}/:id/password`,
    allowed: [owner, operator],
    prepare: async (things) => ({ ...(await aboutUser(things, '/password', { password: secret })), secrets: [secret] }),
    recorded: 'users.set_password',
  },
  {
    route: `POST ${users}/:id/mail`,
    allowed: [owner, operator, support],
    prepare: async (things) => aboutUser(things, '/mail', { kind: 'reset' }),
    recorded: 'users.mail',
  },
  {
    route: `POST ${users}/:id/reveal`,
    allowed: [owner, support],
    prepare: async (things) => aboutUser(things, '/reveal', { fields: ['email'], reason: 'a support case' }),
    recorded: 'users.reveal',
  },
  { route: `GET ${users}/:id/consents`, allowed: all, prepare: async (things) => aboutUser(things, '/consents') },
  {
    route: `DELETE ${users}/:id/consents/:client_id`,
    allowed: [owner, operator],
    prepare: async (things) => aboutUser(things, '/consents/console'),
    recorded: 'consents.withdraw',
  },
  { route: `GET ${users}/:id/sessions`, allowed: all, prepare: async (things) => aboutUser(things, '/sessions') },
  { route: `GET ${users}/:id/factors`, allowed: all, prepare: async (things) => aboutUser(things, '/factors') },
  {
    route: `DELETE ${users}/:id/factors`,
    allowed: [owner, operator],
    prepare: async (things) => aboutUser(things, '/factors'),
    recorded: 'factors.reset',
  },
  {
    route: `DELETE ${users}/:id/sessions/:session_id`,
    allowed: [owner, operator, support],
    async prepare(things) {
      const { user, session } = await things.session()
      return at(`${users}/${user}/sessions/${session}`)
    },
    recorded: 'sessions.end',
  },
  { route: `GET ${users}/:id/providers`, allowed: all, prepare: async (things) => aboutUser(things, '/providers') },
  {
    route: `DELETE ${users}/:id/providers/:link_id`,
    allowed: [owner, operator],
    prepare: async ({ linkedProvider }) => {
      const { user, link } = await linkedProvider()
      return at(`${users}/${user}/providers/${link}`)
    },
    recorded: 'linked_providers.remove',
  },
  { route: `GET ${users}/:id/passkeys`, allowed: all, prepare: async (things) => aboutUser(things, '/passkeys') },
  {
    route: `DELETE ${users}/:id/passkeys/:passkey_id`,
    allowed: [owner, operator],
    async prepare(things) {
      const { user, passkey } = await things.passkey()
      return at(`${users}/${user}/passkeys/${passkey}`)
    },
    recorded: 'passkeys.remove',
  },
  { route: 'GET /admin/v1/me', allowed: all, prepare: async () => at('/admin/v1/me') },
  { route: 'GET /admin/v1/roles', allowed: [owner, operator, auditor], prepare: async () => at('/admin/v1/roles') },
  {
    route: 'GET /admin/v1/roles/:role',
    allowed: [owner, operator, auditor],
    prepare: async () => at(`/admin/v1/roles/${support}`),
  },
  {
    route: 'PUT /admin/v1/roles/:role',
    allowed: [owner],
    prepare: async () => ({ url: `/admin/v1/roles/${support}`, payload: { scopes: supportScopes } }),
    recorded: 'roles.update',
  },
  {
    route: 'GET /admin/v1/roles/:role/members',
    allowed: [owner, operator, auditor],
    prepare: async () => at(`/admin/v1/roles/${owner}/members`),
  },
  {
    route: 'GET /admin/v1/roles/:role/members/:user_id',
    allowed: [owner, operator, auditor],
    prepare: async () => at(`/admin/v1/roles/${owner}/members/owner`),
  },
  {
    route: 'PUT /admin/v1/roles/:role/members/:user_id',
    allowed: [owner],
    prepare: async ({ user }) => at(`/admin/v1/roles/${auditor}/members/${await user()}`),
    recorded: 'roles.grant',
  },
  {
    route: 'DELETE /admin/v1/roles/:role/members/:user_id',
    allowed: [owner],
    prepare: async ({ member }) => at(`/admin/v1/roles/${auditor}/members/${await member(auditor)}`),
    recorded: 'roles.revoke',
  },
  ...organizationActions,
  { route: `GET ${keys}`, allowed: all, prepare: async () => at(keys) },
  {
    route: `POST ${keys}`,
    allowed: [owner, operator],
    prepare: async ({ user }) => ({
      url: keys,
      payload: { owner: await user(), name: 'a key', scopes: ['orders:read'] },
    }),
    recorded: 'api_keys.create',
  },
  {
    route: `POST ${keys}/search`,
    allowed: all,
    prepare: async () => ({ url: `${keys}/search`, payload: { key: unusedKey }, secrets: [unusedKey] }),
    searches: true,
  },
  { route: `GET ${keys}/:id`, allowed: all, prepare: async ({ apiKey }) => at(`${keys}/${await apiKey()}`) },
  {
    route: `POST ${keys}/:id/rotate`,
    allowed: [owner, operator],
    prepare: async ({ apiKey }) => ({ url: `${keys}/${await apiKey()}/rotate`, payload: { overlap_seconds: 60 } }),
    recorded: 'api_keys.rotate',
  },
  {
    route: `DELETE ${keys}/:id`,
    allowed: [owner, operator],
    prepare: async ({ apiKey }) => at(`${keys}/${await apiKey()}`),
    recorded: 'api_keys.delete',
  },
  {
    route: `POST ${keys}/resolve`,
    allowed: [],
    prepare: async () => ({ url: `${keys}/resolve`, payload: { key: `gk_${'a'.repeat(43)}` } }),
  },
  {
    route: 'GET /admin/v1/stats',
    allowed: [owner, operator, support, auditor],
    prepare: async () => at('/admin/v1/stats?measure=sign_ins&by=outcome'),
  },
  {
    route: 'GET /admin/v1/signing-keys',
    allowed: [owner, operator, auditor],
    prepare: async () => at('/admin/v1/signing-keys'),
  },
  {
    route: 'POST /admin/v1/signing-keys/rotate',
    allowed: [owner, operator],
    prepare: async () => ({ url: '/admin/v1/signing-keys/rotate', payload: { alg: 'ES256' } }),
    recorded: 'signing_keys.rotate',
  },
  {
    route: 'GET /admin/v1/audit-events',
    allowed: [owner, operator, auditor],
    prepare: async () => at('/admin/v1/audit-events'),
  },
  {
    route: 'GET /admin/v1/audit-events/export',
    allowed: [owner, operator, auditor],
    prepare: async () => at('/admin/v1/audit-events/export'),
  },
  {
    route: 'POST /admin/v1/audit-events',
    allowed: [],
    prepare: async () => ({
      url: '/admin/v1/audit-events',
      payload: { service: 'notify', action: 'x.y', actor: { subject: 'x' }, target: { type: 'x', id: 'y' } },
    }),
  },
]
