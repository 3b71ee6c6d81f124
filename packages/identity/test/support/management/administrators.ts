import assert from 'node:assert/strict'
import { managementRoles, scopesOfRoles } from '../../../src/model/management-roles.ts'
import { postgresIdentityStore } from '../../../src/postgres/index.ts'
import { Authenticator } from '../factors/authenticator.ts'
import { passkeyIds, registerPasskey } from '../factors/passkeys.ts'
import { getTokens, TestBrowser } from '../journey.ts'
import { type Running, responseOf, type TestResponse } from '../setup.ts'

/*
 * Administrators: one for each role, signed in at a console, and callers that are services.
 */

type Served = Pick<Running, 'http' | 'post' | 'identity' | 'routes'>

export const roles = ['gatehouse-owner', 'gatehouse-operator', 'gatehouse-support', 'gatehouse-auditor'] as const
export type Role = (typeof roles)[number]

/** The id of the administrator with a role: `owner` for `gatehouse-owner`. */
export const personOf = (role: Role): string => role.replace('gatehouse-', '')
const password = 'a long and quiet password'

export const administrators = roles.map((role) => ({
  id: personOf(role),
  password,
  email: `${personOf(role)}@staff.example`,
  roles: [role],
}))

/** A public client that is registered for every management scope. */
export const consoleClient = {
  client_id: 'console',
  token_endpoint_auth_method: 'none' as const,
  redirect_uris: ['https://console.example/callback'],
  scopes: ['openid', 'offline_access', ...scopesOfRoles(managementRoles, new Map())],
}

/** An access token of the user, through sign-in and consent, with the scopes that the role allows. */
export async function tokenOf(running: Served, role: Role, user: string = personOf(role)): Promise<string> {
  const scope = ['openid', ...scopesOfRoles([role], new Map())].join(' ')
  const tokens = await getTokens(running, { client: 'console', scope, user: [user, password] })
  return tokens.access_token ?? assert.fail('no access token')
}

/** A token that a confidential client obtains for itself. */
export async function clientToken(running: Served, id: string, secret: string): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
  const response = await running.post('/token', form)
  return String(response.body.access_token ?? assert.fail(response.text))
}

export interface Call {
  readonly method: string
  readonly url: string
  readonly payload?: object
  readonly requestId?: string
}

export async function call(
  running: Served,
  token: string,
  { method, url, payload, requestId }: Call,
): Promise<TestResponse> {
  const named = requestId === undefined ? {} : { 'x-request-id': requestId }
  const headers = { authorization: `Bearer ${token}`, ...named }
  const body = payload === undefined ? {} : { payload }
  return responseOf(await running.http.inject({ method: method as 'GET', url, headers, ...body }))
}

let made = 0

const ownerTokens = new WeakMap<object, Promise<string>>()

/** A token of the owner, the same one for all fixtures of a server. */
function ownerToken(running: Served): Promise<string> {
  const token = ownerTokens.get(running.http) ?? tokenOf(running, 'gatehouse-owner')
  ownerTokens.set(running.http, token)
  return token
}

/** A server under test; with the records of its DNS server where domains are verified. */
type Prepared = Served & Pick<Running, 'database' | 'clock'> & { readonly dnsRecords?: Map<string, readonly string[]> }

/** Creates fixtures by the command line, or by the API, that no other test uses. */
export function createFixtures(running: Prepared) {
  const { identity, dnsRecords } = running
  const { management } = identity
  const next = (kind: string) => `${kind}-${++made}`
  const user = async () => {
    const { id } = await management.createUser({ id: next('user'), email: `${next('m')}@people.example`, password })
    return id
  }
  const manage = async (method: string, url: string, payload?: object) => {
    const request = { method, url, ...(payload === undefined ? {} : { payload }) }
    const response = await call(running, await ownerToken(running), request)
    assert.ok(response.status < 300, response.text)
    return response
  }
  return {
    name: next,
    user,
    async client() {
      return (await management.createClient({ client_id: next('client'), scopes: ['orders:read'] })).client_id
    },
    async connection() {
      const settings = { kind: 'google' as const, client_id: 'c', client_secret: 'secret' }
      return (await management.createConnection({ id: next('connection'), ...settings })).id
    },
    async apiKey() {
      return (await management.createApiKey({ owner: await user(), name: 'a key' })).id
    },
    /** A signed-in user and the session. */
    async session() {
      const id = await user()
      const browser = new TestBrowser(running, { 'user-agent': 'Quiet/1.0' })
      await browser.signIn(await browser.get('/account'), id, password)
      const [session] = await management.listSessions(id)
      return { user: id, session: session?.id ?? assert.fail(`${id} is not signed in`) }
    },
    /** A user with a grant of a client. */
    async grant() {
      const id = await user()
      await getTokens(running, { client: 'console', scope: 'openid offline_access', user: [id, password] })
      const { grants } = postgresIdentityStore(running.database)
      const [active] = await grants.listByUser(id, running.clock.now())
      return { user: id, grant: active?.id ?? assert.fail(`${id} has no grant`) }
    },
    manage,
    /** Publishes the DNS record of a domain. */
    publish(record: unknown) {
      const { name, value } = record as { readonly name: string; readonly value: string }
      dnsRecords?.set(name, [value])
    },
    async organization() {
      const id = next('organization')
      await manage('POST', '/admin/v1/organizations', { id })
      return id
    },
    async template() {
      const key = next('template')
      await manage('PUT', `/admin/v1/organization-roles/${key}`, { permissions: [] })
      return key
    },
    /** A user with an account at a provider. */
    async linkedProvider() {
      const id = await user()
      const settings = { kind: 'google' as const, client_id: 'c', client_secret: 'secret' }
      const connectionId = (await management.createConnection({ id: next('connection'), ...settings })).id
      const { linkedAccounts, users } = postgresIdentityStore(running.database)
      const { credentialVersion = '' } = (await users.find(id)) ?? {}
      const upstream = { connectionId, issuer: 'https://provider.example', subject: `subject of ${id}` }
      const link = { ...upstream, email: `${id}@there.example` }
      await linkedAccounts.add({ userId: id, credentialVersion }, link, [], running.clock.now())
      const [added] = await linkedAccounts.listByUser(id)
      return { user: id, connection: connectionId, link: added?.id ?? assert.fail(`${id} has no link`) }
    },
    /** A user with a passkey. */
    async passkey() {
      const id = await user()
      const browser = new TestBrowser({ ...running, identity } as never)
      await browser.signIn(await browser.get('/account'), id, password)
      await registerPasskey(browser, new Authenticator(), { name: 'Phone of Carla' })
      const [passkey] = await passkeyIds(browser)
      return { user: id, passkey: passkey ?? assert.fail(`${id} has no passkey`) }
    },
    async member(role: Role) {
      const id = await user()
      await management.changeRole(id, { role, granted: true })
      return id
    },
  }
}

/** The management routes that the server registered. */
export function managementRoutes({ routes: served }: Pick<Running, 'routes'>): string[] {
  const own = served.filter(({ url, method }) => url.startsWith('/admin/v1/') && !['HEAD', 'OPTIONS'].includes(method))
  return own.map(({ method, url }) => `${method} ${url}`).sort()
}
