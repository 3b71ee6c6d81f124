/*
 * A connection that ends while a code of the provider is exchanged, and a user who signs in twice at once for the
 * first time.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import type { Database, Query } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { isSignedIn } from '../support/factors/factors.ts'
import { TestBrowser } from '../support/journey.ts'
import {
  assertRefused,
  callbackOf,
  choose,
  comeBack,
  connectionTo,
  followProvider,
  setupWith,
  signInAt,
  upstreamClient,
  usersByEmail,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

const domain = 'corp.example'
let provider: OidcFake
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
})
after(() => provider.stop())

const setupAcme = (database?: Database) =>
  setupWith([connectionTo(provider, { authoritative_domains: [domain] })], {}, database)

/** Runs `work` with a change that is made once, after the first statement that contains `statement`. */
async function changedAfter<Result>(
  { database }: Pick<Running, 'database'>,
  { statement, change }: { readonly statement: string; readonly change: () => Promise<unknown> },
  work: () => Promise<Result>,
): Promise<Result> {
  const query = database.query.bind(database)
  let isChanged = false
  database.query = async <Row extends object>(text: string | Query, values?: readonly unknown[]) => {
    const result = await query<Row>(text, values)
    if (!isChanged && (typeof text === 'string' ? text : text.text).includes(statement)) {
      isChanged = true
      await change()
    }
    return result
  }
  const result = await work().finally(() => {
    database.query = query
  })
  assert.ok(isChanged)
  return result
}

const readConnection = 'FROM identity.connection WHERE id = $1'

const ends: Readonly<Record<string, (running: Running) => Promise<unknown>>> = {
  disabled: ({ identity }) => identity.management.updateConnection('acme', { enabled: false }),
  deleted: ({ identity }) => identity.management.deleteConnection('acme'),
}

for (const [what, end] of Object.entries(ends))
  describe(`a connection that is ${what} while a code is exchanged`, () => {
    let running: Running
    beforeEach(async () => {
      running = await setupAcme()
    })
    afterEach(() => running.close())

    /** Comes back from the provider, while the connection ends. */
    async function comeBackTooLate(browser: TestBrowser, path: string) {
      const change = () => end(running)
      return changedAfter(running, { statement: readConnection, change }, () => browser.get(path))
    }

    const countLinks = async () => (await running.database.query('SELECT 1 FROM identity.linked_account')).rowCount

    test('creates no account', async () => {
      const email = `newcomer@${domain}`
      provider.user = { sub: 'newcomer', email, email_verified: true }
      const browser = new TestBrowser(running)
      const response = await comeBackTooLate(browser, await comeBack(browser))
      await assertRefused(browser, response)
      assert.deepEqual(await usersByEmail(running, email), [])
    })

    test('links no account by its address', async () => {
      const email = `owner@${domain}`
      await running.identity.management.createUser({ id: 'owner', email, email_verified: true })
      provider.user = { sub: 'owner', email, email_verified: true }
      const browser = new TestBrowser(running)
      const response = await comeBackTooLate(browser, await comeBack(browser))
      await assertRefused(browser, response)
      assert.equal(await countLinks(), 0)
    })

    test('is not connected to an account', async () => {
      provider.user = { sub: 'alice-there' }
      const browser = new TestBrowser(running)
      await browser.signIn(await browser.get('/account'))
      const path = await followProvider(await choose(browser, await browser.get('/account/providers')))
      const response = await comeBackTooLate(browser, path)
      assert.equal(response.status, 400, response.text)
      assert.equal(await countLinks(), 0)
    })
  })

describe('of two first sign-ins of one user at once', () => {
  let running: Running
  before(async () => {
    running = await setupAcme()
  })
  after(() => running.close())

  for (const [what, statement] of [
    ['the link was not found', 'UPDATE identity.linked_account'],
    ['the address was not found', 'OR lower(email) = $1'],
  ] as const)
    test(`the later one signs in through the link that was made after ${what}`, async () => {
      const sub = `twin-${statement.length}`
      const email = `${sub}@people.example`
      provider.user = { sub, email, email_verified: true }
      const [browser, other] = [new TestBrowser(running), new TestBrowser(running)]
      const path = await comeBack(browser)
      const change = () => signInAt(running, other)
      const response = await changedAfter(running, { statement, change }, () => browser.get(path))
      assert.equal(response.status, 303, response.text)
      assert.deepEqual([await isSignedIn(browser), await isSignedIn(other)], [true, true])
      assert.equal((await usersByEmail(running, email)).length, 1)
    })
})

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 5)
    running = await setupAcme(database)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

  /** What `write` becomes that began before a change of a row was committed. */
  async function writeDuring<Result>(change: string, write: () => Promise<Result>): Promise<Result> {
    const [changed, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const changing = database.transaction(async (tx) => {
      await tx.query(change)
      changed.resolve()
      await released.promise
    })
    await changed.promise
    const writing = write()
    let isWritten = false
    const settled = writing.then(
      () => (isWritten = true),
      () => (isWritten = true),
    )
    while (!isWritten && (await database.query(waits)).rows.length === 0);
    released.resolve()
    await Promise.all([changing, settled])
    return writing
  }

  for (const [what, change] of [
    ['disabled', `UPDATE identity.connection SET settings = settings || '{"enabled": false}' WHERE id = 'acme'`],
    ['deleted', "DELETE FROM identity.connection WHERE id = 'acme'"],
  ] as const)
    testWith('postgresql', `a connection that is being ${what} gets no link and creates no account`, async () => {
      const { linkedAccounts, users, connections } = postgresIdentityStore(database)
      const { credentialVersion } = (await users.find('alice')) ?? assert.fail()
      const [acme, now] = [(await connections.find('acme')) ?? assert.fail(), running.clock.now()]
      const link = { connectionId: 'acme', issuer: provider.url, subject: 'late', email: undefined }
      const user = { id: 'late', username: 'late', plan: 'free', email: undefined, emailVerified: false, roles: [] }
      const created = { ...user, claims: {}, passwordHash: undefined }
      for (const write of [
        () => linkedAccounts.add({ userId: 'alice', credentialVersion }, link, [], now),
        () => linkedAccounts.createUser(created, link, [], now),
      ]) {
        assert.equal(await writeDuring(change, write), 'disabled')
        assert.equal(await users.find('late'), undefined)
        assert.deepEqual(await linkedAccounts.listByUser('alice'), [])
        await database.query('DELETE FROM identity.connection')
        assert.equal(await connections.create(acme, now), 'created')
      }
    })

  testWith('postgresql', 'a user who is being locked becomes no member by signing in', async () => {
    const { memberships, organizations } = postgresIdentityStore(database)
    const now = running.clock.now()
    const organization = { id: 'globex', name: 'Globex', status: 'active' as const, requireMfa: false }
    await organizations.create({ ...organization, createdAt: now, updatedAt: now })
    const member = { organizationId: 'globex', userId: 'bob', roles: [], now, messages: [] }
    const lock = "UPDATE identity.account SET locked_at = 1 WHERE id = 'bob'"
    const join = () => memberships.join(member, { issuer: provider.url, subject: 'bob' })
    assert.equal(await writeDuring(lock, join), 'locked')
    assert.equal(await memberships.findMember('globex', 'bob'), undefined)
  })
})
