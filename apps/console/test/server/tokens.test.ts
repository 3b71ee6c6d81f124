import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { KeyRing, Secret, seal } from '@gatehouse/kit'
import { ownPage, Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

/** Longer than an access token lasts, in milliseconds. */
const expiryMs = 16 * 60_000

describe('the tokens of a session', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform()
  })
  after(() => platform.stop())

  const signedIn = async (name = 'olga') => {
    const person = new Person(platform.url)
    await person.signIn(name, passwordOf(name))
    return person
  }
  const refreshes = (since: number) => platform.requests.slice(since).filter((line) => line === 'POST /token').length

  test('twenty requests at once when the token has expired make one refresh', async () => {
    const person = await signedIn()
    platform.clock.advance(expiryMs)
    const since = platform.requests.length
    const answers = await Promise.all(Array.from({ length: 20 }, () => person.api('/admin/v1/users')))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(refreshes(since), 1)
  })

  test('requests to two processes at once make one refresh', async (t) => {
    const other = await platform.another()
    t.after(() => other.stop())
    const person = await signedIn()
    platform.clock.advance(expiryMs)
    const since = platform.requests.length
    const cookie = `gatehouse-console=${person.cookies.get('gatehouse-console')}`
    const ask = (url: string) => fetch(`${url}/console/api/admin/v1/users`, { headers: { ...ownPage, cookie } })
    const urls = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? platform.url : other.url))
    const answers = await Promise.all(urls.map(ask))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(refreshes(since), 1)
  })

  test('the right to refresh of a process that died is free after a while', async () => {
    const person = await signedIn()
    platform.clock.advance(expiryMs)
    await platform.database.query('UPDATE console.session SET refresh_until = $1', [platform.clock.now() + 6_000])
    const waiting = person.api('/admin/v1/users')
    await new Promise(setImmediate)
    platform.clock.advance(6_001)
    assert.equal((await waiting).status, 200)
  })

  test('a session that ends at the provider ends here, by its back-channel logout', async () => {
    const person = await signedIn('sara')
    for (const { id } of await platform.identity.management.listSessions('sara'))
      await platform.identity.management.endSession('sara', id)
    const stored = `SELECT 1 FROM console.session WHERE user_id = 'sara'`
    const deadline = AbortSignal.timeout(60_000)
    while ((await platform.database.query(stored)).rowCount > 0) {
      deadline.throwIfAborted()
      await new Promise(setImmediate)
    }
    assert.ok(platform.requests.includes('POST /console/backchannel-logout'))
    assert.equal((await person.api('/admin/v1/users')).status, 401)
  })

  for (const expired of [false, true])
    test(`a session whose ${expired ? 'expired' : 'valid'} tokens no key opens any more ends`, async () => {
      const person = await signedIn()
      const replaced = new KeyRing([new Secret('a key that was replaced since then')])
      const sealed = seal('{}', replaced, 'console session')
      await platform.database.query('UPDATE console.session SET tokens_sealed = $1', [sealed])
      if (expired) platform.clock.advance(expiryMs)
      const answer = await person.api('/admin/v1/users')
      assert.deepEqual([answer.status, (await answer.json()).type], [401, 'urn:gatehouse:console:signed-out'])
      assert.equal(await person.isSignedIn(), false)
    })

  test('a refresh token that was used elsewhere ends the session', async () => {
    const person = await signedIn()
    platform.clock.advance(expiryMs)
    await platform.database.query('UPDATE identity.refresh_family SET generation = generation + 5, current_hash = $1', [
      'another',
    ])
    assert.equal((await person.api('/admin/v1/users')).status, 401)
    assert.equal(await person.isSignedIn(), false)
  })

  test('a session whose back-channel logout cannot be delivered ends with its grant', async () => {
    const person = await signedIn('otto')
    await platform.database.query(
      `UPDATE identity.client SET metadata = jsonb_set(metadata, '{backchannelLogoutUri}', '"http://127.0.0.1:9/"')`,
    )
    // Longer than a client is cached.
    platform.clock.advance(60_000)
    const since = platform.requests.length
    for (const { id } of await platform.identity.management.listSessions('otto'))
      await platform.identity.management.endSession('otto', id)
    assert.equal((await person.api('/admin/v1/users')).status, 401)
    assert.equal(await person.isSignedIn(), false)
    assert.ok(!platform.requests.slice(since).includes('POST /console/backchannel-logout'))
  })
})

describe('the back-channel logout', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform()
  })
  after(() => platform.stop())

  const post = (token: string) =>
    fetch(`${platform.url}/console/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    })

  test('a token that the provider did not sign for a logout is refused and ends nothing', async () => {
    const person = new Person(platform.url)
    await person.signIn('olga', passwordOf('olga'))
    const unsigned = (claims: object) =>
      `${[{ alg: 'none', typ: 'logout+jwt' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
    const claims = { iss: platform.url, aud: 'gatehouse-console', sub: 'olga', iat: 1, exp: 9e9, jti: 'x', events: {} }
    for (const token of ['', 'x', 'a.b.c', unsigned(claims)]) assert.equal((await post(token)).status, 400, token)
    assert.equal(await person.isSignedIn(), true)
  })
})
