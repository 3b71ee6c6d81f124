import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { adminScopes } from '../../src/index.ts'
import { type Running, responseOf, setup, type TestResponse } from '../support/setup.ts'

const operator = { client_id: 'operator', client_secret: 'operator-secret-0123', scopes: Object.values(adminScopes) }
const support = { client_id: 'support', client_secret: 'support-secret-01234', scopes: ['read:accounts'] }
const google = { id: 'google', kind: 'google', client_id: 'g', client_secret: 'a-very-secret-value' }
const user = { id: 'alice', password: 'a long and quiet password', email: 'alice@example.com' }

/** What is edited by PATCH: where it is created, and two changes of it, each of which changes something. */
const resources = {
  'a client': ['/admin/v1/clients', { client_id: 'shop', scopes: ['read:users'] }, { plan: 'pro' }, { plan: 'team' }],
  'a user': ['/admin/v1/users', user, { plan: 'pro' }, { plan: 'team' }],
  'a lock': ['/admin/v1/users', { ...user, id: 'bob', email: 'bob@example.com' }, { locked: true }, { locked: true }],
  'a connection': ['/admin/v1/connections', google, { enabled: false }, { label: 'Work' }],
  'the secret of a connection': [
    '/admin/v1/connections',
    { ...google, id: 'other' },
    { client_secret: 'another-secret-value' },
    { client_secret: 'the-third-secret-value' },
  ],
  'an organization': ['/admin/v1/organizations', { id: 'acme' }, { name: 'Acme' }, { name: 'ACME' }],
} as const satisfies Record<string, readonly [path: string, made: object, first: object, second: object]>

class Api {
  readonly #running: Running
  readonly #token: string

  private constructor(running: Running, token: string) {
    this.#running = running
    this.#token = token
  }

  static async of(running: Running, { scopes: _, ...credentials }: typeof operator | typeof support): Promise<Api> {
    const { body } = await running.post('/token', { grant_type: 'client_credentials', ...credentials })
    return new Api(running, String(body.access_token))
  }

  async send(method: 'GET' | 'POST' | 'PATCH', url: string, body?: object, ifMatch?: string): Promise<TestResponse> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    }
    const payload = body === undefined ? {} : { payload: body }
    return responseOf(await this.#running.http.inject({ method, url, headers, ...payload }))
  }
}

const pathOf = (path: string, made: object) => `${path}/${Object.values(made)[0]}`

describe('entity tags', () => {
  let running: Running
  let api: Api
  before(async () => {
    running = await setup({ declared: { clients: [operator, support] } })
    api = await Api.of(running, operator)
  })
  after(() => running.close())

  for (const [name, [path, made, first, second]] of Object.entries(resources)) {
    test(`${name} is changed only as it was read, if the request says so`, async () => {
      assert.equal((await api.send('POST', path, made)).status, 201)
      const one = pathOf(path, made)
      const { etag = '' } = (await api.send('GET', one)).headers
      running.clock.advance(1_000)
      const changed = await api.send('PATCH', one, first, etag)
      assert.equal(changed.status, 200, changed.text)
      assert.notEqual(changed.headers.etag, etag)
      const late = await api.send('PATCH', one, second, etag)
      assert.deepEqual([late.status, late.body.etag], [412, changed.headers.etag], late.text)
      const read = await api.send('GET', one)
      assert.equal(read.headers.etag, changed.headers.etag, 'nothing was changed')
      assert.equal((await api.send('PATCH', one, second)).status, 200)
    })
  }

  test('the entity tag of a user is the same for callers who may not read personal data', async () => {
    const blind = await Api.of(running, support)
    const masked = await blind.send('GET', '/admin/v1/users/alice')
    assert.notEqual(masked.body.email, user.email)
    assert.equal(masked.headers.etag, (await api.send('GET', '/admin/v1/users/alice')).headers.etag)
  })
})

describe('entity tags on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  let api: Api
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    running = await setup({ declared: { clients: [operator] } }, database)
    api = await Api.of(running, operator)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  for (const [name, [path, made, first, second]] of Object.entries(resources)) {
    testWith('postgresql', `of two who change ${name} as they both read it, one wins`, async () => {
      assert.equal((await api.send('POST', path, made)).status, 201)
      const one = pathOf(path, made)
      const { etag = '' } = (await api.send('GET', one)).headers
      running.clock.advance(1_000)
      const both = await Promise.all([first, second].map((patch) => api.send('PATCH', one, patch, etag)))
      assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412])
      const loser = both.find(({ status }) => status === 412)
      assert.equal(loser?.body.etag, (await api.send('GET', one)).headers.etag)
    })
  }
})
