import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  authorizeUrl,
  clients,
  getTokens,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
} from '../support/journey.ts'
import { setupOnce, type TestResponse } from '../support/setup.ts'

const running = setupOnce({ declared: { clients, users } })

const request = (more: Record<string, string> = {}) =>
  authorizeUrl({
    client_id: 'web',
    response_type: 'code',
    scope: 'openid profile',
    code_challenge: pkce().code_challenge,
    ...more,
  })

const allow = (browser: TestBrowser, page: TestResponse) =>
  browser.post('/consent', { ...hiddenFields(page), decision: 'allow' })

async function signIn(): Promise<{ browser: TestBrowser; idToken: string }> {
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser, scope: 'openid' })
  running.clock.advance(5_000)
  return { browser, idToken: tokens.id_token ?? '' }
}

for (const [what, more] of [
  ['prompt=login', { prompt: 'login' }],
  ['prompt=select_account', { prompt: 'select_account' }],
  ['max_age', { max_age: '1' }],
] as const) {
  test(`${what} is not bypassed by posting the login form’s fields to /consent`, async () => {
    const { browser } = await signIn()
    const login = await browser.get(request(more))
    assert.match(login.text, /action="\/login"/)
    const response = await allow(browser, login)
    assert.deepEqual([response.status, response.headers.location], [400, undefined])
  })
}

test('an id_token_hint of another user is not bypassed by posting to /consent', async () => {
  const bob = new TestBrowser(running)
  const tokens = await getTokens(running, { browser: bob, scope: 'openid', user: ['bob', 'battery staple'] })
  const { browser } = await signIn()
  const login = await browser.get(request({ id_token_hint: tokens.id_token ?? '' }))
  assert.match(login.text, /action="\/login"/)
  const response = await allow(browser, login)
  assert.deepEqual([response.status, response.headers.location], [400, undefined])
})

test('a login that exceeds max_age on the consent page is repeated, and the request resumes', async () => {
  const { browser } = await signIn()
  const consent = await browser.get(request({ max_age: '60', prompt: 'consent' }))
  assert.match(consent.text, /action="\/consent"/)
  running.clock.advance(120_000)
  const login = await browser.submit(consent, { decision: 'allow' })
  assert.match(login.text, /action="\/login"/)
  const again = await browser.signIn(login)
  assert.ok(redirectParameters(await browser.submit(again, { decision: 'allow' })).code)
})

test('consent counts only for the user who was shown the page', async () => {
  const { browser } = await signIn()
  const shown = await browser.get(request({ prompt: 'consent' }))
  const login = await browser.get(request({ prompt: 'login' }))
  const asBob = await browser.signIn(login, 'bob', 'battery staple')
  const mixed = { ...hiddenFields(asBob), continuation: hiddenFields(shown).continuation ?? '', decision: 'allow' }
  assert.equal((await browser.post('/consent', mixed)).status, 400)
})
