import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import { postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import type { AttemptLimitName, NotifyRequest } from '../../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { isNotice } from '../support/notices.ts'
import { type Running, service, setup, type TestResponse } from '../support/setup.ts'

const withoutAddress = { id: 'carol', password: 'tr0ub4dor and three' }

interface AttemptTest {
  readonly running: Running
  readonly clock: ManualClock
  /** Signs in from an address, in a new browser by default. */
  attempt(name: string, password: string, from?: { address?: string; browser?: TestBrowser }): Promise<TestResponse>
  /** The path of the next mailed link. */
  link(): Promise<string>
  readonly mails: readonly NotifyRequest[]
  [Symbol.asyncDispose](): Promise<void>
}

async function setupLimits(
  smaller: Partial<Record<AttemptLimitName, number>>,
  { mail = true }: { readonly mail?: boolean } = {},
): Promise<AttemptTest> {
  const clock = manualClock()
  const mails: NotifyRequest[] = []
  const waiting: (() => void)[] = []
  const notify = async (request: NotifyRequest) => {
    if (isNotice(request)) return
    mails.push(request)
    waiting.shift()?.()
  }
  let read = 0
  const running = await setup({
    declared: { clients: [...clients, service], users: [...users, withoutAddress] },
    clock,
    ...attemptLimits(smaller, clock),
    ...(mail ? { notify } : {}),
  })
  return {
    running,
    clock,
    mails,
    async attempt(username, password, { address, browser = new TestBrowser(running, {}, address) } = {}) {
      return browser.submit(await browser.get('/account'), { username, password })
    },
    async link() {
      const at = read++
      if (mails.length <= at) await new Promise<void>((resolve) => waiting.push(resolve))
      return String(mails[at]?.data.link).replace('http://localhost:8080', '')
    },
    [Symbol.asyncDispose]: () => running.close(),
  }
}

const statusesOf = (responses: readonly TestResponse[], status: number) =>
  responses.filter((response) => response.status === status).length

test('guesses at many accounts from one address are limited, even concurrent ones', async () => {
  await using it = await setupLimits({ 'login-address': 4 })
  const guesses = Array.from({ length: 12 }, (_, i) => it.attempt(`person-${i}@example.com`, 'Summer2026!'))
  const responses = await Promise.all(guesses)
  assert.deepEqual([statusesOf(responses, 401), statusesOf(responses, 429)], [4, 8])
  assert.equal(
    (await it.attempt('bob', 'wrong', { address: '192.0.2.7' })).status,
    401,
    'other addresses are not limited',
  )
})

test('successful sign-ins from one address consume nothing', async () => {
  await using it = await setupLimits({ 'login-address': 2, 'login-account': 2 })
  for (let i = 0; i < 6; i++) {
    const right = await (i % 2 ? it.attempt('alice', 'correct horse') : it.attempt('bob', 'battery staple'))
    assert.equal(right.status, 303)
  }
  for (const status of [401, 401, 429]) assert.equal((await it.attempt('nobody', 'wrong')).status, status)
})

test('a known device signs in even when the limit of its address is exceeded', async () => {
  await using it = await setupLimits({ 'login-address': 1 })
  const browser = new TestBrowser(it.running)
  await it.attempt('alice', 'correct horse', { browser })
  browser.cookies.delete('gatehouse_session')
  for (const status of [401, 429]) assert.equal((await it.attempt('nobody', 'wrong')).status, status)
  assert.equal((await it.attempt('alice', 'correct horse', { browser })).status, 303)
})

test('guesses at the current password of an account are limited across all addresses', async () => {
  for (const mail of [true, false]) {
    await using it = await setupLimits({ 'login-account': 3 }, { mail })
    const thief = new TestBrowser(it.running)
    await it.attempt('alice', 'correct horse', { browser: thief })
    const page = await thief.get('/account/password')
    const guess = async (from: number, old_password: string) => {
      const browser = new TestBrowser(it.running, {}, `198.51.100.${from}`)
      for (const [name, value] of thief.cookies) browser.cookies.set(name, value)
      return (await browser.submit(page, { old_password, new_password: 'a better one' })).status
    }
    for (let from = 0; from < 3; from++) assert.equal(await guess(from, `wrong ${from}`), 400)
    assert.equal(await guess(4, 'correct horse'), 429, 'the correct one too, so that a guess learns nothing')
    it.clock.advance(7_200_000)
    assert.equal(await guess(5, 'correct horse'), 200)
  }
})

test('a correct current password consumes nothing', async () => {
  await using it = await setupLimits({ 'login-account': 1 })
  const browser = new TestBrowser(it.running)
  await it.attempt('alice', 'correct horse', { browser })
  for (let round = 0; round < 3; round++) {
    const words = { old_password: 'correct horse', new_password: 'short' }
    const response = await browser.submit(await browser.get('/account/password'), words)
    assert.match(response.text, /at least 8 char/)
  }
})

/** Fails as alice from several addresses until an unknown device must confirm by mail. */
async function attackAccount(options: { readonly mail?: boolean } = {}): Promise<AttemptTest> {
  const it = await setupLimits({ 'login-account': 2 }, options)
  for (let i = 0; i < 3; i++) await it.attempt('alice', 'wrong', { address: `198.51.100.${i}` })
  return it
}

const pageOf = ({ status, text }: TestResponse) => [status, text]

test('above the account limit every password gets the same page, and a correct one a mail', async () => {
  await using it = await attackAccount()
  const wrong = await it.attempt('alice', 'still wrong')
  assert.equal(wrong.status, 200)
  assert.match(wrong.text, /Check your email/)
  assert.deepEqual(pageOf(await it.attempt('alice', 'correct horse')), pageOf(wrong))
  assert.match(await it.link(), /^\/login\/confirm\?token=/)
  assert.deepEqual(
    it.mails.map(({ event, user_id: user }) => [event, user]),
    [['confirm_sign_in', 'alice']],
  )
})

test('above the limit an unknown name gets the same page as an account', async () => {
  await using it = await attackAccount()
  for (let i = 0; i < 3; i++) await it.attempt('nobody', 'wrong', { address: `198.51.100.${i}` })
  assert.deepEqual(pageOf(await it.attempt('nobody', 'wrong')), pageOf(await it.attempt('alice', 'wrong')))
})

test('the owner of an attacked account signs in by the mailed link, once, in the same browser', async () => {
  await using it = await attackAccount()
  const browser = new TestBrowser(it.running)
  await it.attempt('alice', 'correct horse', { browser })
  const path = await it.link()
  const elsewhere = await new TestBrowser(it.running).get(path)
  assert.equal(elsewhere.status, 400, 'the link does not work in another browser')
  assert.match(elsewhere.text, /in another browser/)
  const page = await browser.get(path)
  assert.match(page.text, /sign in as alice/)
  assert.equal(browser.cookies.has('gatehouse_session'), false, 'opening the link does not sign in')
  const responses = await Promise.all([browser.submit(page, {}), browser.submit(page, {})])
  assert.deepEqual(responses.map(({ status }) => status).sort(), [303, 400])
  assert.match((await browser.get('/account')).text, /alice/)
  assert.equal((await browser.get(path)).status, 400)
  browser.cookies.delete('gatehouse_session')
  assert.equal((await it.attempt('alice', 'correct horse', { browser })).status, 303, 'the device is now known')
})

test('a sign-in link is invalid after a password change and after it has expired', async () => {
  await using it = await attackAccount()
  const begin = async () => {
    const browser = new TestBrowser(it.running)
    await it.attempt('alice', 'correct horse', { browser })
    return { browser, page: await browser.get(await it.link()) }
  }
  const changed = await begin()
  assert.equal(changed.page.status, 200)
  await it.running.database.query(
    "UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = 'alice'",
  )
  assert.equal((await changed.browser.submit(changed.page, {})).status, 400)
  const late = await begin()
  assert.equal(late.page.status, 200)
  it.clock.advance(15 * 60_000)
  assert.equal((await late.browser.submit(late.page, {})).status, 400)
})

test('an attacked account without mail or an address still lets its owner sign in', async () => {
  await using off = await attackAccount({ mail: false })
  assert.equal((await off.attempt('alice', 'wrong')).status, 401)
  assert.equal((await off.attempt('alice', 'correct horse')).status, 303)
  await using it = await setupLimits({ 'login-account': 1 })
  for (let i = 0; i < 2; i++) await it.attempt('carol', 'wrong', { address: `198.51.100.${i}` })
  assert.match((await it.attempt('carol', 'wrong')).text, /Check your email/)
  assert.equal((await it.attempt('carol', withoutAddress.password)).status, 303)
})

testWith('postgresql', 'of 10 concurrent uses of a sign-in link on PostgreSQL, one succeeds', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server)
  try {
    await migrateIdentity(database)
    const running = await setup({ declared: { clients: [service], users } }, database)
    const { signInLinks, users: accounts } = postgresIdentityStore(database)
    const alice = (await accounts.find('alice')) ?? assert.fail('no alice')
    const link = { hash: 'h', browserHash: 'b', continuation: 'c', amr: ['pwd'], expiresAt: 10 }
    const bound = { user: { ...alice, email: 'alice@example.com' } }
    const mail = { id: crypto.randomUUID(), kind: 'mail', subject: 'alice', payloadSealed: '', dueAt: 0, expiresAt: 1 }
    await signInLinks.put({ ...link, ...bound }, [{ ...mail, kind: 'mail' }])
    const used = await Promise.all(Array.from({ length: 10 }, () => signInLinks.consume('h', 'b', 5)))
    assert.equal(used.filter((one) => one !== undefined).length, 1)
    await running.close()
  } finally {
    await database.close()
    await server.stop()
  }
})

test('login attempts by name and by email address share their counters', async () => {
  const checked: string[] = []
  const counted = await setup({
    declared: { clients, users },
    limit: async (policy, identifiers) => {
      checked.push(`${policy} ${identifiers.account ?? identifiers.client}`)
      return { allowed: !policy.startsWith('login'), retryAfter: 7 }
    },
  })
  const browser = new TestBrowser(counted)
  const page = await browser.get('/account')
  const byName = await browser.submit(page, { username: 'alice', password: 'correct horse' })
  const byEmail = await browser.submit(page, { username: 'ALICE@example.com', password: 'correct horse' })
  assert.deepEqual([byName.status, byName.headers['retry-after'], byEmail.status], [429, '7', 429])
  assert.deepEqual(checked, ['login alice', 'login alice'])
  await counted.close()
})

test('a known device is counted by account and address together only', async () => {
  const checked: string[] = []
  const counted = await setup({
    declared: { clients, users },
    notify: async () => {},
    limit: async (policy) => {
      checked.push(policy)
      return { allowed: true }
    },
  })
  const browser = new TestBrowser(counted)
  await browser.signIn(await browser.get('/account'))
  browser.cookies.delete('gatehouse_session')
  await browser.signIn(await browser.get('/account'))
  assert.deepEqual(checked, ['login', 'login-address', 'login-account', 'login'])
  await counted.close()
})

test('a successful sign-in resets the counter of failed attempts', async () => {
  const resets: string[] = []
  const counted = await setup({
    declared: { clients, users },
    forgive: async (policy, { account, address }) => {
      resets.push(`${policy} ${account} ${address}`)
    },
  })
  const browser = new TestBrowser(counted)
  const page = await browser.get('/account')
  await browser.submit(page, { username: 'alice', password: 'wrong' })
  assert.deepEqual(resets, [])
  await browser.signIn(page)
  assert.deepEqual(resets, ['login alice 127.0.0.1'])
  await counted.close()
})

test('a sign-in succeeds when its counters cannot be reset', async () => {
  const counted = await setup({
    declared: { clients, users },
    forgive: async () => Promise.reject(new Error('the store is unavailable')),
  })
  const browser = new TestBrowser(counted)
  assert.equal((await browser.signIn(await browser.get('/account'))).status, 200)
  await counted.close()
})
