import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator } from '../support/factors/authenticator.ts'
import { editPasskey, passkeyIds, registerPasskey, signInByPasskey } from '../support/factors/passkeys.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { administrators, call, consoleClient, createFixtures, tokenOf } from '../support/management/administrators.ts'
import { takeMails } from '../support/notices.ts'
import { setupOnce } from '../support/setup.ts'

const declared = { clients: [...clients, consoleClient], users: [...users, ...administrators] }
const running = setupOnce({ declared, notify: async () => {}, background: false })

const mailed = async () =>
  (await takeMails(running.database)).map(({ event, email, data }) => [event, email, data.factor, data.address])

test('a passkey that is added or removed is mailed to its user, one that is refused is not', async () => {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  await takeMails(running.database)
  await registerPasskey(browser, new Authenticator(), { isUserVerified: false })
  assert.deepEqual(await mailed(), [])
  await registerPasskey(browser, new Authenticator())
  assert.deepEqual(await mailed(), [['factor_added', 'alice@example.com', 'passkey', '127.0.0.1']])
  const [id = ''] = await passkeyIds(browser)
  await editPasskey(browser, id, { decision: 'rename', name: 'Laptop' })
  assert.deepEqual(await mailed(), [])
  await editPasskey(browser, id, { decision: 'remove' })
  assert.deepEqual(await mailed(), [['factor_removed', 'alice@example.com', 'passkey', '127.0.0.1']])
})

test('a passkey whose counter goes back is mailed to its user, once a day', async () => {
  const authenticator = new Authenticator()
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  await registerPasskey(browser, authenticator)
  const copy = new TestBrowser(running)
  await signInByPasskey(copy, await copy.get('/account'), authenticator, { counter: 9 })
  await takeMails(running.database)
  const other = new TestBrowser(running)
  for (const counter of [3, 4]) await signInByPasskey(other, await other.get('/account'), authenticator, { counter })
  assert.deepEqual(await mailed(), [['passkey_copied', 'alice@example.com', undefined, '127.0.0.1']])
})

test('a removal by an administrator is mailed without the device of the administrator', async () => {
  const { user, passkey } = await createFixtures(running).passkey()
  const token = await tokenOf(running, 'gatehouse-owner')
  await takeMails(running.database)
  await call(running, token, { method: 'DELETE', url: `/admin/v1/users/${user}/passkeys/${passkey}` })
  const [[event, , factor, address] = [], ...more] = await mailed()
  assert.deepEqual([event, factor, address, more], ['factor_removed', 'passkey', '', []])
})
