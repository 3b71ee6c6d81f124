/** Of two writes at once that give one name to two accounts, as a username and as an address, the database takes one. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { type IdentityStore, NameConflict, type NewUser } from '../../src/store/index.ts'
import { type Running, setup } from '../support/setup.ts'

describe('on the embedded engine', () => run(() => memoryDatabase(migrateIdentity), test))

let server: Server | undefined
describe('on PostgreSQL', () => {
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())
  run(async () => server && (await postgresDatabase(server, 10)), testWith.bind(undefined, 'postgresql'))
})

const rounds = 15
const connection = { id: 'upstream', kind: 'google', client_id: 'client', client_secret: 'secret' } as const

/** A write of a name, prepared: true where it was stored, false where it was refused. */
type Write = () => Promise<boolean>

function run(open: () => Promise<Database | undefined>, it: (title: string, body: () => Promise<void>) => unknown) {
  let database: Database
  let running: Running
  let store: IdentityStore
  /** How often transactions began, also again after a deadlock, and how often they were asked for. */
  const begun = { calls: 0, runs: 0 }
  before(async () => {
    const opened = await open()
    if (opened === undefined) return
    database = opened
    running = await setup({ declared: { connections: [connection] } }, database)
    store = postgresIdentityStore({ ...database, transaction })
  })
  after(async () => {
    await running?.close()
    await database?.close()
  })

  function transaction<T>(work: Parameters<typeof database.transaction<T>>[0]): Promise<T> {
    begun.calls++
    return database.transaction((tx) => {
      begun.runs++
      return work(tx)
    })
  }

  const now = () => running.clock.now()
  const end = () => ({ now: now(), expiresAt: now() + 3_600_000 })
  const signOut = () => ({ ...end(), createLogoutMessages: () => [], endsGrantsOf: [] })
  const newUser = (members: Partial<NewUser> = {}): NewUser => {
    const id = randomUUID()
    const none = {
      plan: 'free',
      email: undefined,
      emailVerified: false,
      roles: [],
      claims: {},
      passwordHash: undefined,
    }
    return { id, username: id, ...none, ...members }
  }
  const createUser = async (members: Partial<NewUser> = {}) => {
    const user = newUser(members)
    await store.users.create(user, [], now())
    return user
  }
  const update = async (user: NewUser, change: Partial<NewUser>) =>
    (await store.users.update({ ...user, ...change }, user, [], end)) === 'changed'

  /** Each way by which an account gets a name; `members` has it as a username or as an address. */
  const ways = {
    async creation(members: Partial<NewUser>): Promise<Write> {
      return async () => (await createUser(members)) !== undefined
    },
    async update(members: Partial<NewUser>): Promise<Write> {
      const user = await createUser()
      return () => update(user, members)
    },
    async declaration(members: Partial<NewUser>): Promise<Write> {
      const user = newUser(members)
      const entry = { id: user.id, entry: user, record: async () => user }
      const message = () => ({
        id: randomUUID(),
        kind: 'mail' as const,
        subject: user.id,
        payloadSealed: 'x',
        ...due(),
      })
      return async () => (await store.declarations.applyUsers([entry], message, signOut)).has(user.id)
    },
    async federation(members: Partial<NewUser>): Promise<Write> {
      const link = {
        connectionId: 'upstream',
        issuer: 'https://issuer.example',
        subject: randomUUID(),
        email: undefined,
      }
      return async () => (await store.linkedAccounts.createUser(newUser(members), link, [], now())) === 'created'
    },
    async registration(members: Partial<NewUser>): Promise<Write> {
      const user = newUser({ email: `${randomUUID()}@own.example`, ...members })
      const [hash, userHandle] = [randomUUID(), randomUUID()]
      const { email = assert.fail() } = user
      await store.registrations.put({ hash, userId: user.id, userHandle, email, expiresAt: end().expiresAt }, [])
      const completed = { registration: { hash, userHandle }, user, messages: [] }
      return async () => (await store.registrations.complete(completed, now())) === 'created'
    },
    async emailChange({ email = assert.fail() }: Partial<NewUser>): Promise<Write> {
      const user = await createUser()
      const { credentialVersion } = (await store.users.find(user.id)) ?? assert.fail()
      const attempt = { userId: user.id, browserHash: 'browser', challengeHash: 'challenge', codeHash: 'code' }
      const expiresAt = end().expiresAt
      await store.emailChanges.put({ ...attempt, previousEmail: undefined, credentialVersion, email, expiresAt }, [])
      return async () => (await store.emailChanges.complete(attempt, [], now())) === 'changed'
    },
  }
  const due = () => ({ dueAt: end().expiresAt, expiresAt: end().expiresAt })

  /** The accounts whose username is the address of another one. */
  async function findConflicts(): Promise<object[]> {
    const text = `SELECT a.username FROM identity.account a JOIN identity.account b ON lower(b.email) = a.username
      WHERE a.id <> b.id`
    return (await database.query(text)).rows
  }

  async function isStored(write: Write): Promise<boolean> {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof NameConflict)) throw error
      return false
    }
  }

  const byUsername = ['creation', 'update', 'declaration', 'federation', 'registration'] as const
  const byAddress = [...byUsername, 'emailChange'] as const

  for (const address of byAddress)
    it(`an address (${address}) and a username that are written at once: one is refused`, async () => {
      for (let round = 0; round < rounds; round++) {
        const email = `${address.toLowerCase()}-${round}@name.example`
        const username = byUsername[round % byUsername.length] ?? assert.fail()
        const writes = [await ways[address]({ email: email.toUpperCase() }), await ways[username]({ username: email })]
        const stored = await Promise.all(writes.map(isStored))
        assert.deepEqual([...stored].sort(), [false, true], `${username}, round ${round}`)
      }
      assert.deepEqual(await findConflicts(), [])
    })

  it('accounts that take the names of each other at once are written without a deadlock', async () => {
    for (let round = 0; round < rounds; round++) {
      const [one, two] = [`one-${round}@swap.example`, `two-${round}@swap.example`]
      const users = [
        await createUser({ username: one, email: one }),
        await createUser({ username: two, email: two }),
        await createUser(),
      ]
      const before = begun.runs - begun.calls
      await Promise.all([
        ...users.flatMap((user) => [
          isStored(() => update(user, { username: two, email: one })),
          isStored(() => update(user, { username: one, email: two })),
        ]),
        isStored(await ways.registration({ email: one })),
        isStored(await ways.creation({ username: two, email: one })),
      ])
      assert.equal(begun.runs - begun.calls, before, 'no transaction ran again')
    }
    assert.deepEqual(await findConflicts(), [])
  })

  it('a registration that is completed while its address gets an account meets no deadlock', async () => {
    for (let round = 0; round < rounds; round++) {
      const email = `other-${round}@registered.example`
      const writes = [await ways.registration({ email }), await ways.creation({ email }), await ways.update({ email })]
      const before = begun.runs - begun.calls
      const stored = await Promise.all(writes.map(isStored))
      assert.deepEqual([...stored].sort(), [false, false, true])
      assert.equal(begun.runs - begun.calls, before, 'no transaction ran again')
    }
  })
}
