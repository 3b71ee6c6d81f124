import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import type { Http } from '@gatehouse/kit'
import { actions, factsOf, serviceOf } from '../../src/actions/index.ts'
import { ownPage, Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

const received: Record<string, string | string[] | undefined>[] = []
const streams: PassThrough[] = []

/** Routes of a notification service at the same address: one that shows what arrived, one that streams. */
function notifyRoutes(http: Http): void {
  http.get('/v1/dead-letters', async ({ headers }) => {
    received.push(headers)
    return { items: [] }
  })
  http.post('/v1/notify/bulk', { bodyLimit: 8 * 1024 * 1024 }, async ({ body }) => ({
    count: (body as object[]).length,
  }))
  http.get('/v1/event-types', async (_request, reply) => {
    const stream = new PassThrough()
    streams.push(stream)
    stream.write('first')
    return reply.type('text/plain').send(stream)
  })
}

/** What actions need to get as far as the check of the sign-in. */
const bodies: Readonly<Record<string, object>> = {
  createApiKey: { owner: 'olga', name: 'a key' },
  createUser: { id: 'new-user' },
  exportUsers: {},
  rotateApiKey: {},
  rotateSecret: {},
  createClient: { client_id: 'new' },
  updateClient: { client_name: 'New' },
  rotateSigningKey: { alg: 'ES256' },
  putRole: { scopes: ['read:audit'] },
  putTier: { declaration: { rpm: 10 } },
  putPolicy: { declaration: { rpm: 10 } },
  activateLimits: {},
  putOverride: { factor: 2, until: '2090-01-01T00:00:00Z', reason: 'a test' },
}

const parameters: Readonly<Record<string, string>> = { version: '1', kind: 'user' }

describe('the server of the console', () => {
  let platform: Platform
  let olga: Person
  before(async () => {
    platform = await startPlatform(notifyRoutes)
    olga = new Person(platform.url)
    await olga.signIn('olga', passwordOf('olga'))
  })
  after(() => platform.stop())

  test('a service gets the token of the session and the address, no credential of the browser', async () => {
    const headers = {
      authorization: 'Bearer stolen',
      'x-api-key': 'gk_1',
      'x-forwarded-for': '203.0.113.9',
      accept: 'a/b',
    }
    assert.equal((await olga.api('/v1/dead-letters?limit=5', { headers })).status, 200)
    const got = received.at(-1) ?? assert.fail()
    assert.match(String(got.authorization), /^Bearer eyJ/)
    assert.deepEqual(
      [got.cookie, got['x-api-key'], got['x-console'], got.accept],
      [undefined, undefined, undefined, 'a/b'],
    )
    assert.match(String(got['x-forwarded-for']), /^(?:::1|127\.0\.0\.1|::ffff:127\.0\.0\.1)$/)
  })

  const { 'x-console': header, 'sec-fetch-site': site } = ownPage
  const matrix: readonly (readonly [what: string, headers: Record<string, string>, status: number])[] = [
    ['the own page', { ...ownPage }, 200],
    ['the own page with its origin', { ...ownPage, origin: 'OWN' }, 200],
    ['no header', { 'sec-fetch-site': site }, 403],
    ['another value of the header', { ...ownPage, 'x-console': '2' }, 403],
    ['no Sec-Fetch-Site', { 'x-console': header }, 403],
    ['a sibling subdomain', { ...ownPage, 'sec-fetch-site': 'same-site' }, 403],
    ['another site', { ...ownPage, 'sec-fetch-site': 'cross-site' }, 403],
    ['an address that was typed', { ...ownPage, 'sec-fetch-site': 'none' }, 403],
    ['a foreign origin', { ...ownPage, origin: 'https://evil.example' }, 403],
    ['the null origin of a sandbox', { ...ownPage, origin: 'null' }, 403],
  ]
  for (const [what, headers, status] of matrix)
    test(`a call by ${what} is answered ${status}, with a session`, async () => {
      const own = headers.origin === 'OWN' ? { ...headers, origin: platform.url } : headers
      for (const path of ['/session', '/system/status', '/admin/v1/users'])
        assert.equal((await olga.request(`/console/api${path}`, { headers: own })).status, status, path)
    })

  test('each process is asked for its part of the system once, and one that has none is named', async () => {
    const answer = await olga.request('/console/api/system/setup', { headers: ownPage })
    const { items } = (await answer.json()) as { items: { services: string[]; problem?: { status: number } }[] }
    assert.ok(items.length > 0 && items.every(({ services, problem }) => services.length > 0 && problem !== undefined))
    assert.equal((await olga.request('/console/api/system/secrets', { headers: ownPage })).status, 404)
    assert.equal((await olga.request('/console/api/live/nothing', { headers: ownPage })).status, 404)
  })

  test('a form of another site changes nothing, and a preflight is never granted', async () => {
    const form = { method: 'POST', body: new URLSearchParams({ a: '1' }), headers: { 'sec-fetch-site': 'cross-site' } }
    assert.equal((await olga.request('/console/api/sign-out', form)).status, 403)
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const preflight = await olga.request('/console/api/sign-out', { method: 'OPTIONS', headers })
    assert.equal(preflight.headers.get('access-control-allow-origin'), null)
    assert.equal(await olga.isSignedIn(), true, 'the session is still there')
  })

  for (const [method, path] of [
    ['GET', '/admin/v1/connections'],
    ['POST', '/admin/v1/user-imports'],
    ['PUT', '/admin/v1/users/olga/password'],
    ['POST', '/admin/v1/audit-events'],
    ['POST', '/token'],
    ['GET', '/admin/v1/users/..%2fclients'],
    ['GET', '/admin/v1/users/a%2fb'],
    ['GET', '/admin/v1/users/%5c'],
    ['GET', '/admin/v1/users/'],
    ['GET', '//evil.example/admin/v1/users'],
    ['GET', '/ADMIN/v1/users'],
  ] as const)
    test(`what no action declares is not forwarded: ${method} ${path}`, async () => {
      const before = platform.requests.length
      const answer = await olga.api(path, { method, ...(method === 'GET' ? {} : { body: '{}' }) })
      assert.equal(answer.status, 404)
      const forwarded = platform.requests.slice(before).filter((line) => !line.includes('/console/'))
      assert.deepEqual(forwarded, [])
    })

  test('a body of more than a mebibyte is refused', async () => {
    const body = JSON.stringify({ kind: 'x'.repeat(1024 * 1024) })
    const headers = { 'content-type': 'application/json' }
    assert.equal((await olga.api('/admin/v1/users/olga/mail', { method: 'POST', body, headers })).status, 413)
  })

  test('of many events it may be twice as long, for the key of each', async () => {
    const headers = { 'content-type': 'application/json' }
    const send = (bytes: number) =>
      olga.api('/v1/notify/bulk', { method: 'POST', body: JSON.stringify(['x'.repeat(bytes)]), headers })
    assert.deepEqual(await (await send(1.9 * 1024 * 1024)).json(), { count: 1 })
    assert.equal((await send(2 * 1024 * 1024)).status, 413)
  })

  test('without a session nothing is forwarded', async () => {
    const nobody = new Person(platform.url)
    for (const path of ['/system/status', '/views', '/admin/v1/users', '/v1/dead-letters']) {
      const answer = await nobody.api(path)
      assert.equal(answer.status, 401, path)
      assert.equal(((await answer.json()) as { type: string }).type, 'urn:gatehouse:console:signed-out')
    }
  })

  test('every dangerous action requires a recent sign-in, no other does, and the session goes on', async () => {
    const person = new Person(platform.url)
    await person.signIn('olga', passwordOf('olga'))
    platform.clock.advance(11 * 60_000)
    for (const [id, { operation, dangerous }] of Object.entries(actions)) {
      const { method, path } = factsOf(operation)
      const service = serviceOf(operation)
      if (service !== 'identity') continue
      const address = path.replace(/\{(\w+)\}/g, (_, name) => parameters[name] ?? 'gatehouse-auditor')
      const body = id in bodies ? JSON.stringify(bodies[id]) : null
      const headers: Record<string, string> = body === null ? {} : { 'content-type': 'application/json' }
      const answer = await person.api(address, { method, body, headers })
      const { type, max_age } = (await answer.json().catch(() => ({}))) as { type?: string; max_age?: number }
      const isRefused = answer.status === 401 && type === 'urn:gatehouse:console:sign-in-again' && max_age === 600
      assert.equal(isRefused, dangerous, `${id}: ${answer.status}`)
    }
    assert.equal(await person.isSignedIn(), true)
  })

  test('a dangerous action after a change of roles asks for a sign-in, and the session goes on', async () => {
    const [owner, person] = [new Person(platform.url), new Person(platform.url)]
    await owner.signIn('olga', passwordOf('olga'))
    const member = '/admin/v1/roles/gatehouse-auditor/members/otto'
    assert.equal((await owner.api(member, { method: 'PUT' })).status, 204)
    await person.signIn('otto', passwordOf('otto'))
    assert.equal((await owner.api(member, { method: 'DELETE' })).status, 204)
    platform.clock.advance(11 * 60_000)
    const answer = await person.api(member, { method: 'PUT' })
    assert.deepEqual(
      [answer.status, ((await answer.json()) as { type: string }).type],
      [401, 'urn:gatehouse:console:sign-in-again'],
    )
    assert.equal(await person.isSignedIn(), true)
    await person.api('/sign-out', { method: 'POST' })
  })

  test('an answer that is being streamed ends with the session', async () => {
    const person = new Person(platform.url)
    await person.signIn('otto', passwordOf('otto'))
    const answer = await person.api('/v1/event-types')
    const reader = (answer.body ?? assert.fail()).getReader()
    assert.equal(new TextDecoder().decode((await reader.read()).value), 'first')
    const source = streams.at(-1) ?? assert.fail()
    const ended = Promise.all([
      once(source, 'close'),
      reader.read().then(
        ({ done }) => done,
        () => true,
      ),
    ])
    await person.api('/sign-out', { method: 'POST' })
    assert.equal((await ended)[1], true)
  })

  test('a locked user is signed out at once, by the logout of the provider', async () => {
    const person = new Person(platform.url)
    await person.signIn('sara', passwordOf('sara'))
    assert.equal(await person.isSignedIn(), true)
    const lock = { method: 'PATCH', body: '{"locked":true}', headers: { 'content-type': 'application/json' } }
    assert.equal((await olga.api('/admin/v1/users/sara', lock)).status, 200)
    assert.equal(await person.isSignedIn(), false)
  })

  test('a user who loses the last management role is signed out', async () => {
    const person = new Person(platform.url)
    await person.signIn('otto', passwordOf('otto'))
    await platform.database.query(`UPDATE identity.account SET roles = '{}' WHERE id = 'otto'`)
    assert.equal(await person.isSignedIn(), false)
    const { rowCount } = await platform.database.query(`SELECT 1 FROM console.session WHERE user_id = 'otto'`)
    assert.equal(rowCount, 0)
  })
})
