import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ownPage, Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

describe('signing in to the console', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform()
  })
  after(() => platform.stop())

  const signedIn = async (name: string, query = '') => {
    const person = new Person(platform.url)
    const answer = await person.signIn(name, passwordOf(name), query)
    return { person, answer }
  }
  const sessions = async (user: string) =>
    (await platform.database.query('SELECT 1 FROM console.session WHERE user_id = $1', [user])).rowCount

  test('an owner signs in; tokens reach neither cookies, pages nor addresses', async () => {
    const { person, answer } = await signedIn('olga', '?return_to=/console/users?x=1')
    assert.equal(answer.status, 200)
    const page = await answer.text()
    assert.match(page, /content="0;url=\/console\/users\?x=1"/)
    const session = (await (await person.api('/session')).json()) as { user: string; services: string[] }
    assert.deepEqual([session.user, session.services], ['olga', ['identity', 'notify']])
    assert.doesNotMatch([page, ...person.setCookies, JSON.stringify(session)].join('\n'), /eyJ[\w-]{10,}\./)
    const [line] = person.setCookies.filter((each) => each.startsWith('gatehouse-console='))
    assert.match(line ?? '', /^gatehouse-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    const began = person.setCookies.find((each) => each.startsWith('gatehouse-console-sign-in=')) ?? ''
    assert.match(began, /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/)
    assert.ok(platform.requests.includes('POST /par'))
    const { rows } = await platform.database.query<{ row: string }>('SELECT s::text AS row FROM console.session s')
    const id = person.cookies.get('gatehouse-console') ?? ''
    for (const { row } of rows) assert.ok(!row.includes(id) && !row.includes('eyJ'), 'the row holds no id and no token')
  })

  test('a session id that the browser brought is never taken over', async () => {
    const person = new Person(platform.url)
    const planted = 'A'.repeat(43)
    person.cookies.set('gatehouse-console', planted)
    await person.signIn('olga', passwordOf('olga'))
    const first = person.cookies.get('gatehouse-console')
    assert.notEqual(first, planted)
    assert.equal(await person.isSignedIn(), true)
    const again = await person.signIn('olga', passwordOf('olga'), '?max_age=0')
    assert.equal(again.status, 200)
    assert.notEqual(person.cookies.get('gatehouse-console'), first, 'a sign-in again gives a new id')
    const stale = new Person(platform.url)
    stale.cookies.set('gatehouse-console', first ?? '')
    assert.equal(await stale.isSignedIn(), false, 'the old id is worth nothing')
  })

  test('the age of a sign-in is measured by the clock of the console, not that of the machine', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: platform.clock.now() + 300_000 })
    const { answer } = await signedIn('olga', '?max_age=0')
    assert.equal(answer.status, 200)
  })

  test('a callback works in the browser that began it, once, and within ten minutes', async () => {
    const [person, thief] = [new Person(platform.url), new Person(platform.url)]
    const callback = await person.callbackOf('olga', passwordOf('olga'))
    const stolen = await thief.request(callback)
    assert.match(stolen.headers.get('location') ?? '', /signed-out\?fault=expired$/)
    const forged = await person.request(callback.replace(/state=[^&]+/, 'state=forged'))
    assert.match(forged.headers.get('location') ?? '', /signed-out\?fault=denied$/)
    assert.equal(person.cookies.get('gatehouse-console'), undefined)
    const late = new Person(platform.url)
    const address = await late.callbackOf('olga', passwordOf('olga'))
    platform.clock.advance(601_000)
    assert.match((await late.request(address)).headers.get('location') ?? '', /fault=expired$/)
  })

  test('a user without a management role gets no session', async () => {
    const { person, answer } = await signedIn('paul')
    assert.match(answer.headers.get('location') ?? '', /signed-out\?fault=no-role$/)
    assert.equal(person.cookies.get('gatehouse-console'), undefined)
    assert.equal(await sessions('paul'), 0)
  })

  for (const target of [
    'https://evil.example/console/',
    '//evil.example/console/',
    '/console/../login',
    '/console/%2e%2e/login',
    '/\\evil.example/console/',
    '/console\\@evil.example',
    '/consoles',
    '/console/api/session',
    'javascript:alert(1)',
  ])
    test(`after the sign-in the browser stays in the console: ${target}`, async () => {
      const { answer } = await signedIn('olga', `?return_to=${encodeURIComponent(target)}`)
      assert.match(await answer.text(), /content="0;url=\/console\/"/)
    })

  test('signing out ends session and grant, and leads to the provider without a token', async () => {
    const { person } = await signedIn('sara')
    const id = person.cookies.get('gatehouse-console') ?? ''
    const answer = await person.api('/sign-out', { method: 'POST' })
    const { location } = (await answer.json()) as { location: string }
    assert.match(location, /\/end_session\?client_id=gatehouse-console&post_logout_redirect_uri=/)
    assert.equal(person.cookies.get('gatehouse-console'), undefined)
    const stale = new Person(platform.url)
    stale.cookies.set('gatehouse-console', id)
    assert.equal(await stale.isSignedIn(), false)
    const { rows } = await platform.database.query(
      'SELECT 1 FROM identity.grant_record WHERE revoked_at IS NULL AND user_id = $1',
      ['sara'],
    )
    assert.equal(rows.length, 0, 'the grant is revoked')
  })

  test('a session whose tokens no key opens any more is signed out of, and its cookie is removed', async () => {
    const { person } = await signedIn('sara')
    await platform.database.query(`UPDATE console.session SET tokens_sealed = 'x' WHERE user_id = 'sara'`)
    const answer = await person.api('/sign-out', { method: 'POST' })
    assert.equal(answer.status, 200)
    assert.equal(person.cookies.get('gatehouse-console'), undefined)
    assert.equal(await sessions('sara'), 0)
  })

  test('a session ends after thirty minutes without use, and after twelve hours with it', async () => {
    const { person } = await signedIn('olga')
    platform.clock.advance(29 * 60_000)
    assert.equal(await person.isSignedIn(), true)
    platform.clock.advance(29 * 60_000)
    assert.equal(await person.isSignedIn(), true)
    platform.clock.advance(31 * 60_000)
    assert.equal(await person.isSignedIn(), false)
  })

  test('what a page reads by itself is no use: after thirty minutes of that a session ends', async () => {
    const { person } = await signedIn('olga')
    const headers = { ...ownPage, 'x-console-unattended': '1' }
    platform.clock.advance(20 * 60_000)
    for (const path of ['/session', '/system/status', '/views?screen=/users', '/admin/v1/users'])
      assert.equal((await person.api(path, { headers })).status, 200, path)
    // A stream is opened again by itself, whoever is there.
    const live = await person.request('/console/live?topic=providers', { headers: ownPage })
    assert.equal(live.status, 200)
    await live.body?.cancel()
    platform.clock.advance(11 * 60_000)
    assert.equal(await person.isSignedIn(), false)
  })

  test('a user has twenty sessions at most; the oldest ends', async () => {
    const first = (await signedIn('otto')).person
    for (let n = 0; n < 20; n++) {
      platform.clock.advance(1_000)
      await signedIn('otto')
    }
    assert.equal(await sessions('otto'), 20)
    assert.equal(await first.isSignedIn(), false)
  })
})
