import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { adminScopes } from '../../src/index.ts'
import { type Running, responseOf, setup } from '../support/setup.ts'

const operator = { client_id: 'operator', client_secret: 'operator-secret-0123', scopes: Object.values(adminScopes) }
const secondMs = 1_000

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
}

class Api {
  readonly running: Running

  constructor(running: Running) {
    this.running = running
  }

  async send(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, ifMatch?: string): Promise<Answer> {
    const { scopes: _, ...credentials } = operator
    const { body: tokens } = await this.running.post('/token', { grant_type: 'client_credentials', ...credentials })
    const headers = {
      authorization: `Bearer ${tokens.access_token}`,
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    }
    const payload = body === undefined ? {} : { payload: body }
    const url = `/admin/v1/${path}`
    return responseOf(await this.running.http.inject({ method, url, headers, ...payload }))
  }

  /** Whether the client gets a token with each of the secrets. */
  async accepts(id: string, ...secrets: string[]): Promise<boolean[]> {
    const requests = secrets.map((client_secret) =>
      this.running.post('/token', { grant_type: 'client_credentials', client_id: id, client_secret }),
    )
    return (await Promise.all(requests)).map(({ status }) => status === 200)
  }

  /** Whether each of the keys has an owner. */
  async knows(...keys: string[]): Promise<boolean[]> {
    const found = await Promise.all(keys.map((key) => this.running.identity.resolveApiKey(key)))
    return found.map((owner) => owner !== undefined)
  }

  async newClient(id: string): Promise<string> {
    return String((await this.send('POST', 'clients', { client_id: id, scopes: ['orders:read'] })).body.client_secret)
  }

  newKey(name: string, members: object = {}): Promise<Answer> {
    return this.send('POST', 'api-keys', { owner: 'alice', name, ...members })
  }
}

describe('secrets and keys that overlap', () => {
  let running: Running
  let api: Api
  before(async () => {
    running = await setup({ declared: { clients: [operator], users: [{ id: 'alice', password: 'correct horse' }] } })
    api = new Api(running)
  })
  after(() => running.close())

  test('a client has two secrets for the overlap, and one afterwards', async () => {
    const first = await api.newClient('two')
    const renewed = await api.send('POST', 'clients/two/secret', { overlap_seconds: 3_600 })
    const second = String(renewed.body.client_secret)
    const until = new Date(running.clock.now() + 3_600 * secondMs).toISOString()
    assert.equal(renewed.body.previous_secret_expires_at, until)
    assert.equal((await api.send('GET', 'clients/two')).body.previous_secret_expires_at, until)
    assert.deepEqual(await api.accepts('two', first, second), [true, true])
    running.clock.advance(3_600 * secondMs)
    assert.deepEqual(await api.accepts('two', first, second), [false, true])
    assert.equal((await api.send('GET', 'clients/two')).body.previous_secret_expires_at, undefined)
  })

  test('a client never has more than two secrets, and without an overlap one', async () => {
    const first = await api.newClient('three')
    const renew = async (overlap: object) =>
      String((await api.send('POST', 'clients/three/secret', overlap)).body.client_secret)
    const second = await renew({ overlap_seconds: 3_600 })
    const third = await renew({ overlap_seconds: 3_600 })
    assert.deepEqual(await api.accepts('three', first, second, third), [false, true, true])
    const fourth = await renew({})
    assert.deepEqual(await api.accepts('three', second, third, fourth), [false, false, true])
  })

  test('a change of a client keeps its two secrets', async () => {
    const first = await api.newClient('kept')
    const { body } = await api.send('POST', 'clients/kept/secret', { overlap_seconds: 3_600 })
    await running.identity.management.updateClient('kept', { client_name: 'Kept' })
    assert.deepEqual(await api.accepts('kept', first, String(body.client_secret)), [true, true])
  })

  test('an overlap is a week at most', async () => {
    await api.newClient('long')
    for (const overlap of [-1, 604_801, 1.5, '60'])
      assert.equal((await api.send('POST', 'clients/long/secret', { overlap_seconds: overlap })).status, 400)
    assert.equal((await api.send('POST', 'clients/long/secret', { overlap_seconds: 604_800 })).status, 200)
  })

  test('a rotated API key keeps its id and works beside the new one for the overlap', async () => {
    const made = await api.newKey('rotated')
    const { id, key: first } = made.body as { id: string; key: string }
    const rotated = await api.send('POST', `api-keys/${id}/rotate`, { overlap_seconds: 60 })
    assert.equal(rotated.status, 200, rotated.text)
    const { key: second, prefix, previous_key_expires_at } = rotated.body as Record<string, string>
    assert.equal(rotated.body.id, id)
    assert.equal(prefix, second?.slice(0, 9))
    assert.equal(previous_key_expires_at, new Date(running.clock.now() + 60 * secondMs).toISOString())
    assert.deepEqual(await api.knows(first, second ?? ''), [true, true])
    running.clock.advance(60 * secondMs)
    assert.deepEqual(await api.knows(first, second ?? ''), [false, true])
  })

  test('an API key is rotated and deleted only as it was read, if the request says so', async () => {
    const { id } = (await api.newKey('tagged')).body
    const { etag } = (await api.send('GET', `api-keys/${id}`)).headers
    const listed = (await api.send('GET', 'api-keys?limit=200')).body as { items: { id: string; etag: string }[] }
    assert.equal(listed.items.find((key) => key.id === id)?.etag, etag)
    const rotated = await api.send('POST', `api-keys/${id}/rotate`, {}, etag)
    assert.equal(rotated.status, 200, rotated.text)
    for (const late of [
      await api.send('POST', `api-keys/${id}/rotate`, {}, etag),
      await api.send('DELETE', `api-keys/${id}`, undefined, etag),
    ])
      assert.equal(late.status, 412, late.text)
    const { etag: now } = (await api.send('GET', `api-keys/${id}`)).headers
    assert.equal((await api.send('DELETE', `api-keys/${id}`, undefined, now)).status, 204)
    assert.equal((await api.send('GET', `api-keys/${id}`)).status, 404)
  })

  test('a key that has expired is not rotated', async () => {
    const expires_at = new Date(running.clock.now() + 60 * secondMs).toISOString()
    const { id } = (await api.newKey('short', { expires_at })).body
    running.clock.advance(60 * secondMs)
    const refused = await api.send('POST', `api-keys/${id}/rotate`, {})
    assert.equal(refused.status, 422)
    assert.match(refused.text, /expired at/)
  })
})

describe('secrets and keys that overlap, on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  let api: Api
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    const declared = { clients: [operator], users: [{ id: 'alice', password: 'correct horse' }] }
    running = await setup({ declared }, database)
    api = new Api(running)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  testWith('postgresql', 'of two who renew a secret at once one wins, and the old secret stays valid', async () => {
    for (let round = 0; round < 5; round++) {
      const id = `raced-${round}`
      const first = await api.newClient(id)
      const renew = () => api.send('POST', `clients/${id}/secret`, { overlap_seconds: 3_600 })
      const answers = await Promise.all([renew(), renew()])
      const secrets = answers.flatMap(({ body }) =>
        body.client_secret === undefined ? [] : [String(body.client_secret)],
      )
      const valid = await api.accepts(id, ...secrets)
      assert.ok(valid.every(Boolean), 'whoever got a secret can use it')
      if (answers.some(({ status }) => status === 409)) assert.deepEqual(await api.accepts(id, first), [true])
      else assert.deepEqual(await api.accepts(id, first), [false], 'they came one after the other')
    }
  })

  testWith('postgresql', 'of two who rotate an API key as they both read it, one wins', async () => {
    const { id, key: first } = (await api.newKey('raced')).body as { id: string; key: string }
    const { etag } = (await api.send('GET', `api-keys/${id}`)).headers
    const rotate = () => api.send('POST', `api-keys/${id}/rotate`, { overlap_seconds: 60 }, etag)
    const answers = await Promise.all([rotate(), rotate()])
    const [lost, won] = answers.toSorted((a, b) => b.status - a.status)
    assert.equal(won?.status, 200)
    assert.ok([409, 412].includes(lost?.status ?? 0), lost?.text ?? 'no answer')
    assert.deepEqual(await api.knows(first, String(won?.body.key)), [true, true])
  })
})
