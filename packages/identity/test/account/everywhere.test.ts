import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import { groupSessions } from '../../src/pages/account/sessions.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { createPerson } from '../support/factors/factors.ts'
import { clients, getTokens, TestBrowser, users, webSecret } from '../support/journey.ts'
import { takeMails, waitingMails } from '../support/notices.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const options = { declared: { clients, users }, background: false, notify: async () => {} }

let running: Running
before(async () => {
  running = await setup(options)
})
after(() => running.close())

async function signedIn(at: Running = running): Promise<TestBrowser> {
  const browser = new TestBrowser(at)
  await browser.signIn(await browser.get('/account'))
  return browser
}

const isSignedIn = async (browser: TestBrowser) => /Your account/.test((await browser.get('/account')).text)

async function signOut(browser: TestBrowser, scope: string) {
  const page = await browser.get('/account')
  const form = /<form method="post" action="\/account\/sign-out">.*?<\/form>/s.exec(page.text)?.[0] ?? ''
  const form_token = /name="form_token" value="([^"]+)"/.exec(form)?.[1] ?? assert.fail(form)
  return browser.post('/account/sign-out', { form_token, scope })
}

test('signing out everywhere else ends other sessions, apps and mailed links, and says so', async () => {
  const [here, there] = [await signedIn(), await signedIn()]
  const { refresh_token = '' } = await getTokens(running, { browser: there })
  await takeMails(running.database)
  assert.equal((await signOut(here, 'others')).headers.location, '/account')
  assert.deepEqual([await isSignedIn(here), await isSignedIn(there)], [true, false])
  const refreshed = await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })
  assert.equal(refreshed.body.error, 'invalid_grant')
  assert.deepEqual(
    (await takeMails(running.database)).map(({ event }) => event),
    ['signed_out_everywhere'],
  )
  here.cookies.delete('gatehouse_session')
  await here.signIn(await here.get('/account'))
  assert.deepEqual(await waitingMails(running.database), [], 'this browser is still known')
  await there.signIn(await there.get('/account'))
  assert.deepEqual(
    (await takeMails(running.database)).map(({ event }) => event),
    ['new_device'],
    'others are not',
  )
})

const keepingThisBrowser = {
  'signing out everywhere else': (browser) => signOut(browser, 'others'),
  'a change of the password': async (browser, old_password) =>
    browser.submit(await browser.get('/account/password'), { old_password, new_password: 'four candles please' }),
} as const satisfies Record<string, (browser: TestBrowser, password: string) => Promise<TestResponse>>

for (const [what, act] of Object.entries(keepingThisBrowser))
  test(`${what} ends what a copy of this browser’s cookie opened`, async () => {
    const [id, password] = await createPerson(running)
    const [here, copy] = [new TestBrowser(running), new TestBrowser(running)]
    await here.signIn(await here.get('/account'), id, password)
    for (const [name, value] of here.cookies) copy.cookies.set(name, value)
    assert.ok(await isSignedIn(copy))
    await act(here, password)
    assert.deepEqual([await isSignedIn(here), await isSignedIn(copy)], [true, false])
  })

test('signing out everywhere else makes no device known that was not', async () => {
  const here = await signedIn()
  here.cookies.delete('gatehouse_device')
  assert.equal((await signOut(here, 'others')).headers.location, '/account')
  assert.equal(here.cookies.has('gatehouse_device'), false, 'each would have guesses at the second factor of its own')
})

test('signing out everywhere ends the session of this browser too', async () => {
  const [here, there] = [await signedIn(), await signedIn()]
  await signOut(here, 'all')
  assert.equal(here.cookies.has('gatehouse_session'), false)
  assert.deepEqual([await isSignedIn(here), await isSignedIn(there)], [false, false])
})

test('a form of another browser signs nobody out', async () => {
  const [here, there] = [await signedIn(), await signedIn()]
  const page = await there.get('/account')
  const form_token = /action="\/account\/sign-out">\s*<input[^>]*value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  assert.equal((await here.post('/account/sign-out', { form_token, scope: 'all' })).status, 403)
  assert.ok(await isSignedIn(here))
})

test('sessions are grouped by device, this browser first', () => {
  const session = (id: string, userAgent: string, seenAt: number, current = false) => ({
    id,
    userAgent,
    seenAt,
    current,
    address: '',
  })
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const older = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
  const groups = groupSessions([
    session('phone', 'Mozilla/5.0 (iPhone) Safari/1', 9),
    session('a', firefox, 3),
    session('b', older, 5),
    session('here', firefox, 1, true),
  ])
  assert.deepEqual(
    groups.map(({ name, sessions }) => [name, ...sessions.map(({ id }) => id)]),
    [
      ['Firefox · Linux', 'here', 'b', 'a'],
      ['Safari · iPhone', 'phone'],
    ],
  )
})

test('a group of sessions names each, and each can be ended', async () => {
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
  const browsers = [new TestBrowser(running, headers), new TestBrowser(running, headers)]
  for (const browser of browsers) await browser.signIn(await browser.get('/account'), 'bob', 'battery staple')
  const [here = assert.fail(), there = assert.fail()] = browsers
  const page = await here.get('/account')
  assert.match(page.text, /<strong>Firefox · Linux<\/strong>.*<summary class="soft">2 sessions/s)
  const ids = [...page.text.matchAll(/name="session_id" value="([^"]+)"/g)].map(([, id = '']) => id)
  const form_token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  await here.post('/account/end', { form_token, session_id: ids[1] ?? '' })
  assert.deepEqual([await isSignedIn(here), await isSignedIn(there)], [true, false])
})

test('a session that is ended on the page is dead at once, and its clients are notified', async () => {
  const [here, there] = [await signedIn(), await signedIn()]
  await getTokens(running, { browser: there, scope: 'openid' })
  const { rows } = await running.database.query<{ id: string }>('SELECT session_id AS id FROM identity.session_client')
  const [session_id = ''] = rows.map(({ id }) => id)
  const logouts = async () =>
    (await running.database.query("SELECT 1 FROM identity.outbox WHERE kind = 'logout'")).rowCount
  const sent = await logouts()
  const end = async (browser: TestBrowser) => {
    const page = await browser.get('/account')
    const form_token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    return browser.post('/account/end', { form_token, session_id })
  }
  const stranger = new TestBrowser(running)
  await stranger.signIn(await stranger.get('/account'), 'bob', 'battery staple')
  await end(stranger)
  assert.ok(await isSignedIn(there), 'another user ends nothing')
  assert.equal(await logouts(), sent)
  await end(here)
  assert.equal(await isSignedIn(there), false)
  assert.equal(await logouts(), sent + 1)
})

testWith('postgresql', 'a sign-in during the end of all sessions does not survive it', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 20)
  const racing = await setup(options, database)
  try {
    const { accounts, sessions, users: read } = postgresIdentityStore(database)
    const now = racing.clock.now()
    const end = { now, expiresAt: now + 3_600_000, createLogoutMessages: () => [], endsGrantsOf: [] }
    for (let round = 0; round < 20; round++) {
      const { credentialVersion } = (await read.find('alice')) ?? assert.fail('no alice')
      const start = () => {
        const times = { authTime: now, createdAt: now, seenAt: now, expiresAt: now + 60_000 }
        const session = {
          id: randomUUID(),
          userId: 'alice',
          amr: ['pwd'],
          remembered: false,
          userAgent: '',
          address: '',
          ...times,
        }
        return sessions.start(session, randomUUID(), credentialVersion)
      }
      const everywhere = { userId: 'alice', keepSession: undefined, messages: [] }
      await Promise.all([start(), start(), accounts.signOutEverywhere(everywhere, end), start(), start()])
      assert.equal((await database.query('SELECT 1 FROM identity.session')).rowCount, 0)
    }
  } finally {
    await racing.close()
    await database.close()
    await server.stop()
  }
})
