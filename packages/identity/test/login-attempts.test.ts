import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import { postgresDatabase, startPostgres, testWith } from '@gatehouse/testing'
import type { AttemptLimitName, NotifyRequest } from '../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../src/postgres/index.ts'
import { attemptLimits } from './attempt-limits.ts'
import { clients, TestBrowser, users } from './journey.ts'
import { type Answer, type Running, service, setup } from './setup.ts'

const withoutAddress = { id: 'carol', password: 'tr0ub4dor and three' }

interface Bench {
  readonly running: Running
  readonly clock: ManualClock
  /** Tries a name and a password from an address; the browser is a new one unless given. */
  attempt(name: string, password: string, from?: { address?: string; browser?: TestBrowser }): Promise<Answer>
  /** The path of the next mailed link. */
  link(): Promise<string>
  readonly mails: readonly NotifyRequest[]
  [Symbol.asyncDispose](): Promise<void>
}

async function bench(
  smaller: Partial<Record<AttemptLimitName, number>>,
  { mail = true }: { readonly mail?: boolean } = {},
): Promise<Bench> {
  const clock = manualClock()
  const mails: NotifyRequest[] = []
  const waiting: (() => void)[] = []
  const notify = async (request: NotifyRequest) => {
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

const statusesOf = (answers: readonly Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length

test('one guess at each of many accounts from one address is stopped, also when all come at once', async () => {
  await using it = await bench({ 'login-address': 4 })
  const guesses = Array.from({ length: 12 }, (_, i) => it.attempt(`person-${i}@example.com`, 'Summer2026!'))
  const answers = await Promise.all(guesses)
  assert.deepEqual([statusesOf(answers, 401), statusesOf(answers, 429)], [4, 8])
  assert.equal((await it.attempt('bob', 'wrong', { address: '192.0.2.7' })).status, 401, 'elsewhere it goes on')
})

test('any number of right sign-ins from one address use nothing up', async () => {
  await using it = await bench({ 'login-address': 2, 'login-account': 2 })
  for (let i = 0; i < 6; i++) {
    const right = await (i % 2 ? it.attempt('alice', 'correct horse') : it.attempt('bob', 'battery staple'))
    assert.equal(right.status, 303)
  }
  for (const status of [401, 401, 429]) assert.equal((await it.attempt('nobody', 'wrong')).status, status)
})

test('past the limit of an address a device that is known signs in all the same', async () => {
  await using it = await bench({ 'login-address': 1 })
  const browser = new TestBrowser(it.running)
  await it.attempt('alice', 'correct horse', { browser })
  browser.cookies.delete('gatehouse_session')
  for (const status of [401, 429]) assert.equal((await it.attempt('nobody', 'wrong')).status, status)
  assert.equal((await it.attempt('alice', 'correct horse', { browser })).status, 303)
})

test('guesses at the old password of an account are stopped, from however many addresses they come', async () => {
  for (const mail of [true, false]) {
    await using it = await bench({ 'login-account': 3 }, { mail })
    const thief = new TestBrowser(it.running)
    await it.attempt('alice', 'correct horse', { browser: thief })
    const page = await thief.get('/account/password')
    const guess = async (from: number, old_password: string) => {
      const browser = new TestBrowser(it.running, {}, `198.51.100.${from}`)
      for (const [name, value] of thief.cookies) browser.cookies.set(name, value)
      return (await browser.submit(page, { old_password, new_password: 'a better one' })).status
    }
    for (let from = 0; from < 3; from++) assert.equal(await guess(from, `wrong ${from}`), 400)
    assert.equal(await guess(4, 'correct horse'), 429, 'also the right one, so that nobody learns which it is')
    it.clock.advance(7_200_000)
    assert.equal(await guess(5, 'correct horse'), 200)
  }
})

test('a right old password uses nothing up', async () => {
  await using it = await bench({ 'login-account': 1 })
  const browser = new TestBrowser(it.running)
  await it.attempt('alice', 'correct horse', { browser })
  for (let round = 0; round < 3; round++) {
    const words = { old_password: 'correct horse', new_password: 'short' }
    const answer = await browser.submit(await browser.get('/account/password'), words)
    assert.match(answer.text, /at least 8 char/)
  }
})

/** Guesses at alice from many addresses until an unknown device has to confirm. */
async function besieged(options: { readonly mail?: boolean } = {}): Promise<Bench> {
  const it = await bench({ 'login-account': 2 }, options)
  for (let i = 0; i < 3; i++) await it.attempt('alice', 'wrong', { address: `198.51.100.${i}` })
  return it
}

const pageOf = ({ status, text }: Answer) => [status, text]

test('past the limit of an account right and wrong passwords get one page, and the right one a mail', async () => {
  await using it = await besieged()
  const wrong = await it.attempt('alice', 'still wrong')
  assert.equal(wrong.status, 200)
  assert.match(wrong.text, /Look into your mailbox/)
  assert.deepEqual(pageOf(await it.attempt('alice', 'correct horse')), pageOf(wrong))
  assert.match(await it.link(), /^\/login\/confirm\?token=/)
  assert.deepEqual(
    it.mails.map(({ event, user_id: user }) => [event, user]),
    [['confirm_sign_in', 'alice']],
  )
})

test('past its limit a name without an account gets the page of one that has', async () => {
  await using it = await besieged()
  for (let i = 0; i < 3; i++) await it.attempt('nobody', 'wrong', { address: `198.51.100.${i}` })
  assert.deepEqual(pageOf(await it.attempt('nobody', 'wrong')), pageOf(await it.attempt('alice', 'wrong')))
})

test('the owner of a besieged account signs in by the mailed link, once, in the same browser', async () => {
  await using it = await besieged()
  const browser = new TestBrowser(it.running)
  await it.attempt('alice', 'correct horse', { browser })
  const path = await it.link()
  const elsewhere = await new TestBrowser(it.running).get(path)
  assert.equal(elsewhere.status, 400, 'another browser is not signed in by it')
  assert.match(elsewhere.text, /not in this browser/)
  const page = await browser.get(path)
  assert.match(page.text, /signs in as alice/)
  assert.equal(browser.cookies.has('gatehouse_session'), false, 'looking signs nobody in')
  const answers = await Promise.all([browser.submit(page, {}), browser.submit(page, {})])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400])
  assert.match((await browser.get('/account')).text, /alice/)
  assert.equal((await browser.get(path)).status, 400)
  browser.cookies.delete('gatehouse_session')
  assert.equal((await it.attempt('alice', 'correct horse', { browser })).status, 303, 'the device is known now')
})

test('a link that completes a sign-in works no more when the password was changed, or after its time', async () => {
  await using it = await besieged()
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

test('guesses at an account shut its owner out neither without mail nor without an address', async () => {
  await using off = await besieged({ mail: false })
  assert.equal((await off.attempt('alice', 'wrong')).status, 401)
  assert.equal((await off.attempt('alice', 'correct horse')).status, 303)
  await using it = await bench({ 'login-account': 1 })
  for (let i = 0; i < 2; i++) await it.attempt('carol', 'wrong', { address: `198.51.100.${i}` })
  assert.match((await it.attempt('carol', 'wrong')).text, /Look into your mailbox/)
  assert.equal((await it.attempt('carol', withoutAddress.password)).status, 303)
})

testWith('postgresql', 'of many uses of one sign-in link at once on PostgreSQL one succeeds', async () => {
  const server = await startPostgres()
  const database = await postgresDatabase(server)
  try {
    await migrateIdentity(database)
    const running = await setup({ declared: { clients: [service], users } }, database)
    const { signInLinks, users: accounts } = postgresIdentityStore(database)
    const alice = (await accounts.find('alice')) ?? assert.fail('no alice')
    const link = { hash: 'h', userId: 'alice', browserHash: 'b', continuation: 'c', expiresAt: 10 }
    const bound = { email: 'alice@example.com', credentialVersion: alice.credentialVersion }
    const mail = { id: crypto.randomUUID(), kind: 'mail', subject: 'alice', payloadSealed: '', dueAt: 0, expiresAt: 1 }
    await signInLinks.put({ ...link, ...bound }, { ...mail, kind: 'mail' })
    const used = await Promise.all(Array.from({ length: 10 }, () => signInLinks.consume('h', 'b', 5)))
    assert.equal(used.filter((one) => one !== undefined).length, 1)
    await running.close()
  } finally {
    await database.close()
    await server.stop()
  }
})
