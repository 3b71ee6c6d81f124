import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  clients,
  getCode,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { setupOnce, type TestResponse } from '../support/setup.ts'

/*
 * Forms of another site: the browser sends none of our cookies with them, because those are SameSite=Lax, but may well
 * send others of the same host.
 */

const plain = setupOnce({ declared: { clients, users } })
const https = { issuer: 'https://id.example', baseUrl: 'https://id.example' }
const secure = setupOnce({ declared: { clients, users }, ...https })

/** A browser with a session and its ID token. */
async function signIn(running: typeof plain) {
  const browser = new TestBrowser(running)
  const { code, code_verifier } = await getCode(running, { browser })
  assert.ok(browser.cookies.has(running === secure ? '__Host-gatehouse_session' : 'gatehouse_session'))
  const { body } = await running.post('/token', {
    grant_type: 'authorization_code',
    code,
    code_verifier,
    ...webSecret,
  })
  return { browser, idToken: String(body.id_token) }
}

const elsewhere = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }
const ownSite = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }

/** Sends a form from a page of another site, and follows where it leads. */
async function sendFromElsewhere(
  browser: TestBrowser,
  path: string,
  form: Record<string, string>,
  foreign: Record<string, string>,
): Promise<TestResponse> {
  const own = [...browser.cookies]
  browser.cookies.clear()
  for (const [name, value] of Object.entries(foreign)) browser.cookies.set(name, value)
  const response = await browser.post(path, form, elsewhere)
  browser.cookies.clear()
  for (const [name, value] of own) browser.cookies.set(name, value)
  return browser.follow(response)
}

const request = () => ({
  client_id: 'web',
  response_type: 'code',
  scope: 'openid offline_access',
  code_challenge: pkce().code_challenge,
  code_challenge_method: 'S256',
})

const value = 'A'.repeat(43)

for (const [what, running, foreign] of [
  ['no cookie', plain, {}],
  ['a cookie of a load balancer', plain, { AWSALB: 'x' }],
  ['cookies of other names that end alike', plain, { 'x-gatehouse_browser': value, '__Host-gatehouse_session': value }],
  ['no cookie, over https', secure, {}],
  ['a cookie of another application, over https', secure, { _ga: 'GA1.1.1' }],
  ['a cookie that a subdomain set, over https', secure, { gatehouse_browser: value, gatehouse_session: value }],
] as const) {
  test(`a logout form of another site ends the session, with ${what}`, async () => {
    const { browser, idToken } = await signIn(running)
    const form = { id_token_hint: idToken, post_logout_redirect_uri: 'https://app.example/bye', state: 'back' }
    const response = await sendFromElsewhere(browser, '/end_session', form, foreign)
    assert.equal(response.headers.location, 'https://app.example/bye?state=back')
    const after = await browser.get(`/authorize?${new URLSearchParams({ ...request(), prompt: 'none' })}`)
    assert.equal(redirectParameters(after).error, 'login_required')
  })

  test(`an authorization form of another site finds the session, with ${what}`, async () => {
    const { browser } = await signIn(running)
    const response = await sendFromElsewhere(browser, '/authorize', request(), foreign)
    assert.ok(redirectParameters(response).code)
  })
}

test('a form of the own site is answered at once, also where only one of the cookies is left', async () => {
  for (const lost of ['gatehouse_browser', 'gatehouse_session', 'none']) {
    const { browser } = await signIn(plain)
    browser.cookies.delete(lost)
    const response = await browser.post('/authorize', request())
    assert.ok(!response.headers.location?.startsWith('/authorize'), lost)
  }
})

/** More than clients take as an address. */
const claims = JSON.stringify({
  id_token: Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`claim_${n}`, null])),
})

for (const [what, running] of [
  ['http', plain],
  ['https', secure],
] as const) {
  test(`a large authorization form of another site is sent again from our page, over ${what}`, async () => {
    const { browser } = await signIn(running)
    const page = await sendFromElsewhere(browser, '/authorize', { ...request(), claims }, { AWSALB: 'x' })
    assert.deepEqual([page.status, page.headers.location], [200, undefined])
    assert.match(page.headers['content-security-policy'] ?? '', /form-action 'self' http\S+ https:\/\/app\.example;/)
    const again = await browser.submit(page)
    assert.ok(redirectParameters(again).code, again.text)
  })
}

test('a large logout form of another site ends the session too', async () => {
  const { browser, idToken } = await signIn(plain)
  const form = { id_token_hint: idToken, post_logout_redirect_uri: 'https://app.example/bye', state: 'x'.repeat(5_000) }
  const page = await sendFromElsewhere(browser, '/end_session', form, {})
  assert.deepEqual([page.status, page.headers.location], [200, undefined])
  assert.match(page.headers['content-security-policy'] ?? '', /form-action 'self' http\S+ https:\/\/app\.example;/)
  const again = await browser.submit(page)
  assert.match(again.headers.location ?? '', /^https:\/\/app\.example\/bye\?state=x+$/)
  assert.match((await browser.get('/account')).text, /action="\/login"/)
})

test('a browser that keeps no cookies is answered, not sent in a circle', async () => {
  const page = await new TestBrowser(plain).post('/authorize', { ...request(), claims }, elsewhere)
  const answer = await new TestBrowser(plain).post('/authorize', hiddenFields(page), ownSite)
  assert.match(answer.text, /action="\/login"/)
})

test('a large form of another site is refused where its client or address is unknown', async () => {
  for (const wrong of [{ client_id: 'nobody' }, { redirect_uri: 'https://evil.example/' }]) {
    const response = await new TestBrowser(plain).post('/authorize', { ...request(), claims, ...wrong }, elsewhere)
    assert.equal(response.status, 400, response.text)
    assert.doesNotMatch(response.headers['content-security-policy'] ?? '', /evil/)
  }
})
