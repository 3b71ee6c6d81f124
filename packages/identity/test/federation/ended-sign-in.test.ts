import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import type { Database, Query } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { Authenticator } from '../support/factors/authenticator.ts'
import { asksForFactor, isSignedIn, shownCodes, TestApp } from '../support/factors/factors.ts'
import { passkeyFields, registerPasskey, requestOptions, signInByPasskey } from '../support/factors/passkeys.ts'
import { authorizeUrl, hiddenFields, pkce, TestBrowser } from '../support/journey.ts'
import {
  addMember,
  assertRefused,
  callbackOf,
  comeBack,
  connectionTo,
  proveDomain,
  requireSecondFactor,
  setupWith,
  signInAt,
  signInWithOrganization,
  upstreamClient,
} from '../support/providers.ts'
import type { Running, TestResponse } from '../support/setup.ts'

/*
 * A logout at the provider, while the sign-in that began there waits for its second factor.
 */

const domain = 'acme.example'
let provider: OidcFake
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
})
after(() => provider.stop())

/** Identity with an organization that requires its provider and two factors. */
async function setupAcme(database?: Database): Promise<Running> {
  const connection = connectionTo(provider, { organization: 'acme', required: true })
  const declared = { organizations: [{ id: 'acme' }] }
  const running = await setupWith(
    [connection],
    { features: { loopbackCalls: true, passkeys: true }, declared },
    database,
  )
  await proveDomain(running, 'acme', domain)
  await requireSecondFactor(running, 'acme')
  return running
}

let made = 0

/** A member of the organization without a factor. */
async function createColleague(running: Running) {
  const id = `member-${++made}`
  const email = `${id}@${domain}`
  await running.identity.management.createUser({ id, email, email_verified: true })
  await addMember(running, 'acme', id)
  return { id, email }
}

/** What is stored of a user's factors, and with which credentials. */
async function factorsOf({ database }: Running, id: string) {
  const { rows } = await database.query<{ version: string; apps: number; codes: number }>(
    `SELECT credential_version AS version, (SELECT count(*)::int FROM identity.authenticator_app WHERE user_id = $1) AS apps,
       (SELECT count(*)::int FROM identity.recovery_code WHERE user_id = $1) AS codes FROM identity.account WHERE id = $1`,
    [id],
  )
  return rows[0] ?? assert.fail()
}

/** A member of the organization with a passkey and an app. */
async function createMember(running: Running) {
  const id = `member-${++made}`
  const email = `${id}@${domain}`
  await running.identity.management.createUser({ id, email, email_verified: true })
  const browser = new TestBrowser(running)
  provider.user = { sub: id, email, email_verified: true }
  await signInWithOrganization(browser, email)
  const authenticator = new Authenticator()
  assert.equal((await registerPasskey(browser, authenticator)).headers.location, '/account/passkeys')
  const page = await browser.get('/account/factors/app')
  const app = new TestApp(running, page)
  const codes = shownCodes(await browser.submit(page, { code: app.code() }))
  assert.equal(codes.length, 10)
  await addMember(running, 'acme', id)
  return { running, id, email, authenticator, app, codes }
}

type Member = Awaited<ReturnType<typeof createMember>>

/** Proves the first way, in a session at the provider with this sid. */
async function proveFirst({ running, id, email }: Member, sid: string | undefined, browser = new TestBrowser(running)) {
  provider.user = { sub: id, email, email_verified: true, sid }
  const page = await signInWithOrganization(browser, email)
  assert.ok(asksForFactor(page), page.text)
  return { browser, page }
}

type Waiting = Awaited<ReturnType<typeof proveFirst>>

const complete = {
  'a passkey': ({ authenticator }: Member, { browser, page }: Waiting) => signInByPasskey(browser, page, authenticator),
  'an app': ({ app }: Member, { browser, page }: Waiting) => browser.submit(page, { code: app.nextCode() }),
}

async function logOutThere(
  { running }: Pick<Member, 'running'>,
  claims: Readonly<Record<string, unknown>>,
): Promise<void> {
  const form = { logout_token: provider.createLogoutToken({ claims }) }
  assert.equal((await running.post('/login/providers/acme/logout', form)).status, 200)
}

async function assertStale({ browser }: Pick<Waiting, 'browser'>, response: TestResponse): Promise<void> {
  assert.equal(response.status, 400, response.text)
  assert.match(response.text, /expired/)
  assert.equal(await isSignedIn(browser), false)
}

describe('a sign-in that waits', () => {
  let running: Running
  before(async () => {
    running = await setupAcme()
  })
  after(() => running.close())
  beforeEach(() => running.clock.set(Date.now()))

  for (const way of ['a passkey', 'an app'] as const)
    for (const [what, sid, claims] of [
      ['a logout of the session there', 'up', {}],
      ['a logout that names the session alone', 'up-alone', { sub: undefined }],
      ['a logout of the user there', 'up', { sid: undefined }],
      ['a logout of the user, without a session there', undefined, {}],
      ['a logout of any session, without one there', undefined, { sid: 'up-any' }],
    ] as const)
      test(`is not completed by ${way} after ${what}`, async () => {
        const member = await createMember(running)
        const waiting = await proveFirst(member, sid === 'up-alone' ? `${sid}-${way}` : sid)
        await logOutThere(member, claims)
        await assertStale(waiting, await complete[way](member, waiting))
      })

  test('is not completed again once the session has ended there', async () => {
    const member = await createMember(running)
    for (const way of ['a passkey', 'an app'] as const) {
      const waiting = await proveFirst(member, `up-${way}`)
      await complete[way](member, waiting)
      assert.ok(await isSignedIn(waiting.browser))
      await logOutThere(member, {})
      assert.equal(await isSignedIn(waiting.browser), false)
      running.clock.advance(9 * 60_000)
      await assertStale(waiting, await complete[way](member, waiting))
      running.clock.set(Date.now())
    }
  })

  test('enrols no app after a logout', async () => {
    const { id, email } = await createColleague(running)
    const browser = new TestBrowser(running)
    provider.user = { sub: id, email, email_verified: true, sid: 'up-enrol' }
    const page = await signInWithOrganization(browser, email)
    assert.match(page.text, /action="\/login\/enrol"/)
    await logOutThere({ running }, {})
    running.clock.advance(60_000)
    const before = await factorsOf(running, id)
    const code = new TestApp(running, page).code()
    await assertStale({ browser }, await browser.submit(page, { code }))
    assert.deepEqual(await factorsOf(running, id), before)
    assert.deepEqual([before.apps, before.codes], [0, 0])
  })

  test('shows the recovery codes of an app that is stored when a logout arrives', async () => {
    const { id, email } = await createColleague(running)
    const browser = new TestBrowser(running)
    provider.user = { sub: id, email, email_verified: true, sid: 'up-stored' }
    const page = await signInWithOrganization(browser, email)
    const code = new TestApp(running, page).code()
    const event = 'INSERT INTO identity.audit_event'
    const shown = await loggedOutAfter(running, event, () => browser.submit(page, { code }))
    const { apps, codes } = await factorsOf(running, id)
    assert.deepEqual([shown.status, shownCodes(shown).length, apps, codes], [200, 10, 1, 10], shown.text)
    assert.equal(await isSignedIn(browser), false)
    const to = /<form method="get" action="([^"]+)"/.exec(shown.text)?.[1] ?? assert.fail(shown.text)
    const next = await browser.follow(await browser.get(`${to}?${new URLSearchParams(hiddenFields(shown))}`))
    assert.match(next.text, /action="\/login"/, 'the sign-in begins again')
  })

  test('uses up no code after a logout', async () => {
    const member = await createMember(running)
    const waiting = await proveFirst(member, 'up-code')
    await logOutThere(member, {})
    const before = await factorsOf(running, member.id)
    const response = await waiting.browser.submit(waiting.page, { recovery_code: member.codes[0] ?? '' })
    await assertStale(waiting, response)
    assert.deepEqual(await factorsOf(running, member.id), before)
    assert.deepEqual([before.apps, before.codes], [1, 10])
  })

  test('is not completed after a logout that a clock recorded that was ahead', async () => {
    const member = await createMember(running)
    const waiting = await proveFirst(member, 'up-ahead')
    const real = running.clock.now()
    running.clock.set(real + 100_000)
    await logOutThere(member, {})
    running.clock.set(real + 2_000)
    await assertStale(waiting, await complete['a passkey'](member, waiting))
  })

  test('is completed after a logout of another session, and after one before it began', async () => {
    const member = await createMember(running)
    const waiting = await proveFirst(member, 'up-1')
    await logOutThere(member, { sid: 'up-2' })
    await complete['a passkey'](member, waiting)
    assert.ok(await isSignedIn(waiting.browser))
    await logOutThere(member, { sid: undefined })
    running.clock.advance(1)
    const again = await proveFirst(member, 'up-1')
    await complete['a passkey'](member, again)
    assert.ok(await isSignedIn(again.browser))
  })

  test('does not replace a newer one through the same account', async () => {
    const member = await createMember(running)
    const browser = new TestBrowser(running)
    const older = await proveFirst(member, 'up-old', browser)
    running.clock.advance(1)
    const newer = await proveFirst(member, 'up-new', browser)
    await complete['a passkey'](member, newer)
    const login = await browser.get(authorizeUrl({ ...request(), prompt: 'login' }))
    const { pending = '' } = passkeyFields(older.page)
    const credential = member.authenticator.get(await requestOptions(browser, login))
    const response = await browser.post('/login/passkey', { ...passkeyFields(login), pending, credential })
    assert.equal(response.status, 400, response.text)
    assert.ok(await isSignedIn(browser))
    await logOutThere(member, { sid: 'up-new' })
    assert.equal(await isSignedIn(browser), false)
  })
})

const request = () => ({
  client_id: 'web',
  response_type: 'code',
  scope: 'openid',
  code_challenge: pkce().code_challenge,
  code_challenge_method: 'S256',
})

/** The response to a provider's code, of which the account is known when a logout arrives: milliseconds before the end. */
function comeBackLoggedOut(running: Running, send: () => Promise<TestResponse>): Promise<TestResponse> {
  return loggedOutAfter(running, 'UPDATE identity.linked_account', send)
}

/** The response to a request during which a logout arrives, once it has run a statement. */
async function loggedOutAfter(
  running: Running,
  statement: string,
  send: () => Promise<TestResponse>,
): Promise<TestResponse> {
  const query = running.database.query.bind(running.database)
  let ended: Promise<void> | undefined
  running.database.query = async <Row extends object>(text: string | Query, values?: readonly unknown[]) => {
    const result = await query<Row>(text, values)
    if (ended === undefined && String(text).includes(statement)) {
      running.clock.advance(5)
      ended = logOutThere({ running }, {})
      await ended
      running.clock.advance(5)
    }
    return result
  }
  const response = await send().finally(() => {
    running.database.query = query
  })
  assert.ok(ended)
  return response
}

describe('a sign-in whose code is exchanged', () => {
  test('is void after a logout, and the next one is not', async () => {
    const running = await setupWith([connectionTo(provider)])
    try {
      provider.user = { sub: 'swift', email: 'swift@people.example', email_verified: true, sid: 'up-swift' }
      await signInAt(running)
      const browser = new TestBrowser(running)
      const path = await comeBack(browser)
      await assertRefused(browser, await comeBackLoggedOut(running, () => browser.get(path)))
      await signInAt(running, browser)
      assert.ok(await isSignedIn(browser))
    } finally {
      await running.close()
    }
  })

  test('and which then waits for its second factor, is void after a logout', async () => {
    const running = await setupAcme()
    try {
      const member = await createMember(running)
      const browser = new TestBrowser(running)
      provider.user = { sub: member.id, email: member.email, email_verified: true, sid: 'up-swift' }
      const page = await comeBackLoggedOut(running, () => signInWithOrganization(browser, member.email))
      assert.ok(asksForFactor(page), page.text)
      await assertStale({ browser }, await complete['an app'](member, { browser, page }))
    } finally {
      await running.close()
    }
  })
})

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  before(async () => {
    server = await startPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 8)
    running = await setupAcme(database)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  const waiting = async (count: number) => (await database.query(waits)).rows.length >= count

  for (const claims of [{}, { sub: undefined }, { sid: undefined }])
    testWith('postgresql', `a logout ends one that is being written: ${Object.keys(claims)}`, async () => {
      const member = await createMember(running)
      const first = await proveFirst(member, `up-${Object.keys(claims)}`)
      const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const holder = database.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM identity.account WHERE id = $1 FOR NO KEY UPDATE', [member.id])
        locked.resolve()
        await released.promise
      })
      await locked.promise
      const completion = complete['a passkey'](member, first)
      while (!(await waiting(1)));
      let isEnded = false
      const logout = logOutThere(member, claims).finally(() => {
        isEnded = true
      })
      while (!isEnded && !(await waiting(2)));
      released.resolve()
      const [{ status }] = await Promise.all([completion, logout, holder])
      assert.deepEqual([status, await isSignedIn(first.browser)], [303, false])
    })
})
