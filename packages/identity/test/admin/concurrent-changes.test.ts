import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, manualClock } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { registrationOf } from '../../src/model/client.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { type Running, setup } from '../support/setup.ts'

const rounds = 3
const now = manualClock().now()
const end = { now, expiresAt: now + 3_600_000, createLogoutMessages: () => [], endsGrantsOf: [] }

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  let store: IdentityStore
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    running = await setup({ declared: {} }, database)
    store = postgresIdentityStore(database)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  const makeOwners = async (...ids: string[]) => {
    for (const id of ids) {
      await running.identity.management.createUser({ id, password: 'a long and quiet password' })
      await running.identity.management.changeRole(id, { role: 'gatehouse-owner', granted: true })
    }
  }
  const owners = async () =>
    (await store.users.listByRole('gatehouse-owner', '', 100)).filter(({ lockedAt }) => lockedAt === undefined)
  const dropRole = async (id: string) => {
    const user = (await store.users.find(id)) ?? assert.fail(id)
    return store.users.update({ ...user, roles: [], passwordHash: undefined }, user, [], () => end)
  }
  const endings: Readonly<Record<string, (id: string) => Promise<string>>> = {
    revoked: dropRole,
    locked: (id) => store.accounts.setLocked(id, true, end),
    deleted: (id) => store.users.remove(id, end),
  }

  for (const [first, endFirst] of Object.entries(endings)) {
    for (const [second, endSecond] of Object.entries(endings)) {
      testWith('postgresql', `of two owners ${first} and ${second} concurrently, one stays`, async () => {
        await database.query('DELETE FROM identity.subject')
        for (let round = 0; round < rounds; round++) {
          const pair = [`one-${round}`, `two-${round}`] as const
          await makeOwners(...pair)
          const results = await Promise.all([endFirst(pair[0]), endSecond(pair[1])])
          assert.deepEqual(results.toSorted(), ['changed', 'last_owner'])
          assert.equal((await owners()).length, 1)
          await database.query('DELETE FROM identity.subject')
        }
      })
    }
  }

  testWith('postgresql', 'a stale change does not restore a revoked role', async () => {
    const { management } = running.identity
    await makeOwners('stays', 'leaves')
    const read = (await store.users.find('leaves')) ?? assert.fail()
    await management.changeRole('leaves', { role: 'gatehouse-owner', granted: false })
    const late = await store.users.update({ ...read, plan: 'pro', passwordHash: undefined }, read, [], () => end)
    assert.equal(late, 'outdated')
    assert.deepEqual((await store.users.find('leaves'))?.roles, [])
  })

  testWith('postgresql', 'a stale change does not restore an old email address', async () => {
    const { management } = running.identity
    const password = 'a long and quiet password'
    await management.createUser({ id: 'moved', password, email: 'old@example.com', email_verified: true })
    const read = (await store.users.find('moved')) ?? assert.fail()
    await management.updateUser('moved', { email: 'new@example.com' })
    const late = await store.users.update({ ...read, plan: 'pro', passwordHash: undefined }, read, [], () => end)
    assert.equal(late, 'outdated')
    assert.equal((await store.users.find('moved'))?.email, 'new@example.com')
  })

  testWith('postgresql', 'concurrent changes of a user report success only for what is stored', async () => {
    const { management } = running.identity
    for (let round = 0; round < rounds; round++) {
      const id = `twice-${round}`
      await management.createUser({ id, password: 'a long and quiet password', email: `${id}@example.com` })
      const email = `${id}@example.org`
      const results = await Promise.allSettled([
        management.updateUser(id, { email }),
        management.updateUser(id, { plan: 'pro' }),
      ])
      const [moved, promoted] = results.map(({ status }) => status === 'fulfilled')
      const user = (await store.users.find(id)) ?? assert.fail()
      assert.equal(user.email === email, moved)
      assert.equal(user.plan === 'pro', promoted)
    }
  })

  testWith('postgresql', 'concurrent grants and revocations of a role store it at most once', async () => {
    const { management } = running.identity
    await management.createUser({ id: 'busy', password: 'a long and quiet password' })
    const change = (granted: boolean) =>
      management.changeRole('busy', { role: 'gatehouse-support', granted }).then(
        () => 'done',
        (error: Error) => error.message,
      )
    const results = await Promise.all(Array.from({ length: 10 }, (_, index) => change(index % 2 === 0)))
    assert.ok(results.every((result) => result === 'done' || /changed at the same time/.test(result)))
    assert.ok(results.includes('done'))
    const { roles = [] } = (await store.users.find('busy')) ?? {}
    assert.ok(roles.length <= 1, 'a role is stored once')
  })

  testWith('postgresql', 'a stale change does not restore revoked client scopes', async () => {
    const { management } = running.identity
    await management.createClient({ client_id: 'app', scopes: ['admin:users', 'orders:read'] })
    const id = 'app'
    const { plan, metadata } = registrationOf((await store.clients.find(id)) ?? assert.fail())
    await management.updateClient('app', { scopes: ['orders:read'] })
    const renamed = { id, plan, metadata: { ...metadata, name: 'Renamed' }, secretHashes: undefined }
    assert.equal(await store.clients.update(renamed, { plan, metadata }, now), 'outdated')
    assert.deepEqual((await store.clients.find('app'))?.scopes, ['orders:read'])
  })

  testWith('postgresql', 'concurrent changes of a client’s plan and name do not overwrite each other', async () => {
    const { management } = running.identity
    await management.createClient({ client_id: 'planned', scopes: ['orders:read'], plan: 'free' })
    for (let round = 0; round < 20; round++) {
      const [plan, client_name] = [`plan-${round}`, `name-${round}`]
      const changes = [{ plan }, { client_name }]
      const results = await Promise.allSettled(changes.map((change) => management.updateClient('planned', change)))
      const client = (await store.clients.find('planned')) ?? assert.fail()
      const done = results.map(({ status }) => status === 'fulfilled')
      assert.deepEqual([client.plan === plan, client.name === client_name], done, `round ${round}`)
    }
  })
})
