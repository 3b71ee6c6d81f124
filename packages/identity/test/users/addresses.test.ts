/** What an address does to the username and to other accounts, on either database. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Database, Problem } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { type IdentityStore, NameConflict, type NewUser } from '../../src/store/index.ts'
import { TestBrowser } from '../support/journey.ts'
import { type Running, setup } from '../support/setup.ts'

const password = 'a long and quiet password'
/** Two that are used once. */
const addresses = (name: string) => [`${name}@old.example`, `${name}@new.example`] as const

describe('on the embedded engine', () => run(() => memoryDatabase(migrateIdentity), test))

let server: Server | undefined
describe('on PostgreSQL', () => {
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())
  run(async () => server && (await postgresDatabase(server, 10)), testWith.bind(undefined, 'postgresql'))
})

function run(open: () => Promise<Database | undefined>, it: (title: string, body: () => Promise<void>) => unknown) {
  let database: Database | undefined
  let running: Running
  let store: IdentityStore
  let management: Running['identity']['management']
  before(async () => {
    database = await open()
    if (database === undefined) return
    running = await setup({ declared: {}, features: { registration: true }, notify: async () => {} }, database)
    store = postgresIdentityStore(database)
    management = running.identity.management
  })
  after(async () => {
    await running?.close()
    await database?.close()
  })

  const create = (id: string, members: object = {}) => management.createUser({ id, password, ...members })
  const read = async (id: string) => (await store.users.find(id)) ?? assert.fail(`${id} is gone`)
  const end = () => ({ now: running.clock.now(), expiresAt: running.clock.now() + 3_600_000 })
  const update = async (expected: NewUser, change: Partial<NewUser>) =>
    store.users.update({ ...expected, passwordHash: undefined, ...change }, expected, [], end)
  /** Verifies an address, by the link that was mailed there. */
  const verify = async (userId: string) => {
    const { email = assert.fail() } = await read(userId)
    const [hash, expiresAt] = [randomUUID(), end().expiresAt]
    const link = { hash, purpose: 'verify' as const, userId, email, credentialVersion: undefined, expiresAt }
    const message = { id: randomUUID(), kind: 'mail' as const, subject: userId, payloadSealed: 'x' }
    assert.ok(await store.mailedLinks.put(link, { ...message, dueAt: expiresAt, expiresAt }))
    assert.ok(await store.accounts.verifyEmail(hash, end().now))
  }
  /** The member of a problem that names what is in use. */
  const isInUse = (member: string, value: string) => (error: unknown) => {
    assert.ok(error instanceof Problem, String(error))
    assert.equal(error.status, 409)
    assert.match(error.message, new RegExp(`the ${member} ${value} `))
    return true
  }

  it('an address that is verified between reading and writing a user stays verified', async () => {
    const [email] = addresses('verified')
    await create('verified', { email })
    const stale = await read('verified')
    await verify('verified')
    assert.equal(await update(stale, { plan: 'pro' }), 'changed')
    const { plan, emailVerified } = await read('verified')
    assert.deepEqual([plan, emailVerified], ['pro', true])
  })

  it('another address, or another word on the one there is, counts as the change says', async () => {
    const [email, other] = addresses('vouched')
    await create('vouched', { email })
    const stale = await read('vouched')
    await verify('vouched')
    assert.equal(await update(stale, { email: other, emailVerified: false }), 'changed')
    assert.equal((await read('vouched')).emailVerified, false)
    assert.equal(await update(await read('vouched'), { emailVerified: true }), 'changed')
    assert.equal((await read('vouched')).emailVerified, true)
    assert.equal(await update(await read('vouched'), { emailVerified: false }), 'changed')
    assert.equal((await read('vouched')).emailVerified, false)
  })

  it('a username that is the address follows it where an administrator changes it', async () => {
    const [email, other] = addresses('follows')
    await create('follows', { email: email.toUpperCase(), username: email })
    assert.equal((await management.updateUser('follows', { plan: 'pro' })).username, email)
    const moved = await management.updateUser('follows', { email: other.toUpperCase() })
    assert.deepEqual([moved.username, moved.email], [other, other.toUpperCase()])
    await create('next', { email, email_verified: true })
    const browser = new TestBrowser(running)
    assert.equal((await browser.signIn(await browser.get('/account'), email, password)).status, 200)
    assert.equal((await store.users.findByLogin(email))?.id, 'next')
  })

  it('a username of its own, or in the same change, does not follow the address', async () => {
    const [email, other] = addresses('stays')
    await create('stays', { email })
    assert.equal((await management.updateUser('stays', { email: other })).username, 'stays')
    const [named, renamed] = addresses('named')
    await create('named', { email: named, username: named })
    assert.equal((await management.updateUser('named', { email: renamed, username: 'nina' })).username, 'nina')
  })

  it('a name is that of the account with the address, not of the one with the username', async () => {
    const [email] = addresses('both')
    await create('owner-of-both', { email })
    await create('named-both')
    // As no write leaves it.
    await database?.query("UPDATE identity.account SET username = $1 WHERE id = 'named-both'", [email])
    assert.equal((await store.users.findByLogin(email))?.id, 'owner-of-both')
    assert.equal((await store.users.findByLogin('owner-of-both'))?.id, 'owner-of-both')
    // Neither has to be mended before anything else of it is changed.
    for (const id of ['owner-of-both', 'named-both'])
      assert.equal((await management.updateUser(id, { plan: 'pro' })).plan, 'pro')
  })

  it('a username that is the address of another account is refused', async () => {
    const [email] = addresses('address')
    await create('has-address', { email: email.toUpperCase() })
    await create('wants-address')
    const conflict = isInUse('username', email)
    await assert.rejects(create('new-with-address', { username: email }), conflict)
    await assert.rejects(management.updateUser('wants-address', { username: email }), conflict)
    assert.equal((await read('wants-address')).username, 'wants-address')
    const own = await management.updateUser('has-address', { username: email })
    assert.equal(own.username, email)
    const imported = await management.importUsers([{ id: 'imported-address', username: email }])
    assert.deepEqual(
      imported.map(({ outcome, reason }) => [outcome, reason]),
      [['refused', 'the username belongs to another user']],
    )
  })

  it('an address that is the username of another account is refused', async () => {
    const [username, free] = addresses('username')
    await create('has-username', { username })
    await create('wants-username', { email: free })
    const conflict = isInUse('email', username)
    await assert.rejects(create('new-with-username', { email: username }), conflict)
    await assert.rejects(management.updateUser('wants-username', { email: username }), conflict)
    assert.equal((await read('wants-username')).email, free)
    assert.equal((await management.updateUser('has-username', { email: username })).email, username)
  })

  it('an address that is the username of another account completes no registration', async () => {
    const [email] = addresses('registered')
    const [hash, userId, userHandle] = [randomUUID(), randomUUID(), randomUUID()]
    await store.registrations.put({ hash, userId, userHandle, email, expiresAt: end().expiresAt }, [])
    await create('has-registered', { username: email })
    const user = { ...(await read('has-registered')), id: userId, username: email, email, passwordHash: undefined }
    const completed = { registration: { hash, userHandle }, user, messages: [] }
    await assert.rejects(store.registrations.complete(completed, end().now), NameConflict)
    assert.equal(await store.users.find(userId), undefined)
  })

  it('an address that is the username of another account is not changed to by its user', async () => {
    const [email, other] = addresses('own')
    await create('own', { email })
    await create('has-own', { username: other })
    const { credentialVersion } = await read('own')
    const attempt = { userId: 'own', browserHash: 'browser', challengeHash: 'challenge', codeHash: 'code' }
    const change = { ...attempt, previousEmail: email, credentialVersion, email: other, expiresAt: end().expiresAt }
    await store.emailChanges.put(change, [])
    assert.equal(await store.emailChanges.complete(attempt, [], end().now), 'in_use')
    assert.equal((await read('own')).email, email)
    await management.updateUser('has-own', { username: 'renamed' })
    assert.equal(await store.emailChanges.complete(attempt, [], end().now), 'changed')
    assert.equal((await read('own')).email, other)
  })
}
