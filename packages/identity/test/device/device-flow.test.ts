import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { authorizeUrl, clients, hiddenFields, pkce, TestBrowser, users } from '../support/journey.ts'
import { service, setup, setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients: [...clients, service], users } })

const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'

async function begin(scope = 'openid offline_access') {
  const { body } = await running.post('/device_authorization', { client_id: 'tv', scope })
  return body as { device_code: string; user_code: string; interval: number; verification_uri: string }
}

const poll = (device_code: string, client_id = 'tv') => running.post('/token', { grant_type, device_code, client_id })

async function enter(user_code: string, browser = new TestBrowser(running)) {
  const login = await browser.get(`/device?user_code=${user_code}`)
  const page = login.text.includes('action="/login"') ? await browser.signIn(login) : login
  assert.match(page.text, new RegExp(`value="${user_code}"`), 'the code is filled in, not submitted')
  return { browser, confirm: await browser.submit(page, { user_code }) }
}

test('a device gets tokens after its user has entered the code and allowed access', async () => {
  const { device_code, user_code, interval } = await begin()
  assert.equal(interval, 5)
  assert.match(user_code, /^[B-Z]{4}-[B-Z]{4}$/)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
  const { browser, confirm } = await enter(user_code)
  assert.match(confirm.text, /Living room TV/)
  assert.match(confirm.text, /Keep access when you are signed out/)
  running.clock.advance(5_000)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending', 'entering the code does not approve it')
  assert.match((await browser.submit(confirm, { decision: 'allow' })).text, /Device connected/)
  running.clock.advance(5_000)
  const tokens = await poll(device_code)
  assert.equal(tokens.status, 200)
  assert.ok(tokens.body.access_token && tokens.body.id_token && tokens.body.refresh_token)
  running.clock.advance(5_000)
  assert.equal((await poll(device_code)).body.error, 'invalid_grant', 'a device code works once')
})

test('polling too fast gets slow_down, and the interval grows', async () => {
  const { device_code } = await begin()
  await poll(device_code)
  running.clock.advance(1_000)
  assert.equal((await poll(device_code)).body.error, 'slow_down')
  running.clock.advance(6_000)
  assert.equal((await poll(device_code)).body.error, 'slow_down', 'the interval is longer than five seconds')
  running.clock.advance(15_000)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
})

test('a denied and an expired request are reported to the device', async () => {
  const refused = await begin()
  const { browser, confirm } = await enter(refused.user_code)
  await browser.submit(confirm, { decision: 'deny' })
  assert.equal((await poll(refused.device_code)).body.error, 'access_denied')
  const late = await begin()
  running.clock.advance(600_000)
  assert.equal((await poll(late.device_code)).body.error, 'expired_token')
})

test('a late poll gets expired_token, even after the purge', async () => {
  const late = await begin()
  running.clock.advance(600_000 + 5 * 60_000)
  await postgresIdentityStore(running.database).purge.purge(running.clock.now(), 0, 500)
  assert.equal((await poll(late.device_code)).body.error, 'expired_token')
})

test('a user code is approved only in the session that entered it, and polled by its own client', async () => {
  const { device_code, user_code } = await begin()
  await enter(user_code)
  const other = await enter(user_code, new TestBrowser(running))
  assert.equal(other.confirm.status, 400)
  assert.equal((await poll(device_code, 'spa')).body.error, 'unauthorized_client')
})

test('a code that was not entered in this session cannot be approved, even if guessed', async () => {
  const { device_code, user_code } = await begin()
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/device'), 'bob', 'battery staple')
  const { form_token = '' } = hiddenFields(page)
  const direct = { form_token, user_code, decision: 'allow' }
  assert.equal((await browser.post('/device/decision', direct)).status, 400)
  const mine = await enter((await begin()).user_code, browser)
  const { continuation = '' } = hiddenFields(mine.confirm)
  const mixed = await browser.post('/device/decision', { ...direct, continuation })
  assert.equal(mixed.status, 200, 'the decision is about the page shown')
  const used = await browser.post('/device/decision', { ...direct, continuation })
  assert.equal(used.status, 400)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
  const { confirm } = await enter(user_code)
  assert.equal(confirm.status, 200, 'the code is still valid for its owner')
})

test('the confirmation page of a device is valid only in its own session', async () => {
  const { device_code, user_code } = await begin()
  const { browser, confirm } = await enter(user_code)
  const { continuation = '' } = hiddenFields(confirm)
  const login = await browser.get(
    authorizeUrl({ client_id: 'spa', code_challenge: pkce().code_challenge, prompt: 'login' }),
  )
  await browser.signIn(login, 'bob', 'battery staple')
  const { form_token = '' } = hiddenFields(await browser.get('/device'))
  const response = await browser.post('/device/decision', { form_token, continuation, decision: 'allow' })
  assert.equal(response.status, 400)
  assert.equal((await poll(device_code)).body.error, 'authorization_pending')
})

test('a device cannot request a scope or grant its client is not registered for', async () => {
  const refused = await running.post('/device_authorization', { client_id: 'tv', scope: 'admin:all' })
  assert.equal(refused.body.error, 'invalid_scope')
  const stranger = await running.post('/device_authorization', { client_id: 'spa', scope: 'openid' })
  assert.equal(stranger.body.error, 'unauthorized_client')
})

test('guesses at user codes are limited', async () => {
  let attempts = 0
  const limited = await setup({
    declared: { clients, users },
    limit: async (policy) =>
      policy === 'device-code' && ++attempts > 3 ? { allowed: false, retryAfter: 60 } : { allowed: true },
  })
  const browser = new TestBrowser(limited)
  const page = await browser.signIn(await browser.get('/device'))
  const guess = () => browser.submit(page, { user_code: 'BBBB-BBBB' })
  for (let turn = 0; turn < 3; turn++) assert.equal((await guess()).status, 400)
  const refused = await guess()
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '60'])
  await limited.close()
})
