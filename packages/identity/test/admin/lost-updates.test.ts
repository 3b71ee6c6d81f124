import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { adminScopes } from '../../src/index.ts'
import { type Running, responseOf, setup, type TestResponse } from '../support/setup.ts'

const scopes = [...Object.values(adminScopes), 'admin:privacy', 'admin:notifications']
const operator = { client_id: 'operator', client_secret: 'operator-secret-0123', scopes }
const user = { password: 'a long and quiet password' }

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
/** A request: method, path and body. */
type Call = readonly [method: Method, path: string, body?: object]
/** What is changed: how it is made, where its entity tag is read, and two changes that exclude each other. */
interface Resource {
  readonly made: readonly Call[]
  readonly read: string
  readonly first: Call
  readonly second: Call
}

const client = (id: string): Call => [
  'POST',
  '/admin/v1/clients',
  { client_id: id, grant_types: ['client_credentials'] },
]
const person = (id: string): Call => ['POST', '/admin/v1/users', { ...user, id }]
const organization = (id: string): Call => ['POST', '/admin/v1/organizations', { id }]
const acme = '/admin/v1/organizations'
const roles = '/admin/v1/roles'

const resources: Readonly<Record<string, Resource>> = {
  'the scopes of a management role': {
    made: [],
    read: `${roles}/gatehouse-support`,
    first: ['PUT', `${roles}/gatehouse-support`, { scopes: ['read:accounts'] }],
    second: ['PUT', `${roles}/gatehouse-support`, { scopes: ['read:clients'] }],
  },
  'the members of a management role': {
    made: [person('ada')],
    read: '/admin/v1/users/ada',
    first: ['PUT', `${roles}/gatehouse-auditor/members/ada`],
    second: ['PUT', `${roles}/gatehouse-operator/members/ada`],
  },
  'a revocation of a management role': {
    made: [person('eve'), ['PUT', `${roles}/gatehouse-auditor/members/eve`]],
    read: `${roles}/gatehouse-auditor/members/eve`,
    first: ['PUT', `${roles}/gatehouse-support/members/eve`],
    second: ['DELETE', `${roles}/gatehouse-auditor/members/eve`],
  },
  'the secret of a client': {
    made: [client('shop')],
    read: '/admin/v1/clients/shop',
    first: ['POST', '/admin/v1/clients/shop/secret', {}],
    second: ['POST', '/admin/v1/clients/shop/secret', { overlap_seconds: 60 }],
  },
  'a client that is deleted': {
    made: [client('old')],
    read: '/admin/v1/clients/old',
    first: ['PATCH', '/admin/v1/clients/old', { plan: 'pro' }],
    second: ['DELETE', '/admin/v1/clients/old'],
  },
  'an organization that is deleted': {
    made: [organization('gone')],
    read: `${acme}/gone`,
    first: ['PATCH', `${acme}/gone`, { name: 'Stays' }],
    second: ['DELETE', `${acme}/gone`],
  },
  'a member of an organization': {
    made: [
      organization('acme'),
      person('bob'),
      ['PUT', `${acme}/acme/roles/clerk`, { permissions: ['read:invoices'] }],
      ['PUT', `${acme}/acme/members/bob`, { roles: [] }],
    ],
    read: `${acme}/acme/members/bob`,
    first: ['PUT', `${acme}/acme/members/bob`, { roles: ['clerk'] }],
    second: ['DELETE', `${acme}/acme/members/bob`],
  },
  'a role of an organization': {
    made: [organization('beta'), ['PUT', `${acme}/beta/roles/editor`, { permissions: ['read:invoices'] }]],
    read: `${acme}/beta/roles/editor`,
    first: ['PUT', `${acme}/beta/roles/editor`, { permissions: ['write:invoices'] }],
    second: ['PUT', `${acme}/beta/roles/editor`, { permissions: [] }],
  },
  'a role of an organization that is deleted': {
    made: [organization('mono'), ['PUT', `${acme}/mono/roles/clerk`, { permissions: ['read:invoices'] }]],
    read: `${acme}/mono/roles/clerk`,
    first: ['PUT', `${acme}/mono/roles/clerk`, { permissions: ['write:invoices'] }],
    second: ['DELETE', `${acme}/mono/roles/clerk`],
  },
  'a template of roles': {
    made: [['PUT', '/admin/v1/organization-roles/guest', { permissions: ['read:invoices'] }]],
    read: '/admin/v1/organization-roles/guest',
    first: ['PUT', '/admin/v1/organization-roles/guest', { permissions: ['write:invoices'] }],
    second: ['PUT', '/admin/v1/organization-roles/guest', { name: 'Visitor', permissions: [] }],
  },
}

class Api {
  readonly #running: Running
  readonly #token: string

  private constructor(running: Running, token: string) {
    this.#running = running
    this.#token = token
  }

  static async of(running: Running): Promise<Api> {
    const { scopes: _, ...credentials } = operator
    const { body } = await running.post('/token', { grant_type: 'client_credentials', ...credentials })
    return new Api(running, String(body.access_token))
  }

  async send([method, url, body]: Call, ifMatch?: string): Promise<TestResponse> {
    const authorization = `Bearer ${this.#token}`
    const headers = ifMatch === undefined ? { authorization } : { authorization, 'if-match': ifMatch }
    const payload = body === undefined ? {} : { payload: body }
    return responseOf(await this.#running.http.inject({ method, url, headers, ...payload }))
  }

  /** Makes a resource and reads its entity tag. */
  async prepare({ made, read }: Resource): Promise<string> {
    for (const call of made) {
      const { status, text } = await this.send(call)
      assert.ok(status < 300, text)
    }
    const { status, text, headers } = await this.send(['GET', read])
    assert.equal(status, 200, text)
    this.#running.clock.advance(1_000)
    return headers.etag ?? assert.fail('there is no entity tag')
  }

  /** The key that was made, to rotate and to delete it. */
  async makeKey(): Promise<Resource> {
    const made = await this.send(['POST', '/admin/v1/api-keys', { owner: 'holder', name: 'a key' }])
    assert.equal(made.status, 201, made.text)
    const path = `/admin/v1/api-keys/${made.body.id}`
    return { made: [], read: path, first: ['POST', `${path}/rotate`, {}], second: ['DELETE', path] }
  }
}

describe('changes of what was read', () => {
  let running: Running
  let api: Api
  before(async () => {
    running = await setup({ declared: { clients: [operator] } })
    api = await Api.of(running)
    await api.send(person('holder'))
  })
  after(() => running.close())

  const check = async (resource: Resource) => {
    const etag = await api.prepare(resource)
    const changed = await api.send(resource.first, etag)
    assert.ok(changed.status < 300, changed.text)
    const late = await api.send(resource.second, etag)
    assert.equal(late.status, 412, late.text)
    assert.equal(late.body.etag, (await api.send(['GET', resource.read])).headers.etag)
    assert.equal((await api.send(resource.second, '*')).status < 300, true)
  }
  for (const [name, resource] of Object.entries(resources))
    test(`${name}: a stale change is refused`, () => check(resource))
  test('an API key: a stale change is refused', async () => check(await api.makeKey()))

  test('a member that there is not yet is added without a condition only', async () => {
    await api.send(organization('new'))
    await api.send(person('nina'))
    const add: Call = ['PUT', `${acme}/new/members/nina`, { roles: [] }]
    assert.equal((await api.send(add, '*')).status, 412)
    assert.equal((await api.send(add)).status, 204)
  })
})

describe('changes of what was read, on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  let api: Api
  before(async () => {
    server = await startPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    running = await setup({ declared: { clients: [operator] } }, database)
    api = await Api.of(running)
    await api.send(person('holder'))
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  const race = async (resource: Resource) => {
    const etag = await api.prepare(resource)
    const both = await Promise.all([resource.first, resource.second].map((call) => api.send(call, etag)))
    const won = both.filter(({ status }) => status < 300)
    const lost = both.filter(({ status }) => status === 412 || status === 404)
    assert.deepEqual([won.length, lost.length], [1, 1], both.map(({ text }) => text).join('\n'))
  }
  for (const [name, resource] of Object.entries(resources))
    testWith('postgresql', `${name}: of two who change it as both read it, one wins`, () => race(resource))
  testWith('postgresql', 'an API key: of two who change it as both read it, one wins', async () => {
    for (let round = 0; round < 5; round++) await race(await api.makeKey())
  })
})
