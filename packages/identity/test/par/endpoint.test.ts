import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { authorizeUrl, callback, clients, pkce, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { setupOnce, type TestResponse } from '../support/setup.ts'

const secret = { client_id: 'strict', client_secret: 'strict-secret-0123456789' }
const strict = {
  ...secret,
  redirect_uris: [callback],
  scopes: ['openid'],
  require_pushed_authorization_requests: true,
}
const plain = () => ({ client_id: 'strict', response_type: 'code', scope: 'openid', ...challenge() })
const challenge = () => ({ code_challenge: pkce().code_challenge, code_challenge_method: 'S256' })

const running = setupOnce({ declared: { clients: [...clients, strict], users } })

async function push(further: Record<string, string> = {}): Promise<string> {
  const { client_id: _, ...request } = plain()
  const { status, text, body } = await running.post('/par', { ...secret, ...request, state: 'pushed', ...further })
  assert.equal(status, 201, text)
  return String(body.request_uri)
}

test('a client that must push its requests gets a code through login and consent', async () => {
  const browser = new TestBrowser(running)
  const login = await browser.get(authorizeUrl({ client_id: 'strict', request_uri: await push() }))
  const consent = await browser.signIn(login)
  const response = redirectParameters(await browser.submit(consent, { decision: 'allow' }))
  assert.ok(response.code)
  assert.equal(response.state, 'pushed')
})

test('a pushed request may be named in a form, with and without cookies', async () => {
  const browser = new TestBrowser(running)
  const form = async () => ({ client_id: 'strict', request_uri: await push() })
  const first = await browser.follow(await browser.post('/authorize', await form()))
  assert.match(first.text, /action="\/login"/)
  const consent = await browser.signIn(first, 'bob', 'battery staple')
  assert.match(consent.text, /action="\/consent"/)
  assert.ok(redirectParameters(await browser.submit(consent, { decision: 'allow' })).code)
  const again = await browser.post('/authorize', await form())
  assert.ok(redirectParameters(again).code, 'the consent is remembered')
})

for (const [what, send] of [
  ['plain parameters', (browser: TestBrowser) => browser.get(authorizeUrl(plain()))],
  ['a made-up continuation', (browser: TestBrowser) => browser.get(authorizeUrl({ ...plain(), continuation: 'x' }))],
  [
    'a request_uri in the URL of a form',
    (browser: TestBrowser) => browser.post('/authorize?request_uri=x&continuation=x', plain()),
  ],
] as const) {
  test(`a client that must push its requests is rejected with ${what} (RFC 9126 section 5)`, async () => {
    const browser = new TestBrowser(running)
    await browser.get('/account')
    const { error, error_description } = redirectParameters(await send(browser))
    assert.equal(error, 'invalid_request')
    assert.match(String(error_description), /must push its authorization requests/)
  })
}

test('a pushed request of nearly maximum size resumes after the login by a form', async () => {
  const browser = new TestBrowser(running)
  const request_uri = await push({ details: '"'.repeat(21_000) })
  const login = await browser.get(authorizeUrl({ client_id: 'strict', request_uri }))
  const onward = await browser.signIn(login)
  assert.match(onward.text, /<form method="post" action="\/authorize\/continue">/)
  assert.match(String(onward.headers['content-security-policy']), /form-action [^;]*https:\/\/app\.example/)
  const next = await browser.submit(onward)
  const needsConsent = next.text.includes('action="/consent"')
  const response = redirectParameters(needsConsent ? await browser.submit(next, { decision: 'allow' }) : next)
  assert.ok(response.code)
  assert.equal(response.state, 'pushed')
})

const login = async (browser: TestBrowser, request_uri: string) =>
  browser.get(authorizeUrl({ client_id: 'strict', request_uri }))

/** The code of the page after a sign-in, which may ask for consent. */
async function codeAfter(browser: TestBrowser, page: TestResponse): Promise<string | undefined> {
  const asks = page.text.includes('action="/consent"')
  const response = asks ? await browser.submit(page, { decision: 'allow' }) : page
  return response.headers.location === undefined ? undefined : redirectParameters(response).code
}

test('the login page of a pushed request can be reloaded, until the code was issued', async () => {
  const browser = new TestBrowser(running)
  const request_uri = await push({ prompt: 'consent' })
  assert.match((await login(browser, request_uri)).text, /action="\/login"/)
  const reloaded = await login(browser, request_uri)
  assert.equal(reloaded.status, 200, reloaded.text)
  const consent = await browser.signIn(reloaded)
  assert.match((await login(browser, request_uri)).text, /action="\/consent"/, 'Back, on the way to the code')
  assert.ok(await codeAfter(browser, consent))
  const used = await login(browser, request_uri)
  assert.equal(used.status, 400)
  assert.match(used.text, /already used/)
})

test('a pushed request still leads to one code when two pages of it were opened', async () => {
  const request_uri = await push({ prompt: 'consent' })
  const browsers = [new TestBrowser(running), new TestBrowser(running)]
  const pages = await Promise.all(browsers.map((browser) => login(browser, request_uri)))
  const [one, other] = await Promise.all(browsers.map((browser, n) => browser.signIn(pages[n] as TestResponse)))
  assert.ok(await codeAfter(browsers[0] as TestBrowser, one as TestResponse))
  const late = await (browsers[1] as TestBrowser).submit(other as TestResponse, { decision: 'allow' })
  assert.deepEqual([late.status, late.headers.location], [400, undefined])
})

test('two authorizations at once from one pushed request get one code', async () => {
  const browser = new TestBrowser(running)
  assert.ok(await codeAfter(browser, await browser.signIn(await login(browser, await push()))))
  const request_uri = await push()
  const responses = await Promise.all([login(browser, request_uri), login(browser, request_uri)])
  assert.deepEqual(responses.map(({ status }) => status).toSorted(), [302, 400])
})

test('a pushed request expires, but not for the user who has its login page open', async () => {
  const browser = new TestBrowser(running)
  const request_uri = await push()
  const page = await login(browser, request_uri)
  running.clock.advance(61_000)
  assert.equal((await login(browser, request_uri)).status, 400, 'it is not opened again')
  running.clock.advance(27 * 60_000)
  await postgresIdentityStore(running.database).purge.purge(running.clock.now(), 0, 500)
  assert.ok(await codeAfter(browser, await browser.signIn(page)))
  await push()
  running.clock.advance(3 * 3600_000)
  await postgresIdentityStore(running.database).purge.purge(running.clock.now(), 0, 500)
  assert.equal((await running.database.query('SELECT FROM identity.pushed_request')).rowCount, 0)
})

test('a denied pushed request leaves no code, and the user may think again', async () => {
  const browser = new TestBrowser(running)
  const request_uri = await push({ prompt: 'consent' })
  const consent = await browser.signIn(await login(browser, request_uri))
  assert.equal(redirectParameters(await browser.submit(consent, { decision: 'deny' })).error, 'access_denied')
  assert.ok(await codeAfter(browser, await login(browser, request_uri)))
})

/** The parameters of the requests that a purge leaves. */
async function keptAfterPurge(): Promise<object[]> {
  await postgresIdentityStore(running.database).purge.purge(running.clock.now(), 0, 500)
  const text = 'SELECT parameters FROM identity.pushed_request'
  return (await running.database.query<{ parameters: object }>(text)).rows.map(({ parameters }) => parameters)
}

test('a second click on Allow gets a code too, but no other sign-in with that request', async () => {
  const browser = new TestBrowser(running)
  const request_uri = await push({ prompt: 'consent' })
  const opened = await login(browser, request_uri)
  const consent = await browser.signIn(opened)
  const reopened = await login(browser, request_uri)
  const first = await codeAfter(browser, consent)
  const second = await codeAfter(browser, consent)
  assert.ok(first && second && first !== second)
  assert.equal(await codeAfter(browser, reopened), undefined, 'a page that was opened a second time')
  const otherUser = await browser.submit(consent, { decision: 'switch' })
  const theirs = await browser.signIn(otherUser, 'bob', 'battery staple')
  assert.match(theirs.text, /action="\/consent"/)
  const refused = await browser.submit(theirs, { decision: 'allow' })
  assert.deepEqual([refused.status, refused.headers.location], [400, undefined], 'another session')
})

test('of clicks at once on Allow for a pushed request each gets a code', async () => {
  const browser = new TestBrowser(running)
  const consent = await browser.signIn(await login(browser, await push({ prompt: 'consent' })))
  const codes = await Promise.all([codeAfter(browser, consent), codeAfter(browser, consent)])
  assert.ok(codes.every((code) => code !== undefined))
})

test('the redirect after the sign-in of a pushed request can be loaded again', async () => {
  const browser = new TestBrowser(running)
  assert.ok(await codeAfter(browser, await browser.signIn(await login(browser, await push()))))
  const page = await login(browser, await push({ prompt: 'login' }))
  const signedIn = await browser.submit(page, { username: 'alice', password: 'correct horse' })
  const address = String(signedIn.headers.location)
  assert.match(address, /^\/authorize\/continue\?/)
  assert.ok(redirectParameters(await browser.get(address)).code)
  assert.ok(redirectParameters(await browser.get(address)).code)
})

test('a pushed request without a code is deleted once it expired, one with a code is emptied', async () => {
  running.clock.advance(3 * 3600_000)
  assert.deepEqual(await keptAfterPurge(), [])
  const browser = new TestBrowser(running)
  await push()
  await login(browser, await push())
  const page = await login(browser, await push())
  assert.ok(await codeAfter(browser, await browser.signIn(page)))
  running.clock.advance(61_000)
  assert.deepEqual(await keptAfterPurge(), [{}])
  running.clock.advance(2 * 3600_000 + 60_000)
  assert.deepEqual(await keptAfterPurge(), [])
})

test('a sign-in with a pushed request lasts two hours at most, however often its user changes', async () => {
  const request_uri = await push({ prompt: 'consent' })
  const browsers = [new TestBrowser(running), new TestBrowser(running)] as const
  const pages = await Promise.all(browsers.map((browser) => login(browser, request_uri)))
  const [first, late] = await Promise.all(browsers.map((browser, n) => browser.signIn(pages[n] as TestResponse)))
  assert.ok(await codeAfter(browsers[0], first as TestResponse))
  let consent = late as TestResponse
  for (let turn = 0; turn < 5; turn++) {
    running.clock.advance(25 * 60_000)
    consent = await browsers[1].signIn(await browsers[1].submit(consent, { decision: 'switch' }))
  }
  await keptAfterPurge()
  const refused = await browsers[1].submit(consent, { decision: 'allow' })
  assert.deepEqual([refused.status, refused.headers.location], [400, undefined])
})
