import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { NotifyRequest } from '../../src/index.ts'
import { clients, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

let running: Running
const mailed = Promise.withResolvers<NotifyRequest>()
before(async () => {
  running = await setup({ declared: { clients, users }, notify: async (request) => mailed.resolve(request) })
})
after(() => running.close())

const makeKey = async (owner: string, name: string) => {
  const made = await running.identity.management.createApiKey({ owner, name, scopes: ['read:users'] })
  return { id: made.id, key: String(made.key) }
}
const works = async ({ key }: { key: string }) => (await running.identity.resolveApiKey(key)) !== undefined

test('a user lists and deletes their own API keys and nobody else’s', async () => {
  const own = await makeKey('alice', 'Nightly report')
  const other = await makeKey('bob', "Bob's key")
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  const page = await browser.get('/account')
  assert.match(page.text, /Nightly report/)
  assert.doesNotMatch(page.text, /Bob/)
  assert.ok(!page.text.includes(own.key))
  const forged = await browser.post('/account/end', { api_key_id: own.id, form_token: 'forged' })
  assert.equal(forged.status, 403)
  const form_token = String(hiddenFields(page).form_token)
  const end = (api_key_id: string) => browser.post('/account/end', { api_key_id, form_token })
  await end(other.id)
  await end('not a key')
  assert.deepEqual([await works(own), await works(other)], [true, true])
  assert.equal((await end(own.id)).status, 303)
  assert.deepEqual([await works(own), await works(other)], [false, true])
  assert.doesNotMatch((await browser.get('/account')).text, /Nightly report/)
})

test('API keys survive a password change by their owner, but not a reset', async () => {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  const kept = await makeKey('alice', 'kept')
  const change = await browser.get('/account/password')
  await browser.submit(change, { old_password: 'correct horse', new_password: 'a better one' })
  assert.equal(await works(kept), true)
  await browser.submit(await browser.get('/password/forgot'), { email: 'alice@example.com' })
  const link = String((await mailed.promise).data.link).replace('http://localhost:8080', '')
  await browser.submit(await browser.get(link), { new_password: 'correct horse' })
  assert.equal(await works(kept), false)
  const second = await makeKey('alice', 'second')
  await running.identity.management.setPassword('alice', 'another password')
  assert.equal(await works(second), false)
})
