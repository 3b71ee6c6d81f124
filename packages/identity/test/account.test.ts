import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { memoryDatabase } from '@gatehouse/testing'
import type { NotifyRequest } from '../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../src/postgres/index.ts'
import { authorizeUrl, clients, getTokens, pkce, TestBrowser, users, webSecret } from './journey.ts'
import { type Answer, type Running, service, setup } from './setup.ts'

let running: Running
const mails: NotifyRequest[] = []
const waiting: ((mail: NotifyRequest) => void)[] = []
before(async () => {
  running = await setup({
    declared: { clients: [...clients, service], users },
    features: { registration: true },
    notify: async (request) => {
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

async function loginPage(browser: TestBrowser): Promise<Answer> {
  return browser.get(authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }))
}

test('a user sees connected apps and sessions, and ends them', async () => {
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

test('a changed password ends what was signed in with the old one, save this browser (checklist 8)', async () => {
  const tokens = await getTokens(running, { user: ['bob', 'battery staple'] })
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'bob', 'battery staple')
  const page = await browser.get('/account/password')
  const wrong = await browser.submit(page, { old_password: 'nope', new_password: 'a better one' })
  assert.match(wrong.text, /not right/)
  assert.match(
    (await browser.submit(page, { old_password: 'battery staple', new_password: 'short' })).text,
    /at least 8 char/,
  )
  const done = await browser.submit(page, { old_password: 'battery staple', new_password: 'a better one' })
  assert.match(done.text, /Password changed/)
  assert.equal((await refreshWith(tokens.refresh_token)).body.error, 'invalid_grant')
  assert.match((await browser.get('/account')).text, /Your account/)
})

test('a password is reset by a mailed link that works once (checklist 21)', async () => {
  const browser = new TestBrowser(running, { host: 'evil.example' })
  const page = await browser.get('/password/forgot')
  const unknown = await browser.submit(page, { email: 'nobody@example.com' })
  const known = await browser.submit(page, { email: 'Alice@Example.com' })
  assert.equal(unknown.text, known.text, 'the answer does not tell whether there is an account')
  const mail = await nextMail()
  assert.equal(mail.event, 'reset_password')
  assert.ok(String(mail.data.link).startsWith('http://localhost:8080/'), 'the Host header has no say in it')
  const form = await browser.get(pathOf(mail))
  assert.match((await browser.submit(form, { new_password: 'short' })).text, /at least 8 char/)
  assert.match((await browser.submit(form, { new_password: 'correct horse' })).text, /Password changed/)
  assert.equal((await browser.submit(form, { new_password: 'again and again' })).status, 400)
})

test('people make accounts themselves, once their address is proven; until then there is none', async () => {
  const browser = new TestBrowser(running)
  const page = await browser.get('/register')
  const count = async () =>
    (await running.database.query<{ n: number }>('SELECT count(*) n FROM identity.account')).rows[0]?.n
  const before = await count()
  const input = { email: 'carol@example.com' }
  assert.match((await browser.submit(page, { email: 'carol' })).text, /not an email address/)
  const asked = await browser.submit(page, input)
  assert.match(asked.text, /carol@example\.com/)
  const mail = await nextMail()
  assert.equal(mail.event, 'confirm_registration')
  assert.equal(await count(), before)
  const confirm = await browser.get(pathOf(mail))
  assert.equal(await count(), before, 'a mail scanner that follows the link makes no account')
  assert.match((await browser.submit(confirm, { name: 'Carol', new_password: 'short' })).text, /at least 8 char/)
  const ready = await browser.submit(confirm, { name: 'Carol', new_password: 'tea for two' })
  assert.match(ready.text, /Your account is ready/)
  assert.match((await browser.signIn(await loginPage(browser), 'carol@example.com', 'tea for two')).text, /consent/)
  const other = new TestBrowser(running)
  const again = await other.submit(await other.get('/register'), input)
  assert.equal(again.text, asked.text, 'an address with an account looks the same')
  const reminder = await nextMail()
  assert.deepEqual(
    [reminder.event, reminder.user_id, reminder.data.link],
    ['account_exists', mail.user_id, 'http://localhost:8080/account'],
  )
})

test('a page that asks says which field is wrong, and leads back to signing in', async () => {
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

test('registering takes as long with an address that has an account as with one that has none', async () => {
  const database = await memoryDatabase(migrateIdentity)
  const store = postgresIdentityStore(database)
  const asked: string[] = []
  const users = Object.assign(Object.create(store.users), {
    findByLogin(login: string) {
      asked.push(login)
      return new Promise(() => {})
    },
  })
  const slow = await setup(
    { store: { ...store, users }, features: { registration: true }, notify: async () => {} },
    database,
  )
  const browser = new TestBrowser(slow)
  const page = await browser.get('/register')
  const answer = await browser.submit(page, { email: 'carol@example.com' })
  assert.equal(answer.status, 200)
  assert.match(answer.text, /carol@example\.com/)
  assert.deepEqual(asked, ['carol@example.com'], 'the answer does not wait for what is looked up')
  await slow.close()
  await database.close()
})

test('a new address is proven by a mailed link, and only when its page is confirmed', async () => {
  await running.identity.management.createUser({ id: 'erin', email: 'erin@example.com', password: 'long enough' })
  const mail = await nextMail()
  assert.deepEqual([mail.event, mail.user_id], ['verify_email', 'erin'])
  const verified = async () => (await running.identity.management.listUsers('erim', 1))[0]?.email_verified
  const browser = new TestBrowser(running)
  const page = await browser.get(pathOf(mail))
  assert.equal(await verified(), false)
  assert.match((await browser.submit(page)).text, /Address confirmed/)
  assert.equal(await verified(), true)
  assert.equal((await browser.get(pathOf(mail))).status, 400, 'the link is used')
  await running.identity.management.updateUser('erin', { email: 'erin@example.org' })
  assert.equal(await verified(), false)
  assert.equal((await nextMail()).event, 'verify_email')
})

test('every password path shares the counters (checklist 15)', async () => {
  const asked: string[] = []
  const counted = await setup({
    declared: { clients, users },
    limit: async (policy, identifiers) => {
      asked.push(`${policy} ${identifiers.account ?? identifiers.client}`)
      return { allowed: !policy.startsWith('login'), retryAfter: 7 }
    },
  })
  const browser = new TestBrowser(counted)
  const page = await browser.get('/account')
  const byName = await browser.submit(page, { username: 'alice', password: 'correct horse' })
  const byEmail = await browser.submit(page, { username: 'ALICE@example.com', password: 'correct horse' })
  assert.deepEqual([byName.status, byName.headers['retry-after'], byEmail.status], [429, '7', 429])
  assert.deepEqual(asked, ['login alice', 'login alice'])
  await counted.close()
})

test('a known device is counted by account and address together alone', async () => {
  const asked: string[] = []
  const counted = await setup({
    declared: { clients, users },
    notify: async () => {},
    limit: async (policy) => {
      asked.push(policy)
      return { allowed: true }
    },
  })
  const browser = new TestBrowser(counted)
  await browser.signIn(await browser.get('/account'))
  browser.cookies.delete('gatehouse_session')
  await browser.signIn(await browser.get('/account'))
  assert.deepEqual(asked, ['login', 'login-address', 'login-account', 'login'])
  await counted.close()
})

test('whoever signs in with the right password has guessed no more: the tries counted before are forgotten', async () => {
  const forgiven: string[] = []
  const counted = await setup({
    declared: { clients, users },
    forgive: async (policy, { account, address }) => {
      forgiven.push(`${policy} ${account} ${address}`)
    },
  })
  const browser = new TestBrowser(counted)
  const page = await browser.get('/account')
  await browser.submit(page, { username: 'alice', password: 'wrong' })
  assert.deepEqual(forgiven, [])
  await browser.signIn(page)
  assert.deepEqual(forgiven, ['login alice 127.0.0.1'])
  await counted.close()
})

test('a sign-in succeeds although the counters can’t be reached to forget', async () => {
  const counted = await setup({
    declared: { clients, users },
    forgive: async () => Promise.reject(new Error('the store is away')),
  })
  const browser = new TestBrowser(counted)
  assert.equal((await browser.signIn(await browser.get('/account'))).status, 200)
  await counted.close()
})

test('pages speak the language that is asked for', async () => {
  const german = await running.http.inject({
    url: '/account',
    headers: { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' },
  })
  assert.match(german.payload, /<html lang="de">/)
  assert.match(german.payload, /Anmelden/)
  const asked = authorizeUrl({
    client_id: 'web',
    response_type: 'code',
    scope: 'openid',
    ui_locales: 'fr de',
    ...pkce(),
  })
  assert.match((await running.http.inject(asked)).payload, /<html lang="de">/)
})
