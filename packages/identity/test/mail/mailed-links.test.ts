import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, tokenHash } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import type { NotifyRequest } from '../../src/index.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const mails: NotifyRequest[] = []
const options = {
  declared: { clients, users },
  features: { registration: true },
  notify: async (request: NotifyRequest) => {
    mails.push(request)
  },
}

let running: Running
before(async () => {
  running = await setup(options)
})
after(() => running.close())

/** The link of the next mail of an event; mails are sent in the background. */
async function nextLink(event: string, userId?: string): Promise<string> {
  const deadline = Date.now() + 10_000
  for (;;) {
    const index = mails.findIndex((mail) => mail.event === event && (userId ?? mail.user_id) === mail.user_id)
    assert.ok(Date.now() < deadline, `no ${event} was mailed`)
    const [mail] = index < 0 ? [] : mails.splice(index, 1)
    if (mail) return String(mail.data.link).replace('http://localhost:8080', '')
    await nextTurn()
  }
}

async function requestReset(email: string, at: Running = running): Promise<string> {
  const browser = new TestBrowser(at)
  await browser.submit(await browser.get('/password/forgot'), { email })
  return nextLink('reset_password')
}

async function requestRegistration(email: string, at: Running = running): Promise<string> {
  const browser = new TestBrowser(at)
  await browser.submit(await browser.get('/register'), { email })
  return nextLink('confirm_registration')
}

const user = (id: string) => ({ id, email: `${id}@example.com`, email_verified: true, password: 'correct horse' })
const chosen = { name: 'Somebody', new_password: 'a better password' }

/** Opens a link, changes its account with `act`, then submits the form opened before and opens the link again. */
async function openBefore(
  link: string,
  act: () => Promise<unknown>,
): Promise<{ sent: TestResponse; page: TestResponse }> {
  const browser = new TestBrowser(running)
  const page = await browser.get(link)
  assert.equal(page.status, 200)
  await act()
  return { sent: await browser.submit(page, chosen), page: await browser.get(link) }
}

const statuses = ({ sent, page }: { sent: TestResponse; page: TestResponse }) => [sent.status, page.status]

test('a reset link is invalid after the account’s address has changed', async () => {
  const { management } = running.identity
  await management.createUser(user('moved'))
  const link = await requestReset('moved@example.com')
  const opened = await openBefore(link, () => management.updateUser('moved', { email: 'moved@example.org' }))
  assert.deepEqual(statuses(opened), [400, 400])
  await management.updateUser('moved', { email: 'moved@example.com' })
  assert.equal((await new TestBrowser(running).get(link)).status, 400, 'not even when the address is restored')
})

test('a reset link is invalid after the password has changed', async () => {
  const { management } = running.identity
  await management.createUser(user('changed'))
  const link = await requestReset('changed@example.com')
  const act = () => management.setPassword('changed', 'another password')
  assert.deepEqual(statuses(await openBefore(link, act)), [400, 400])
})

test('a reset link is invalid after the account was locked, even if unlocked again', async () => {
  const { management } = running.identity
  await management.createUser(user('locked'))
  const link = await requestReset('locked@example.com')
  const opened = await openBefore(link, () => management.updateUser('locked', { locked: true }))
  assert.deepEqual(statuses(opened), [400, 400])
  await management.updateUser('locked', { locked: false })
  assert.equal((await new TestBrowser(running).get(link)).status, 400)
})

test('a reset link is invalid for an account recreated under the same name', async () => {
  const { management } = running.identity
  await management.createUser(user('again'))
  const link = await requestReset('again@example.com')
  const opened = await openBefore(link, async () => {
    await management.deleteUser('again')
    await management.createUser(user('again'))
  })
  assert.deepEqual(statuses(opened), [400, 400])
})

test('a verification link is invalid after the account’s address has changed', async () => {
  const { management } = running.identity
  await management.createUser({ ...user('unproven'), email_verified: false })
  const link = await nextLink('verify_email', 'unproven')
  const opened = await openBefore(link, () => management.updateUser('unproven', { email: 'other@example.com' }))
  assert.deepEqual(statuses(opened), [400, 400])
  await management.updateUser('unproven', { email: 'unproven@example.com' })
  assert.equal((await new TestBrowser(running).get(link)).status, 400)
})

test('a registration link never works again, even after its account was deleted', async () => {
  const link = await requestRegistration('gone@example.com')
  const browser = new TestBrowser(running)
  const page = await browser.get(link)
  assert.match((await browser.submit(page, chosen)).text, /Your account is ready/)
  const [made] = (await running.identity.management.listUsers('', 200)).filter(
    ({ email }) => email === 'gone@example.com',
  )
  await running.identity.management.deleteUser(String(made?.id))
  assert.equal((await browser.submit(page, chosen)).status, 400)
  assert.equal((await browser.get(link)).status, 400)
})

test('a registration link is invalid once its address got an account another way', async () => {
  const { management } = running.identity
  const link = await requestRegistration('claimed@example.com')
  const opened = await openBefore(link, async () => {
    await management.createUser({ ...user('claimed'), email: 'Claimed@Example.com' })
    await management.deleteUser('claimed')
  })
  assert.deepEqual(statuses(opened), [400, 400])
})

test('a second link of a kind replaces the first', async () => {
  await running.identity.management.createUser(user('twice'))
  for (const ask of [() => requestReset('twice@example.com'), () => requestRegistration('newcomer@example.com')]) {
    const [first, second] = [await ask(), await ask()]
    assert.equal((await new TestBrowser(running).get(first)).status, 400)
    assert.equal((await new TestBrowser(running).get(second)).status, 200)
  }
})

test('a link works for its own purpose only', async () => {
  await running.identity.management.createUser(user('kinds'))
  const token = (await requestReset('kinds@example.com')).split('=')[1]
  for (const path of ['/email/verify', '/register/confirm']) {
    assert.equal((await new TestBrowser(running).get(`${path}?token=${token}`)).status, 400)
  }
})

test('a stranger who registers an address chooses neither password nor name of its account', async () => {
  const stranger = new TestBrowser(running)
  const page = await stranger.get('/register')
  assert.doesNotMatch(page.text, /name="(new_password|name)"/)
  await stranger.submit(page, { email: 'owner@example.com', name: 'Evil', new_password: 'chosen by a stranger' })
  const mail = mails.find(({ event }) => event === 'confirm_registration')
  const link = await nextLink('confirm_registration')
  assert.doesNotMatch(JSON.stringify(mail ?? {}), /Evil/)
  const owner = new TestBrowser(running)
  const confirm = await owner.get(link)
  assert.match(confirm.text, /owner@example\.com/)
  await owner.submit(confirm, { name: 'Olive Owner', new_password: 'chosen by the owner' })
  const signIn = async (password: string) =>
    (await stranger.signIn(await stranger.get('/account'), 'owner@example.com', password)).status
  assert.equal(await signIn('chosen by a stranger'), 401)
  assert.equal(await signIn('chosen by the owner'), 200)
})

test('registrations are limited per email address, for known and unknown ones alike', async () => {
  const counted: string[] = []
  const limited = await setup({
    ...options,
    limit: async (policy, { account }) => {
      counted.push(`${policy} ${account ?? ''}`)
      return policy === 'registration-account' ? { allowed: false, retryAfter: 60 } : { allowed: true }
    },
  })
  const responses = []
  for (const email of ['alice@example.com', 'nobody@example.com']) {
    const browser = new TestBrowser(limited)
    responses.push((await browser.submit(await browser.get('/register'), { email })).status)
  }
  assert.deepEqual(responses, [429, 429])
  assert.deepEqual(
    counted.filter((one) => one.startsWith('registration-account')),
    ['registration-account alice@example.com', 'registration-account nobody@example.com'],
  )
  await limited.close()
})

let server: Server | undefined
before(async () => {
  server = await sharedPostgres().catch(() => undefined)
})
after(() => server?.stop())

/** Identity on its own PostgreSQL database. */
async function onPostgres(work: (running: Running, database: Database) => Promise<void>): Promise<void> {
  const database = await postgresDatabase(server as Server, 20)
  const postgres = await setup(options, database)
  try {
    await work(postgres, database)
  } finally {
    await postgres.close()
    await database.close()
  }
}

testWith('postgresql', 'of 20 concurrent uses of a mailed link, one succeeds, whatever its kind', async () =>
  onPostgres(async (many) => {
    const { management } = many.identity
    const twenty = Array.from({ length: 20 })
    const race = async (link: string) => {
      const browsers = await Promise.all(
        twenty.map(async () => {
          const browser = new TestBrowser(many)
          return { browser, page: await browser.get(link) }
        }),
      )
      const responses = await Promise.all(browsers.map(({ browser, page }) => browser.submit(page, chosen)))
      return responses.map(({ status }) => status).sort()
    }
    const one = [200, ...Array.from({ length: 19 }, () => 400)]
    await management.createUser({ ...user('racer'), email_verified: false })
    assert.deepEqual(await race(await nextLink('verify_email', 'racer')), one)
    assert.deepEqual(await race(await requestReset('racer@example.com', many)), one)
    assert.deepEqual(await race(await requestRegistration('many@example.com', many)), one)
  }),
)

testWith('postgresql', 'a link stored or used during a change of its address does not outlive the change', async () =>
  onPostgres(async (racing, database) => {
    const { mailedLinks: links, accounts, users: accountsRead } = postgresIdentityStore(database)
    const { management } = racing.identity
    await management.createUser(user('mover'))
    const now = racing.clock.now()
    const end = { now, expiresAt: now + 3_600_000, createLogoutMessages: () => [], endsGrantsOf: [] }
    for (let round = 0; round < 20; round++) {
      const stored = await accountsRead.find('mover')
      const [email, next] = [String(stored?.email), `mover${round}@example.com`]
      const link = (name: string) => ({
        hash: tokenHash(`${name} ${round}`),
        purpose: 'reset' as const,
        userId: 'mover',
        email,
        credentialVersion: stored?.credentialVersion,
        expiresAt: now + 60_000,
      })
      const message = (id: number) => ({
        id: `0198c0de-0000-7000-8000-${String(round * 10 + id).padStart(12, '0')}`,
        kind: 'recipient' as const,
        subject: 'mover',
        payloadSealed: '',
        dueAt: now + 3_600_000,
        expiresAt: now + 3_600_000,
      })
      await links.put(link('before'), message(0))
      const [used, , putWhile] = await Promise.all([
        accounts.resetPassword({ linkHash: link('before').hash, passwordHash: 'no hash', messages: [] }, end),
        management.updateUser('mover', { email: next }),
        links.put(link('while'), message(1)),
      ])
      assert.equal((await accountsRead.find('mover'))?.email, next, `used ${used}, put ${putWhile}`)
      assert.equal(await links.find(link('while').hash, 'reset', now), undefined)
      assert.equal(await links.consume(link('before').hash, 'reset', now), undefined)
      const left = await database.query(
        "SELECT 1 FROM identity.mailed_link WHERE user_id = 'mover' AND purpose = 'reset'",
      )
      assert.equal(left.rowCount, 0)
    }
  }),
)

test('the password of a management role holder is not reset from the forgot-password page', async () => {
  const { management } = running.identity
  await management.createUser({ ...user('boss'), roles: ['gatehouse-owner'] })
  const browser = new TestBrowser(running)
  const response = await browser.submit(await browser.get('/password/forgot'), { email: 'boss@example.com' })
  assert.equal(response.status, 200)
  await management.createUser(user('clerk'))
  await requestReset('clerk@example.com')
  const { rows } = await running.database.query("SELECT user_id FROM identity.mailed_link WHERE purpose = 'reset'")
  assert.ok(!rows.some((row) => (row as { user_id: string }).user_id === 'boss'))
})

test('a reset link from before a management role is void, and a verification link is not', async () => {
  const { management } = running.identity
  await management.createUser({ ...user('climber'), email_verified: false })
  const verification = await nextLink('verify_email', 'climber')
  const link = await requestReset('climber@example.com')
  const grant = () => management.changeRole('climber', { role: 'gatehouse-auditor', granted: true })
  assert.deepEqual(statuses(await openBefore(link, grant)), [400, 400])
  assert.deepEqual(statuses(await openBefore(verification, async () => undefined)), [200, 400])
  const signedIn = new TestBrowser(running)
  await signedIn.signIn(await signedIn.get('/account'), 'climber', 'correct horse')
  assert.ok(signedIn.cookies.has('gatehouse_session'), 'with the old password')
})

testWith('postgresql', 'a reset waits for a management role that is being granted, and is refused', async () =>
  onPostgres(async (racing, database) => {
    await racing.identity.management.createUser(user('riser'))
    const link = await requestReset('riser@example.com', racing)
    const browser = new TestBrowser(racing)
    const page = await browser.get(link)
    const [granted, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const granting = database.transaction(async (tx) => {
      await tx.query("UPDATE identity.account SET roles = '{gatehouse-owner}' WHERE id = 'riser'")
      granted.resolve()
      await release.promise
    })
    await granted.promise
    let settled = false
    const sending = browser.submit(page, chosen).finally(() => {
      settled = true
    })
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while (!settled && (await database.query(waits)).rowCount === 0) await nextTurn()
    release.resolve()
    await granting
    assert.equal((await sending).status, 400)
  }),
)
