/** API keys that are created while what their creator read about the owner changes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, Problem } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import type { IdentityStore } from '../../src/store/index.ts'
import { administrators, call, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { type Running, service, setup } from '../support/setup.ts'

const password = 'a long and quiet password'

/** Runs after the grant of a caller was found, to see when they signed in. */
const afterGrant: (() => Promise<unknown>)[] = []
/** Runs after a key that is created is in the audit trail, and before it is stored. */
const meanwhile: (() => Promise<unknown>)[] = []

function racing(store: IdentityStore): IdentityStore {
  const { audit } = store
  const record: typeof audit.record = async (event) => {
    await audit.record(event)
    if (event.action === 'api_keys.create') await meanwhile.shift()?.()
  }
  const { grants } = store
  const find: typeof grants.find = async (id) => {
    const found = await grants.find(id)
    await afterGrant.shift()?.()
    return found
  }
  return {
    ...store,
    audit: Object.assign(Object.create(audit) as typeof audit, { record }),
    // Its other methods use members that only it has.
    grants: new Proxy(grants, {
      get: (target, name) => (name === 'find' ? find : Reflect.get(target, name).bind(target)),
    }),
  }
}

let database: Database
let running: Running
before(async () => {
  database = await memoryDatabase(migrateIdentity)
  running = await setup({ store: racing(postgresIdentityStore(database)), declared: { clients: [service] } }, database)
})
after(async () => {
  await running.close()
  await database.close()
})

const isConflict = (error: unknown) =>
  error instanceof Problem && error.status === 409 && /deleted.*read it again and retry/.test(error.message)
const keysOf = async (owner: string) =>
  (await database.query('SELECT 1 FROM identity.api_key WHERE owner = $1', [owner])).rowCount

type Management = Running['identity']['management']
const endings: Readonly<Record<string, (management: Management, owner: string) => Promise<unknown>>> = {
  'has a new password': (management, owner) => management.setPassword(owner, 'another quiet password'),
  'is deleted': (management, owner) => management.deleteUser(owner),
  'is recreated': async (management, owner) => {
    await management.deleteUser(owner)
    await management.createUser({ id: owner, password })
  },
}
for (const [index, [what, end]] of Object.entries(endings).entries())
  test(`a key is not created whose owner ${what} meanwhile`, async () => {
    const { management } = running.identity
    const owner = `owner-${index}`
    await management.createUser({ id: owner, password })
    meanwhile.push(() => end(management, owner))
    await assert.rejects(management.createApiKey({ owner, name: 'a key' }), isConflict)
    assert.equal(await keysOf(owner), 0)
  })

test('a caller who is reset once their sign-in was checked creates no key for themselves', async (t) => {
  const clients = [consoleClient]
  const store = racing(postgresIdentityStore(database))
  const at = await setup({ store, declared: { clients, users: administrators } }, database)
  t.after(() => at.close())
  const token = await tokenOf(at, 'gatehouse-owner')
  const create = () =>
    call(at, token, { method: 'POST', url: '/admin/v1/api-keys', payload: { owner: 'owner', name: 'mine' } })
  assert.equal((await create()).status, 201)
  afterGrant.push(() => at.identity.management.setPassword('owner', 'another quiet password'))
  const refused = await create()
  assert.equal(refused.status, 409, refused.text)
  assert.equal(await keysOf('owner'), 0)
})

test('a key is not created whose client is deleted meanwhile', async () => {
  const { management } = running.identity
  const owner = 'robot'
  await management.createClient({ client_id: owner, grant_types: ['client_credentials'], scopes: ['orders:read'] })
  const { key = '' } = await management.createApiKey({ owner, name: 'a key' })
  assert.equal((await running.identity.resolveApiKey(key))?.owner, owner)
  meanwhile.push(() => management.deleteClient(owner))
  await assert.rejects(management.createApiKey({ owner, name: 'another key' }), isConflict)
  assert.equal(await keysOf(owner), 0)
})

testWith('postgresql', 'a key waits for the reset or the deletion of its owner that is under way', async () => {
  const server = await sharedPostgres()
  const many = await postgresDatabase(server, 5)
  try {
    await migrateIdentity(many)
    const store = postgresIdentityStore(many)
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    const unused = { createdAt: 0, expiresAt: undefined, scopes: [], plan: undefined, prefix: 'gk_' }
    const id = '0198c0de-0000-7000-8000-000000000000'
    for (const [owner, change] of [
      ['reset', 'UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1'],
      ['deleted', 'DELETE FROM identity.subject WHERE id = $1'],
    ] as const) {
      const fields = { username: owner, email: undefined, emailVerified: false, roles: [], claims: {}, plan: undefined }
      await store.users.create({ id: owner, ...fields, passwordHash: 'no hash' }, [], 0)
      const seen = (await store.users.find(owner))?.credentialVersion ?? assert.fail(owner)
      const key = { id, hash: owner, owner, name: 'a key', ...unused }
      const [changed, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const changing = many.transaction(async (tx) => {
        await tx.query(change, [owner])
        await tx.query('DELETE FROM identity.api_key WHERE owner = $1', [owner])
        changed.resolve()
        await release.promise
      })
      await changed.promise
      let settled = false
      const creating = store.apiKeys.create(key, seen).finally(() => {
        settled = true
      })
      while (!settled && (await many.query(waits)).rowCount === 0) await nextTurn()
      release.resolve()
      await changing
      assert.equal(await creating, false, owner)
      assert.equal(await store.apiKeys.identify(owner), undefined)
    }
  } finally {
    await many.close()
    await server.stop()
  }
})
