import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  authorizeUrl,
  clients,
  getCode,
  getTokens,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { service, setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients: [...clients, service], users } })

async function signIn() {
  const browser = new TestBrowser(running)
  const { code, code_verifier } = await getCode(running, { browser })
  const tokens = await running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })
  return { browser, idToken: String(tokens.body.id_token) }
}

const goHome = { post_logout_redirect_uri: 'https://app.example/bye', state: 'back' }
const endSession = (more: Record<string, string>) => `/end_session?${new URLSearchParams(more)}`

test('a client that sends the session’s ID token signs its user out at once', async () => {
  const { browser, idToken } = await signIn()
  const response = await browser.get(endSession({ id_token_hint: idToken, ...goHome }))
  assert.equal(response.headers.location, 'https://app.example/bye?state=back')
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'none', ...pkce() }
  assert.equal(redirectParameters(await browser.get(authorizeUrl(request))).error, 'login_required')
})

test('a logout without the ID token asks the user first', async () => {
  const { browser } = await signIn()
  const page = await browser.get(endSession({ client_id: 'web', ...goHome }))
  assert.match(page.text, /Sign out\?/)
  const response = await browser.submit(page, { decision: 'leave' })
  assert.equal(response.headers.location, 'https://app.example/bye?state=back')
})

test('a logout redirects to registered URIs only', async () => {
  const { browser, idToken } = await signIn()
  for (const post_logout_redirect_uri of [
    'https://evil.example/',
    'https://app.example/bye/',
    'https://app.example/callback',
  ]) {
    const response = await browser.get(endSession({ id_token_hint: idToken, post_logout_redirect_uri }))
    assert.deepEqual([response.status, response.headers.location], [400, undefined])
  }
  const nobody = await browser.get(endSession({ post_logout_redirect_uri: 'https://app.example/bye' }))
  assert.deepEqual([nobody.status, nobody.headers.location], [400, undefined])
  const forged = `${idToken.slice(0, -8)}AAAAAAAA`
  assert.equal((await browser.get(endSession({ id_token_hint: forged }))).status, 400)
})

test('an expired ID token still serves as a hint', async () => {
  const { browser, idToken } = await signIn()
  running.clock.advance(2 * 3600_000)
  assert.equal((await browser.get(endSession({ id_token_hint: idToken, ...goHome }))).status, 302)
})

test('a refresh token with offline_access outlives the session', async () => {
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser })
  await browser.get(endSession({ id_token_hint: tokens.id_token ?? '' }))
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '', ...webSecret }
  assert.equal((await running.post('/token', form)).status, 200)
})

test('a logout request without id_token_hint or client_id gets an error that says so', async () => {
  const browser = new TestBrowser(running)
  const address = 'post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Fbye'
  const nameless = await browser.get(`/end_session?${address}`)
  assert.equal(nameless.status, 400)
  assert.match(nameless.text, /post_logout_redirect_uri needs id_token_hint or client_id/)
  assert.match((await browser.get(`/end_session?${address}&client_id=nobody`)).text, /client_id is unknown/)
  const other = 'post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Felsewhere&client_id=web'
  assert.match((await browser.get(`/end_session?${other}`)).text, /is not registered for this client/)
  await getTokens(running, { browser })
  assert.equal((await browser.get(`/end_session?${address}&client_id=web`)).status, 200)
})
