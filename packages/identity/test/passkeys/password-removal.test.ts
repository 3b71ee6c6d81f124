import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recentSignInMs } from '../../src/sessions/recent-sign-in.ts'
import { Authenticator } from '../support/factors/authenticator.ts'
import { editPasskey, passkeyIds, registerPasskey, signInByPasskey } from '../support/factors/passkeys.ts'
import { clients, getTokens, TestBrowser, users, webSecret } from '../support/journey.ts'
import { takeMails } from '../support/notices.ts'
import { setup } from '../support/setup.ts'

async function start() {
  const running = await setup({ declared: { clients, users }, notify: async () => {}, background: false })
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  return { running, browser, authenticator: new Authenticator(), [Symbol.asyncDispose]: () => running.close() }
}

const remove = async (browser: TestBrowser) => browser.submit(await browser.get('/account/passkeys'))

test('a user with a passkey removes the password, and signs in by the passkey only', async () => {
  await using it = await start()
  const { running, browser, authenticator } = it
  const { refresh_token = '' } = await getTokens(running)
  await registerPasskey(browser, authenticator)
  await takeMails(running.database)
  assert.match((await remove(browser)).text, /Password removed/)
  assert.deepEqual(
    (await takeMails(running.database)).map(({ event, data }) => [event, data.factor]),
    [['factor_removed', 'password']],
  )
  assert.match((await browser.get('/account')).text, /alice@example\.com/)
  const other = new TestBrowser(running)
  const login = await other.get('/account')
  for (const password of ['correct horse', '', 'null'])
    assert.equal((await other.submit(login, { username: 'alice', password })).status, 401)
  assert.equal((await signInByPasskey(other, login, authenticator)).status, 303)
  const refresh = { grant_type: 'refresh_token', refresh_token, ...webSecret }
  assert.equal((await running.post('/token', refresh)).body.error, 'invalid_grant')
  assert.doesNotMatch((await browser.get('/account/passkeys')).text, /Remove password/)
  const [id = ''] = await passkeyIds(browser)
  assert.equal((await editPasskey(browser, id, { decision: 'remove' })).status, 409)
})

test('a user without a password sets one after a recent sign-in, which ends all else', async () => {
  await using it = await start()
  const { running, browser, authenticator } = it
  await registerPasskey(browser, authenticator)
  await remove(browser)
  const { refresh_token = '' } = await getTokens(running, { browser })
  await takeMails(running.database)
  assert.match((await browser.get('/account')).text, /<a href="\/account\/password">Set a password</)
  const page = await browser.get('/account/password')
  assert.doesNotMatch(page.text, /old_password/)
  running.clock.advance(recentSignInMs + 1)
  const late = await browser.submit(page, { new_password: 'four candles please' })
  assert.match(late.text, /action="\/login"/, 'a stolen session sets none')
  await signInByPasskey(browser, late, authenticator)
  const weak = await browser.submit(await browser.get('/account/password'), { new_password: 'short' })
  assert.match(weak.text, /at least 8 char/)
  const done = await browser.submit(await browser.get('/account/password'), { new_password: 'four candles please' })
  assert.match(done.text, /Password changed/)
  const mails = (await takeMails(running.database)).map(({ event, data }) => [event, data.factor])
  assert.deepEqual(mails, [['factor_added', 'password']])
  const refresh = { grant_type: 'refresh_token', refresh_token, ...webSecret }
  assert.equal((await running.post('/token', refresh)).body.error, 'invalid_grant')
  assert.match((await browser.get('/account/password')).text, /old_password/)
  const other = new TestBrowser(running)
  assert.match((await other.signIn(await other.get('/account'), 'alice', 'four candles please')).text, /Your account/)
})

test('a password that is the only way to sign in is not removed', async () => {
  await using it = await start()
  const page = await it.browser.get('/account/passkeys/new')
  const form_token = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  assert.doesNotMatch((await it.browser.get('/account/passkeys')).text, /Remove password/)
  assert.equal((await it.browser.post('/account/passkeys/password', { form_token })).status, 409)
  const other = new TestBrowser(it.running)
  assert.match((await other.signIn(await other.get('/account'))).text, /Your account/)
})

test('removing the password needs the token of the form and a recent sign-in', async () => {
  await using it = await start()
  await registerPasskey(it.browser, it.authenticator)
  assert.equal((await it.browser.post('/account/passkeys/password', {})).status, 403)
  const page = await it.browser.get('/account/passkeys')
  it.running.clock.advance(recentSignInMs + 1)
  assert.match((await it.browser.submit(page)).text, /action="\/login"/)
  assert.match((await it.browser.get('/account/passkeys')).text, /Remove password/)
})
