import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { revocationTimes } from '../../src/model/grants/revocation-times.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { asksForFactor, createPerson, enrol, isSignedIn, shownCodes, TestApp } from '../support/factors/factors.ts'
import {
  authorizeUrl,
  clients,
  getTokens,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const [web, spa, tv] = clients
const strictWeb = { ...web, client_id: 'strict', mfa: 'required' as const }
const strictTv = { ...tv, client_id: 'strict-tv', mfa: 'required' as const }

let lenient: Running
let strict: Running
before(async () => {
  const declared = { clients: [web, spa, tv, strictWeb, strictTv] as typeof clients, users }
  lenient = await setup({ declared, mfa: 'optional' })
  strict = await setup({ declared, mfa: 'required' })
})
after(async () => {
  await lenient.close()
  await strict.close()
})

const asksToEnrol = (page: TestResponse) => page.text.includes('action="/login/enrol"')
const request = (client_id = 'web', extra: Record<string, string> = {}) =>
  authorizeUrl({ client_id, response_type: 'code', scope: 'openid', ...pkce(), ...extra })

test('an instance that requires a factor has the user enrol one before there is a session', async () => {
  const user = await createPerson(strict)
  const browser = new TestBrowser(strict)
  const page = await browser.signIn(await browser.get(request()), ...user)
  assert.ok(asksToEnrol(page), page.text)
  assert.ok(!browser.cookies.has('gatehouse_session'))
  for (const path of [
    '/account',
    '/account/password',
    '/account/factors',
    '/account/factors/app',
    '/device',
    request(),
  ])
    assert.match((await browser.get(path)).text, /action="\/login"/, path)
  const { continuation = '' } = hiddenFields(page)
  const skipped = await browser.get(`/authorize/continue?continuation=${encodeURIComponent(continuation)}`)
  assert.match(skipped.text, /action="\/login"/)
  const app = new TestApp(strict, page)
  const wrong = await browser.submit(page, { code: '000000' })
  assert.equal(wrong.status, 400)
  assert.equal(new TestApp(strict, wrong).code(), app.code(), 'the secret stays the same')
  const shown = await browser.submit(wrong, { code: app.code() })
  assert.equal(shownCodes(shown).length, 10)
  const { continuation: resumed = '' } = hiddenFields(shown)
  const consent = await browser.get(`/authorize/continue?continuation=${encodeURIComponent(resumed)}`)
  assert.match(consent.text, /action="\/consent"/)
})

test('the enrolment page is void once its user has enrolled elsewhere', async () => {
  const user = await createPerson(strict)
  const [first, second] = [new TestBrowser(strict), new TestBrowser(strict)]
  const pages = [
    await first.signIn(await first.get('/account'), ...user),
    await second.signIn(await second.get('/account'), ...user),
  ] as const
  const apps = pages.map((page) => new TestApp(strict, page))
  await first.submit(pages[0], { code: apps[0]?.code() ?? '' })
  assert.ok(await isSignedIn(first))
  assert.equal((await second.submit(pages[1], { code: apps[1]?.code() ?? '' })).status, 400)
  assert.ok(!(await isSignedIn(second)))
})

test('an enrolment of another browser or user is refused', async () => {
  const [anna, ben] = [await createPerson(strict), await createPerson(strict)]
  const [first, second] = [new TestBrowser(strict), new TestBrowser(strict)]
  const page = await first.signIn(await first.get('/account'), ...anna)
  const other = await second.signIn(await second.get('/account'), ...ben)
  const { enrolment = '' } = hiddenFields(page)
  const code = new TestApp(strict, page).code()
  assert.equal((await second.post('/login/enrol', { ...hiddenFields(other), enrolment, code })).status, 400)
  assert.ok(!(await isSignedIn(second)))
})

test('a new account enrols at its first sign-in, also when a device began it', async () => {
  const user = await createPerson(strict)
  const browser = new TestBrowser(strict)
  assert.ok(asksToEnrol(await browser.signIn(await browser.get('/account'), ...user)))
  const { body } = await strict.post('/device_authorization', { client_id: 'tv', scope: 'openid' })
  const device = await browser.signIn(await browser.get(`/device?user_code=${body.user_code}`), ...user)
  assert.ok(asksToEnrol(device))
})

test('a client that requires a factor gets no code before the user enrolled one', async () => {
  const user = await createPerson(lenient)
  const browser = new TestBrowser(lenient)
  const page = await browser.signIn(await browser.get(request('strict')), ...user)
  assert.ok(asksToEnrol(page), page.text)
  assert.ok(asksToEnrol(await browser.get(request('strict'))))
  const silent = await browser.get(request('strict', { prompt: 'none' }))
  assert.equal(redirectParameters(silent).error, 'interaction_required')
  assert.match((await browser.get(request('web'))).text, /action="\/consent"/, 'other clients are not concerned')
  const shown = await browser.submit(page, { code: new TestApp(lenient, page).code() })
  const { continuation = '' } = hiddenFields(shown)
  const consent = await browser.get(`/authorize/continue?continuation=${encodeURIComponent(continuation)}`)
  assert.ok(redirectParameters(await browser.submit(consent, { decision: 'allow' })).code)
})

test('enrolling for a client needs a sign-in of the last five minutes', async () => {
  const user = await createPerson(lenient)
  const browser = new TestBrowser(lenient)
  await browser.signIn(await browser.get('/account'), ...user)
  lenient.clock.advance(5 * 60_000 + 1)
  const login = await browser.get(request('strict'))
  assert.match(login.text, /action="\/login"/)
  assert.ok(asksToEnrol(await browser.signIn(login, ...user)))
})

test('a consent page of a client that requires a factor since gives no code', async () => {
  const user = await createPerson(lenient)
  const browser = new TestBrowser(lenient)
  const consent = await browser.signIn(await browser.get(request('web')), ...user)
  await lenient.identity.management.updateClient('web', { mfa: 'required' })
  const answer = await browser.submit(consent, { decision: 'allow' })
  assert.ok(asksToEnrol(answer), answer.text)
  await lenient.identity.management.updateClient('web', { mfa: 'optional' })
})

test('a device of a client that requires a factor gets no tokens before the user enrolled one', async () => {
  const user = await createPerson(lenient)
  const browser = new TestBrowser(lenient)
  const { body } = await lenient.post('/device_authorization', { client_id: 'strict-tv', scope: 'openid' })
  const user_code = String(body.user_code)
  const form = await browser.signIn(await browser.get(`/device?user_code=${user_code}`), ...user)
  const page = await browser.submit(form, { user_code })
  assert.ok(asksToEnrol(page), page.text)
  const shown = await browser.submit(page, { code: new TestApp(lenient, page).code() })
  const { continuation = '' } = hiddenFields(shown)
  const again = await browser.get(`/device?continuation=${encodeURIComponent(continuation)}`)
  const confirm = await browser.submit(again, { user_code })
  assert.match((await browser.submit(confirm, { decision: 'allow' })).text, /Device connected/)
})

test('an organization that requires a factor suspends the sessions of its members without one', async () => {
  const user = await createPerson(lenient)
  const browser = new TestBrowser(lenient)
  await browser.signIn(await browser.get('/account'), ...user)
  assert.ok(await isSignedIn(browser))
  const { organizations, memberships } = postgresIdentityStore(lenient.database)
  const now = lenient.clock.now()
  const acme = { id: 'acme', name: 'Acme', status: 'active' as const, requireMfa: false }
  await organizations.create({ ...acme, createdAt: now, updatedAt: now })
  await memberships.put({
    organizationId: 'acme',
    userId: user[0],
    roles: ['owner'],
    expected: undefined,
    now,
    messages: [],
  })
  assert.ok(await isSignedIn(browser))
  await organizations.update('acme', { requireMfa: true }, revocationTimes(lenient), { messages: [] })
  assert.ok(!(await isSignedIn(browser)))
  assert.ok(asksToEnrol(await browser.signIn(await browser.get('/account'), ...user)))
})

test('an instance that begins to require a factor suspends the sessions without one', async (t) => {
  const user = await createPerson(lenient)
  const plain = new TestBrowser(lenient)
  await plain.signIn(await plain.get('/account'), ...user)
  const { browser: withFactor } = await enrol(lenient, await createPerson(lenient))
  for (const browser of [plain, withFactor]) assert.ok(await isSignedIn(browser))
  const declared = { clients: [web, spa, tv] as typeof clients, users }
  const requiring = await setup({ declared, mfa: 'required', clock: lenient.clock }, lenient.database)
  t.after(() => requiring.close())
  /** The browser, of which the server was started again with the other setting. */
  const afterRestart = ({ cookies }: TestBrowser) => {
    const browser = new TestBrowser(requiring)
    for (const [name, value] of cookies) browser.cookies.set(name, value)
    return browser
  }
  assert.ok(await isSignedIn(afterRestart(withFactor)))
  const suspended = afterRestart(plain)
  assert.ok(!(await isSignedIn(suspended)))
  const silent = await suspended.get(request('web', { prompt: 'none' }))
  assert.equal(redirectParameters(silent).error, 'login_required')
  const login = await suspended.get(request('web'))
  assert.match(login.text, /action="\/login"/)
  assert.ok(asksToEnrol(await suspended.signIn(login, ...user)))
})

/** Refreshes tokens of the client `web` and says what became of it. */
async function refresh(running: Pick<Running, 'post'>, refreshToken: string | undefined) {
  const { status, body } = await running.post('/token', {
    grant_type: 'refresh_token',
    refresh_token: refreshToken ?? assert.fail('no refresh token'),
    ...webSecret,
  })
  const { error, error_description: reason, refresh_token: next } = body as Record<string, string | undefined>
  return { status, error, reason, next }
}

/** Grants of three sign-ins: by password alone, with the factor, and with a remembered device in its place. */
async function grantsOf(running: Running) {
  const plainUser = await createPerson(running)
  const plain = await getTokens(running, { user: plainUser })
  const enrolled = await createPerson(running)
  const { browser, app } = await enrol(running, enrolled)
  const factor = await getTokens(running, { browser })
  const device = new TestBrowser(running)
  const page = await device.signIn(await device.get('/account'), ...enrolled)
  await device.submit(page, { code: app.nextCode(), remember: 'yes' })
  await device.submit(await device.get('/end_session'), { decision: 'leave' })
  await device.signIn(await device.get('/account'), ...enrolled)
  const remembered = await getTokens(running, { browser: device })
  const tokens = [plain.refresh_token, factor.refresh_token, remembered.refresh_token]
  return { plainUser, enrolled, tokens, plain: plain.refresh_token }
}

const goesOn = [400, 200, 200]

test('a client that begins to require a factor refreshes no tokens from a password alone', async () => {
  const { plain, tokens } = await grantsOf(lenient)
  const { management } = lenient.identity
  await management.updateClient('web', { mfa: 'required' })
  const answers = [
    await refresh(lenient, tokens[0]),
    await refresh(lenient, tokens[1]),
    await refresh(lenient, tokens[2]),
  ]
  await management.updateClient('web', { mfa: 'optional' })
  assert.deepEqual(
    answers.map(({ status }) => status),
    goesOn,
  )
  assert.equal(answers[0]?.error, 'invalid_grant')
  assert.match(answers[0]?.reason ?? '', /a second factor is required since/)
  assert.equal((await refresh(lenient, plain)).status, 200, 'the refused token was not used up')
})

test('an organization that begins to require a factor refreshes tokens of members with one only', async () => {
  const { plainUser, enrolled, tokens } = await grantsOf(lenient)
  const { organizations, memberships } = postgresIdentityStore(lenient.database)
  const now = lenient.clock.now()
  const globex = { id: 'globex', name: 'Globex', status: 'active' as const, requireMfa: false }
  await organizations.create({ ...globex, createdAt: now, updatedAt: now })
  for (const [userId] of [plainUser, enrolled])
    await memberships.put({ organizationId: 'globex', userId, roles: [], expected: undefined, now, messages: [] })
  const next: (string | undefined)[] = []
  for (const token of tokens) next.push((await refresh(lenient, token)).next)
  await organizations.update('globex', { requireMfa: true }, revocationTimes(lenient), { messages: [] })
  const statuses = async () => {
    const answers = []
    for (const token of next) answers.push((await refresh(lenient, token)).status)
    return answers
  }
  assert.deepEqual(await statuses(), goesOn)
  const plainMember = { organizationId: 'globex', userId: plainUser[0], expected: undefined, messages: [] }
  await memberships.remove(plainMember, revocationTimes(lenient))
  assert.equal((await refresh(lenient, next[0])).status, 200, 'the policy ends with the membership')
})

test('an instance that begins to require a factor refreshes no tokens from a password alone', async (t) => {
  const { tokens } = await grantsOf(lenient)
  const declared = { clients: [web, spa, tv] as typeof clients, users }
  const requiring = await setup({ declared, mfa: 'required', clock: lenient.clock }, lenient.database)
  t.after(() => requiring.close())
  const answers = []
  for (const token of tokens) answers.push((await refresh(requiring, token)).status)
  assert.deepEqual(answers, goesOn)
})

test('the policy off offers no enrolment, and still asks a user who has a factor', async () => {
  const user = await createPerson(strict)
  const { app } = await enrolBySignIn(strict, user)
  const off = await setup({ declared: { clients, users } }, strict.database)
  const browser = new TestBrowser(off)
  const page = await browser.signIn(await browser.get('/account'), ...user)
  assert.ok(asksForFactor(page), page.text)
  off.clock.advance(strict.clock.now() - off.clock.now() + 30_000)
  const other = await createPerson(off)
  const plain = new TestBrowser(off)
  await plain.signIn(await plain.get('/account'), ...other)
  assert.doesNotMatch((await plain.get('/account')).text, /\/account\/factors/)
  assert.equal((await plain.get('/account/factors/app')).status, 404)
  assert.ok(app)
  await off.close()
})

test('the last factor cannot be removed where one is required', async () => {
  const user = await createPerson(strict)
  const { browser } = await enrolBySignIn(strict, user)
  const page = await browser.get('/account/factors')
  assert.doesNotMatch(page.text, /remove_app/)
  const refused = await browser.post('/account/factors', { ...hiddenFields(page), action: 'remove_app' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /must keep a second step/)
})

test('the client’s policy is part of its registration', async () => {
  const made = await lenient.identity.management.createClient({ client_id: 'registered', mfa: 'required' })
  assert.equal(made.mfa, 'required')
  assert.equal((await lenient.identity.management.updateClient('registered', { mfa: 'off' })).mfa, 'off')
})

test('tokens of clients without a policy need no factor', async () => {
  const user = await createPerson(lenient)
  assert.ok((await getTokens(lenient, { user })).access_token)
  const enrolled = await createPerson(lenient)
  const { browser } = await enrol(lenient, enrolled)
  assert.ok((await getTokens(lenient, { browser })).access_token)
})

/** Enrols a user by the page that a sign-in is sent to. */
async function enrolBySignIn(running: Running, user: readonly [string, string]) {
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account'), ...user)
  const app = new TestApp(running, page)
  await browser.submit(page, { code: app.code() })
  assert.ok(await isSignedIn(browser))
  return { browser, app }
}
