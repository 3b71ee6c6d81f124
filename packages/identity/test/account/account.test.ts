import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { memoryDatabase } from '@gatehouse/testing'
import type { NotifyRequest } from '../../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { authorizeUrl, clients, getTokens, pkce, TestBrowser, users, webSecret } from '../support/journey.ts'
import { type Running, service, setup, type TestResponse } from '../support/setup.ts'

let running: Running
/** Mails that are tested in notices.test.ts. */
const notices: ReadonlySet<string> = new Set(['new_device', 'password_changed', 'password_reset', 'email_changed'])
const mails: NotifyRequest[] = []
const waiting: ((mail: NotifyRequest) => void)[] = []
before(async () => {
  running = await setup({
    declared: { clients: [...clients, service], users },
    features: { registration: true },
    notify: async (request) => {
      if (notices.has(request.event)) return
      const next = waiting.shift()
      if (next) next(request)
      else mails.push(request)
    },
  })
})
after(() => running.close())

function nextMail(): Promise<NotifyRequest> {
  const mail = mails.shift()
  return mail ? Promise.resolve(mail) : new Promise((resolve) => waiting.push(resolve))
}

const pathOf = (mail: NotifyRequest) => String(mail.data.link).replace('http://localhost:8080', '')

const refreshWith = (refresh_token = '') =>
  running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })

async function loginPage(browser: TestBrowser): Promise<TestResponse> {
  return browser.get(authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }))
}

test('a user lists and revokes connected apps and sessions', async () => {
  const browser = new TestBrowser(running, { 'user-agent': 'Test Browser 1' })
  const tokens = await getTokens(running, { browser })
  const page = await browser.get('/account')
  assert.match(page.text, /Photo Print/)
  assert.match(page.text, /Test Browser 1/)
  assert.match(page.text, /this browser/)
  const ended = await browser.submit(page, { client_id: 'web' })
  assert.equal(ended.headers.location, '/account')
  assert.equal((await refreshWith(tokens.refresh_token)).body.error, 'invalid_grant')
  const feed = await running.identity.revocations(undefined)
  assert.ok(feed.revocations.some((one) => 'grant' in one))
})

test('a password change ends every other session and grant', async () => {
  const tokens = await getTokens(running, { user: ['bob', 'battery staple'] })
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'bob', 'battery staple')
  const page = await browser.get('/account/password')
  const wrong = await browser.submit(page, { old_password: 'nope', new_password: 'a better one' })
  assert.match(wrong.text, /current password is incorrect/)
  assert.match(
    (await browser.submit(page, { old_password: 'battery staple', new_password: 'short' })).text,
    /at least 8 char/,
  )
  const done = await browser.submit(page, { old_password: 'battery staple', new_password: 'a better one' })
  assert.match(done.text, /Password changed/)
  assert.equal((await refreshWith(tokens.refresh_token)).body.error, 'invalid_grant')
  assert.match((await browser.get('/account')).text, /Your account/)
})

test('a password reset link works once and is built from the configured issuer', async () => {
  const browser = new TestBrowser(running, { host: 'evil.example' })
  const page = await browser.get('/password/forgot')
  const unknown = await browser.submit(page, { email: 'nobody@example.com' })
  const known = await browser.submit(page, { email: 'Alice@Example.com' })
  assert.equal(unknown.text, known.text, 'the page does not reveal whether there is an account')
  const mail = await nextMail()
  assert.equal(mail.event, 'reset_password')
  assert.ok(String(mail.data.link).startsWith('http://localhost:8080/'), 'the Host header is ignored')
  const form = await browser.get(pathOf(mail))
  assert.match((await browser.submit(form, { new_password: 'short' })).text, /at least 8 char/)
  assert.match((await browser.submit(form, { new_password: 'correct horse' })).text, /Password changed/)
  assert.equal((await browser.submit(form, { new_password: 'again and again' })).status, 400)
})

test('an account is created only after its email address is confirmed', async () => {
  const browser = new TestBrowser(running)
  const page = await browser.get('/register')
  const count = async () =>
    (await running.database.query<{ n: number }>('SELECT count(*) n FROM identity.account')).rows[0]?.n
  const before = await count()
  const input = { email: 'carol@example.com' }
  assert.match((await browser.submit(page, { email: 'carol' })).text, /valid email address/)
  const pending = await browser.submit(page, input)
  assert.match(pending.text, /carol@example\.com/)
  const mail = await nextMail()
  assert.equal(mail.event, 'confirm_registration')
  assert.equal(await count(), before)
  const confirm = await browser.get(pathOf(mail))
  assert.equal(await count(), before, 'a mail scanner that follows the link creates no account')
  assert.match((await browser.submit(confirm, { name: 'Carol', new_password: 'short' })).text, /at least 8 char/)
  const ready = await browser.submit(confirm, { name: 'Carol', new_password: 'tea for two' })
  assert.match(ready.text, /Your account is ready/)
  assert.match((await browser.signIn(await loginPage(browser), 'carol@example.com', 'tea for two')).text, /consent/)
  const other = new TestBrowser(running)
  const again = await other.submit(await other.get('/register'), input)
  assert.equal(again.text, pending.text, 'an address with an account looks the same')
  const reminder = await nextMail()
  assert.deepEqual(
    [reminder.event, reminder.user_id, reminder.data.link],
    ['account_exists', mail.user_id, 'http://localhost:8080/account'],
  )
})

test('a form with an invalid field marks the field and links back to sign-in', async () => {
  const browser = new TestBrowser(running)
  const page = await browser.get('/register')
  assert.doesNotMatch(page.text, /aria-invalid/)
  const invalid = async (sent: Record<string, string>) =>
    [
      ...(await browser.submit(page, sent)).text.matchAll(
        /<input id="(\w+)"[^>]*aria-invalid="true" aria-describedby="wrong/g,
      ),
    ].map(([, id]) => id)
  assert.deepEqual(await invalid({ email: 'dora' }), ['email'])
  for (const path of ['/register', '/password/forgot'])
    assert.match((await browser.get(path)).text, /<a href="\/account">Sign in<\/a>/)
})

test('registration takes equally long for known and unknown email addresses', async () => {
  const database = await memoryDatabase(migrateIdentity)
  const store = postgresIdentityStore(database)
  const lookups: string[] = []
  const users = Object.assign(Object.create(store.users), {
    findByLogin(login: string) {
      lookups.push(login)
      return new Promise(() => {})
    },
  })
  const slow = await setup(
    { store: { ...store, users }, features: { registration: true }, notify: async () => {} },
    database,
  )
  const browser = new TestBrowser(slow)
  const page = await browser.get('/register')
  const response = await browser.submit(page, { email: 'carol@example.com' })
  assert.equal(response.status, 200)
  assert.match(response.text, /carol@example\.com/)
  assert.deepEqual(lookups, ['carol@example.com'], 'the response does not wait for the lookup')
  await slow.close()
  await database.close()
})

test('a new email address is verified by a mailed link, once its form is submitted', async () => {
  await running.identity.management.createUser({ id: 'erin', email: 'erin@example.com', password: 'long enough' })
  const mail = await nextMail()
  assert.deepEqual([mail.event, mail.user_id], ['verify_email', 'erin'])
  const verified = async () => (await running.identity.management.listUsers('erim', 1))[0]?.email_verified
  const browser = new TestBrowser(running)
  const page = await browser.get(pathOf(mail))
  assert.equal(await verified(), false)
  assert.match((await browser.submit(page)).text, /Email address confirmed/)
  assert.equal(await verified(), true)
  assert.equal((await browser.get(pathOf(mail))).status, 400, 'the link was used')
  await running.identity.management.updateUser('erin', { email: 'erin@example.org' })
  assert.equal(await verified(), false)
  assert.equal((await nextMail()).event, 'verify_email')
})
