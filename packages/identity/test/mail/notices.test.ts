import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { memoryDatabase, postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import type { NotifyRequest } from '../../src/index.ts'
import { migrateIdentity } from '../../src/postgres/index.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { authorizeUrl, clients, getTokens, hiddenFields, pkce, TestBrowser, users } from '../support/journey.ts'
import { takeMails, waitingMails } from '../support/notices.ts'
import { type Running, setup, setupOnce } from '../support/setup.ts'

const [web, , tv] = clients
const writer = { ...web, client_id: 'writer', client_name: 'Writer', scopes: ['openid', 'read:users', 'write:posts'] }
const options = {
  declared: {
    clients: [...clients, writer, { ...tv, client_id: 'console', client_name: 'Console', scopes: ['write:posts'] }],
    users: [...users, { id: 'nameless', password: 'no address at all' }],
  },
  features: { registration: true },
  // Nothing is delivered: the tests read the outbox.
  background: false,
  notify: async () => {},
}

const running = setupOnce(options)
beforeEach(async () => {
  await takeMails(running.database)
  await running.database.query('DELETE FROM identity.message_count')
})

const summary = (mails: readonly NotifyRequest[]) => mails.map(({ event, email }) => `${event} ${email}`)
const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

async function signedIn(headers: Record<string, string> = {}, at: Running | typeof running = running) {
  const browser = new TestBrowser(at, headers, '203.0.113.7')
  await browser.signIn(await browser.get('/account'))
  return browser
}

test('a sign-in from a new browser is announced, one from a known browser is not', async () => {
  const browser = await signedIn(firefox)
  const [notice, ...others] = await takeMails(running.database)
  assert.deepEqual(others, [])
  assert.deepEqual([notice?.event, notice?.email, notice?.locale], ['new_device', 'alice@example.com', 'en-GB'])
  const { device, address, link, at, name } = notice?.data ?? {}
  assert.deepEqual([device, address, name], ['Firefox · Linux', '203.0.113.7', 'Alice Adams'])
  assert.equal(link, 'http://localhost:8080/account', 'from the issuer, without a token')
  assert.match(String(at), /\d{4}.*\d\d:\d\d.*UTC/)
  await browser.post('/end_session/confirm', { decision: 'leave', ...hiddenFields(await browser.get('/end_session')) })
  browser.cookies.delete('gatehouse_session')
  await browser.signIn(await browser.get('/account'))
  assert.match((await browser.get('/account')).text, /Your account/)
  assert.deepEqual(await waitingMails(running.database), [])
  await signedIn(firefox)
  assert.deepEqual(summary(await waitingMails(running.database)), ['new_device alice@example.com'])
})

test('a notice contains no words of the request', async () => {
  await signedIn({ 'user-agent': 'call +1 555 0100 or https://evil.example', host: 'evil.example' })
  const [notice] = await waitingMails(running.database)
  assert.equal(notice?.data.device, '')
  assert.doesNotMatch(JSON.stringify(notice), /evil|555/)
})

test('a notice shows the time in the language and the time zone of the user', async () => {
  const claims = { locale: 'de-DE', zoneinfo: 'Europe/Berlin' }
  const strange = { locale: 'xx-not a language', zoneinfo: 'Mars/Olympus' }
  for (const [id, of, expected] of [
    ['berta', claims, /^\d+\. \p{Letter}+ \d{4} um \d\d:\d\d (MEZ|MESZ)$/u],
    ['marvin', strange, /UTC$/],
  ] as const) {
    await running.identity.management.createUser({
      id,
      email: `${id}@example.com`,
      email_verified: true,
      claims: of,
      password: 'long enough for this',
    })
    const browser = new TestBrowser(running)
    await browser.signIn(await browser.get('/account'), id, 'long enough for this')
    const [notice] = await takeMails(running.database)
    assert.match(String(notice?.data.at), expected)
    await running.identity.management.deleteUser(id)
  }
})

/** What happens to an account, and who is notified. */
const changes: readonly (readonly [string, () => Promise<unknown>, readonly string[]])[] = [
  [
    'a changed password',
    async () => {
      const browser = await signedIn()
      await takeMails(running.database)
      const page = await browser.get('/account/password')
      await browser.submit(page, { old_password: 'correct horse', new_password: 'another password' })
      await running.identity.management.setPassword('alice', 'correct horse')
    },
    ['password_changed alice@example.com', 'password_changed alice@example.com'],
  ],
  [
    'a password that was reset by mail',
    async () => {
      const browser = new TestBrowser(running)
      await browser.submit(await browser.get('/password/forgot'), { email: 'alice@example.com' })
      // The page does not wait for the mail.
      while ((await waitingMails(running.database)).length === 0);
      const [mail] = await takeMails(running.database)
      const page = await browser.get(String(mail?.data.link).replace('http://localhost:8080', ''))
      await browser.submit(page, { new_password: 'correct horse' })
    },
    ['password_reset alice@example.com'],
  ],
  [
    'a changed address, at both addresses',
    async () => {
      await running.identity.management.updateUser('bob', { email: 'robert@example.com', email_verified: true })
    },
    ['email_changed bob@example.com', 'email_changed robert@example.com'],
  ],
  [
    'an application with a scope that changes something, the first time',
    async () => {
      const browser = await signedIn()
      await takeMails(running.database)
      await getTokens(running, { browser, scope: 'openid read:users' })
      for (const client_id of ['writer', 'writer']) {
        const request = { client_id, response_type: 'code', scope: 'openid write:posts', prompt: 'consent' }
        const { code_challenge } = pkce()
        const page = await browser.get(authorizeUrl({ ...request, code_challenge, code_challenge_method: 'S256' }))
        assert.equal((await browser.submit(page, { decision: 'allow' })).status, 303)
      }
    },
    ['app_connected alice@example.com'],
  ],
  [
    'a device with such a scope',
    async () => {
      const browser = await signedIn()
      await takeMails(running.database)
      const { body } = await running.post('/device_authorization', { client_id: 'console', scope: 'write:posts' })
      const form = await browser.get('/device')
      const page = await browser.submit(form, { user_code: String(body.user_code) })
      assert.match((await browser.submit(page, { decision: 'allow' })).text, /Device connected/)
    },
    ['app_connected alice@example.com'],
  ],
]

for (const [what, change, expected] of changes)
  test(`the owner is notified of ${what}`, async () => {
    await change()
    assert.deepEqual(summary(await waitingMails(running.database)), expected)
  })

test('the notice to the old address does not name the new one', async () => {
  await running.identity.management.updateUser('bob', { email: 'private@example.com', email_verified: true })
  const [old] = await waitingMails(running.database)
  assert.equal(old?.event, 'email_changed')
  assert.doesNotMatch(JSON.stringify(old), /private/)
})

test('a password that was not changed is not announced', async () => {
  const browser = await signedIn()
  const page = await browser.get('/account/password')
  await running.identity.management.setPassword('alice', 'correct horse')
  await takeMails(running.database)
  const response = await browser.submit(page, { old_password: 'correct horse', new_password: 'another password' })
  assert.notEqual(response.status, 303)
  assert.deepEqual(await waitingMails(running.database), [])
})

test('an account without an address gets no notice, and without mail nobody does', async () => {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'nameless', 'no address at all')
  assert.match((await browser.get('/account')).text, /Your account/)
  const { notify: _, ...withoutMail } = options
  const off = await setup({ ...withoutMail, features: {} })
  await signedIn({}, off)
  assert.deepEqual(await waitingMails(running.database), [])
  assert.deepEqual(await waitingMails(off.database), [])
  await off.close()
})

test('the owner of an attacked account is notified once a day', async () => {
  const clock = running.clock
  const limited = await setup({ ...options, ...attemptLimits({ 'login-account': 2 }, clock), clock }, running.database)
  const fail = async () => {
    const browser = new TestBrowser(limited)
    await browser.submit(await browser.get('/account'), { username: 'alice', password: 'wrong' })
  }
  const notices = async () =>
    (await waitingMails(running.database)).filter((mail) => mail.event === 'too_many_failures')
  for (let i = 0; i < 5; i++) await fail()
  // The page does not wait for the notice.
  while ((await notices()).length === 0) await fail()
  for (let i = 0; i < 5; i++) await fail()
  assert.equal((await notices()).length, 1)
  await limited.close()
})

test('an attacker who signs in again and again does not flood the mailbox', async () => {
  for (let i = 0; i < 8; i++) await signedIn()
  assert.equal((await takeMails(running.database)).length, 5)
  running.clock.advance(3_600_000)
  await signedIn()
  assert.equal((await waitingMails(running.database)).length, 1)
})

testWith('postgresql', 'of 20 sign-ins at once from new browsers, five are announced', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 20)
  const many = await setup(options, database)
  try {
    const browsers = await Promise.all(Array.from({ length: 20 }, () => signedIn({}, many)))
    assert.ok(browsers.every(({ cookies }) => cookies.has('gatehouse_session')))
    assert.equal((await waitingMails(database)).length, 5)
  } finally {
    await many.close()
    await database.close()
    await server.stop()
  }
})

test('a notice that is delivered again carries the same id', async () => {
  const database = await memoryDatabase(migrateIdentity)
  const sent: NotifyRequest[] = []
  const again = Promise.withResolvers<void>()
  const retried = await setup(
    {
      ...options,
      background: true,
      async notify(request) {
        sent.push(request)
        if (sent.length === 1) throw new Error('the connection was lost after the request')
        again.resolve()
      },
    },
    database,
  )
  await signedIn({}, retried)
  while (sent.length === 0) await new Promise(setImmediate)
  retried.clock.advance(60_000)
  await signedIn({}, retried)
  await again.promise
  assert.equal(sent[0]?.event, 'new_device')
  assert.deepEqual(sent.filter(({ dedup_key: key }) => key === sent[0]?.dedup_key).length, 2)
  await retried.close()
  await database.close()
})

for (const moment of ['commit', 'delivery'] as const)
  testWith('postgresql', `a notice is sent once although the process dies after the ${moment}`, async () => {
    const server = await sharedPostgres()
    const database = await postgresDatabase(server, 4)
    try {
      const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
      const url = new URL(`/${rows[0]?.name}`, server.url).href
      const child = fork(join(import.meta.dirname, '../support/dying-process.ts'), [url, moment])
      const sent: NotifyRequest[] = []
      child.on('message', (request: NotifyRequest) => sent.push(request))
      const [, signal] = await once(child, 'exit')
      assert.equal(signal, 'SIGKILL')
      const changed = Promise.withResolvers<void>()
      const survivor = await setup(
        {
          declared: { users },
          async notify(request) {
            if (request.event !== 'password_changed') return
            sent.push(request)
            changed.resolve()
          },
        },
        database,
      )
      // The lease of the process that died ends.
      survivor.clock.advance(120_000)
      await signedIn({}, survivor)
      await changed.promise
      await survivor.close()
      assert.equal(sent.length, moment === 'commit' ? 1 : 2)
      assert.equal(new Set(sent.map(({ dedup_key: key }) => key)).size, 1, 'the notification service sends it once')
      assert.deepEqual(
        (await waitingMails(database)).filter(({ event }) => event === 'password_changed'),
        [],
      )
    } finally {
      await database.close()
      await server.stop()
    }
  })
