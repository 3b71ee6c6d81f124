import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { authorizeUrl, clients, getTokens, pkce, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const twenty = Array.from({ length: 20 })
const [alice] = users
type Management = Running['identity']['management']

/** What invalidates a password that was just verified. */
const endings: readonly (readonly [name: string, end: (management: Management) => Promise<unknown>])[] = [
  ['the password changes', (management) => management.setPassword('alice', 'another password')],
  ['the account is locked', (management) => management.updateUser('alice', { locked: true })],
  [
    'the account is locked and unlocked',
    async (management) => {
      await management.updateUser('alice', { locked: true })
      await management.updateUser('alice', { locked: false })
    },
  ],
  ['the account is deleted', (management) => management.deleteUser('alice')],
  [
    'the account is recreated',
    async (management) => {
      await management.deleteUser('alice')
      await management.createUser({ id: 'alice', password: 'correct horse' })
    },
  ],
]

/** Holds calls before they reach the store until it is opened. */
class Barrier {
  readonly #opened = Promise.withResolvers<void>()
  readonly #waiters: { readonly count: number; readonly resolve: () => void }[] = []
  arrived = 0

  async pass(): Promise<void> {
    this.arrived++
    for (const { count, resolve } of this.#waiters) if (this.arrived >= count) resolve()
    await this.#opened.promise
  }

  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ count, resolve })
      if (this.arrived >= count) resolve()
    })
  }

  open(): void {
    this.#opened.resolve()
  }
}

/** A store role whose listed methods wait at a barrier. */
function delayed<Role extends object>(role: Role, methods: readonly (keyof Role)[], barrier: () => Barrier): Role {
  return new Proxy(role, {
    get(target, name) {
      const method = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...values: unknown[]) => {
        if (methods.includes(name as keyof Role)) await barrier().pass()
        return method.apply(target, values)
      }
    },
  })
}

describe('on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  /** Identity on its own database, with parts of its store behind a barrier. */
  async function serve(
    work: (running: Running, database: Database) => Promise<void>,
    store: (original: IdentityStore) => IdentityStore = (original) => original,
  ): Promise<void> {
    const database = await postgresDatabase(server as Server, 30)
    const running = await setup(
      { declared: { clients, users }, store: store(postgresIdentityStore(database)) },
      database,
    )
    try {
      await work(running, database)
    } finally {
      await running.close()
      await database.close()
    }
  }

  const sessionsOf = async (database: Database) =>
    (await database.query("SELECT id FROM identity.session WHERE user_id = 'alice'")).rowCount

  async function aliceAgain(running: Running): Promise<void> {
    const { management } = running.identity
    const exists = (await management.listUsers('', 200)).some(({ id }) => id === 'alice')
    if (exists) await management.deleteUser('alice')
    await management.createUser({ ...alice, id: 'alice' })
  }

  /** Twenty sign-ins with the correct password, every second one in a browser that is already signed in. */
  async function signIns(running: Running): Promise<(() => Promise<TestResponse>)[]> {
    return Promise.all(
      twenty.map(async (_, index) => {
        const browser = new TestBrowser(running)
        const login = await browser.get('/account')
        if (index % 2 === 0) return () => browser.submit(login, { username: 'alice', password: 'correct horse' })
        await browser.signIn(login)
        const { code_challenge } = pkce()
        const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'login', code_challenge }
        const again = await browser.get(authorizeUrl(request))
        return () => browser.submit(again, { username: 'alice', password: 'correct horse' })
      }),
    )
  }

  for (const [what, end] of endings) {
    testWith('postgresql', `a sign-in verified before ${what} starts no session afterwards`, async () => {
      let barrier = new Barrier()
      const slow = (store: IdentityStore): IdentityStore => ({
        ...store,
        sessions: delayed(store.sessions, ['start', 'renew'], () => barrier),
      })
      await serve(async (running, database) => {
        for (let round = 0; round < 3; round++) {
          await aliceAgain(running)
          barrier = new Barrier()
          barrier.open()
          const attempts = await signIns(running)
          barrier = new Barrier()
          const responses = attempts.map((attempt) => attempt())
          await barrier.reached(twenty.length)
          await end(running.identity.management)
          barrier.open()
          const statuses = (await Promise.all(responses)).map(({ status }) => status)
          assert.deepEqual(new Set(statuses), new Set([401]))
          assert.equal(await sessionsOf(database), 0)
        }
      }, slow)
    })
  }

  testWith('postgresql', 'a sign-in waits for a concurrent password change and is rejected', async () => {
    await serve(async (running, database) => {
      const waiting = async (count: number): Promise<void> => {
        const text = `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
        while (Number((await database.query<{ n: number }>(text)).rows[0]?.n) < count) await nextTurn()
      }
      const attempts = await signIns(running)
      await getTokens(running)
      const released = Promise.withResolvers<void>()
      const locking = database.transaction(async (tx) => {
        await tx.query('LOCK TABLE identity.revocation')
        await released.promise
      })
      const changing = running.identity.management.setPassword('alice', 'another password')
      await waiting(1)
      const responses = attempts.map((attempt) => attempt())
      const all = Promise.all(responses)
      await Promise.race([waiting(1 + twenty.length), all])
      released.resolve()
      await Promise.all([locking, changing])
      assert.deepEqual(new Set((await all).map(({ status }) => status)), new Set([401]))
      assert.equal(await sessionsOf(database), 0)
    })
  })

  testWith('postgresql', 'of 20 sign-ins concurrent with a password change, none leaves a session alive', async () => {
    await serve(async (running, database) => {
      for (let round = 0; round < 6; round++) {
        await aliceAgain(running)
        const attempts = await signIns(running)
        const changing = attempts.map((attempt) => attempt())
        await changing[round]
        await running.identity.management.setPassword('alice', 'another password')
        await Promise.all(changing)
        assert.equal(await sessionsOf(database), 0, `round ${round}`)
      }
    })
  })

  for (const [what, role, method] of [
    ['consent', 'consents', 'add'],
    ['code', 'grants', 'open'],
  ] as const) {
    testWith('postgresql', `a ${what} concurrent with a password change is not stored`, async () => {
      const barrier = new Barrier()
      const slow = (store: IdentityStore): IdentityStore => ({
        ...store,
        [role]: delayed<object>(store[role], [method as never], () => barrier),
      })
      await serve(async (running, database) => {
        const browser = new TestBrowser(running)
        const { code_challenge } = pkce()
        const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge }
        const consent = await browser.signIn(await browser.get(authorizeUrl(request)))
        const response = browser.submit(consent, { decision: 'allow' })
        await barrier.reached(1)
        await running.identity.management.setPassword('alice', 'another password')
        barrier.open()
        assert.equal((await response).status, 400)
        const left = await database.query(
          `SELECT id::text FROM identity.grant_record WHERE revoked_at IS NULL
           ${what === 'consent' ? 'UNION ALL SELECT client_id FROM identity.consent' : ''}`,
        )
        assert.equal(left.rowCount, 0)
      }, slow)
    })
  }

  testWith('postgresql', 'a device approved during a password change gets no tokens', async () => {
    const barrier = new Barrier()
    const slow = (store: IdentityStore): IdentityStore => ({
      ...store,
      deviceCodes: delayed(store.deviceCodes, ['decide'], () => barrier),
    })
    await serve(async (running) => {
      const { body } = await running.post('/device_authorization', { client_id: 'tv', scope: 'openid' })
      const browser = new TestBrowser(running)
      const page = await browser.signIn(await browser.get('/device'))
      const confirm = await browser.submit(page, { user_code: String(body.user_code) })
      const response = browser.submit(confirm, { decision: 'allow' })
      await barrier.reached(1)
      await running.identity.management.setPassword('alice', 'another password')
      barrier.open()
      assert.equal((await response).status, 400)
      const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
      const polled = await running.post('/token', {
        grant_type,
        device_code: String(body.device_code),
        client_id: 'tv',
      })
      assert.equal(polled.body.error, 'authorization_pending')
    }, slow)
  })

  testWith('postgresql', 'a password change verified before a reset does not undo the reset', async () => {
    let barrier = new Barrier()
    const slow = (store: IdentityStore): IdentityStore => ({
      ...store,
      accounts: delayed(store.accounts, ['setPassword'], () => barrier),
    })
    await serve(async (running) => {
      const thief = new TestBrowser(running)
      await thief.signIn(await thief.get('/account'))
      const page = await thief.get('/account/password')
      const response = thief.submit(page, { old_password: 'correct horse', new_password: 'the thief was here' })
      await barrier.reached(1)
      const changing = barrier
      barrier = new Barrier()
      barrier.open()
      await running.identity.management.setPassword('alice', 'another password')
      changing.open()
      assert.equal((await response).status, 400)
      const owner = new TestBrowser(running)
      const signedIn = await owner.signIn(await owner.get('/account'), 'alice', 'another password')
      assert.match(signedIn.text, /Your account/)
    }, slow)
  })
})
