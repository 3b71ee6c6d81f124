import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { clients, getTokens, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

let running: Running
before(async () => {
  running = await setup({ declared: { clients, users } })
})
after(() => running.close())

test('without mail, no page, link or metadata offers what needs it', async () => {
  const browser = new TestBrowser(running)
  assert.doesNotMatch((await browser.get('/account')).text, /password\/forgot|\/register/)
  for (const path of ['/password/forgot', '/register', '/register/confirm']) {
    assert.equal((await browser.get(path)).status, 404, path)
    assert.equal((await browser.post(path, { email: 'alice@example.com' })).status, 404, path)
  }
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    assert.doesNotMatch((await browser.get(path)).text, /register|forgot|reset|"create"/)
  }
})

test('a password reset page without mail answers 404', async () => {
  const page = await new TestBrowser(running).get('/password/reset?token=unknown')
  assert.equal(page.status, 404)
})

test('registration without mail is rejected at start with the conflicting settings', async () => {
  await assert.rejects(
    setup({ features: { registration: true } }),
    (error) => error instanceof StartError && /features\.registration .* need mail/.test(error.message),
  )
})

test('a logout request without id_token_hint or client_id gets an error that says so', async () => {
  const browser = new TestBrowser(running)
  const address = 'post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Fbye'
  const nameless = await browser.get(`/end_session?${address}`)
  assert.equal(nameless.status, 400)
  assert.match(nameless.text, /post_logout_redirect_uri needs id_token_hint or client_id/)
  assert.match((await browser.get(`/end_session?${address}&client_id=nobody`)).text, /client_id is not known here/)
  const other = 'post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Felsewhere&client_id=web'
  assert.match((await browser.get(`/end_session?${other}`)).text, /is not registered for this client/)
  await getTokens(running, { browser })
  assert.equal((await browser.get(`/end_session?${address}&client_id=web`)).status, 200)
})
