import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { clients, TestBrowser, users } from '../support/journey.ts'
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
    (error) => error instanceof StartError && /features\.registration.* need mail/.test(error.message),
  )
})
