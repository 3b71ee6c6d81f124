import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Database, manualClock } from '@gatehouse/kit'
import { memoryDatabase, postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { readTaggedClient } from '../../src/admin/clients/clients.ts'
import { ClientCache } from '../../src/clients/cache.ts'
import { LastUses } from '../../src/clients/last-uses.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import type { LastUse } from '../../src/store/index.ts'
import { service, setup } from '../support/setup.ts'

const minuteMs = 60_000

test('what clients and keys did last is there after a restart', async () => {
  const database = await memoryDatabase(migrateIdentity)
  after(() => database.close())
  const options = { declared: { clients: [service], users: [{ id: 'alice', password: 'correct horse' }] } }
  const running = await setup(options, database)
  const { management } = running.identity
  const { id, key = '' } = await management.createApiKey({ owner: 'alice', name: 'a key' })
  const used = async () => {
    const [clients, keys] = [await management.listClients('', 10), await management.listApiKeys(undefined, 10)]
    return [
      clients.find((one) => one.client_id === 'service')?.last_used_at,
      keys.find((one) => one.id === id)?.last_used_at,
    ]
  }
  assert.deepEqual(await used(), [undefined, undefined])
  const { client_id, client_secret } = service
  await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret: 'wrong' })
  await running.identity.resolveApiKey(`gk_${'a'.repeat(43)}`)
  const context = {
    store: postgresIdentityStore(database),
    clock: running.clock,
    clients: new ClientCache({ find: async () => undefined }, running.clock),
  }
  const { etag } = await readTaggedClient(context, 'service')
  running.clock.advance(minuteMs)
  await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
  await running.identity.resolveApiKey(key)
  const at = new Date(running.clock.now()).toISOString()
  await running.close()
  assert.deepEqual(await used(), [at, at])
  assert.equal((await readTaggedClient(context, 'service')).etag, etag, 'a use is no edit')
})

test('a use that cannot be written is kept for the next time, and a later one wins', async () => {
  const clock = manualClock()
  const uses = new LastUses(clock)
  uses.add('client', 'web')
  uses.add('api_key', 'one')
  const failing = {
    record: async () => {
      clock.advance(5)
      uses.add('client', 'web')
      throw new Error('no database')
    },
  }
  await assert.rejects(uses.write(failing), /no database/)
  const written: LastUse[] = []
  await uses.write({ record: async (some) => void written.push(...some) })
  assert.deepEqual(
    written.map(({ id, at }) => [id, at]),
    [
      ['one', clock.now() - 5],
      ['web', clock.now()],
    ],
  )
  await uses.write({ record: async () => assert.fail('nothing was used since') })
})

test('more than ten thousand uses between two writes drop the oldest', async () => {
  const uses = new LastUses(manualClock())
  for (let index = 0; index <= 10_000; index++) uses.add('client', `client-${index}`)
  const written: LastUse[] = []
  await uses.write({ record: async (some) => void written.push(...some) })
  assert.deepEqual([written.length, written[0]?.id], [10_000, 'client-1'])
})

describe('last uses on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    await migrateIdentity(database)
  })
  after(async () => {
    await database?.close()
    await server?.stop()
  })

  testWith('postgresql', 'a use is written once a minute, whatever the number of processes', async () => {
    const store = postgresIdentityStore(database)
    const metadata = { name: 'Web', scopes: [], grantTypes: [] } as never
    const ids = Array.from({ length: 50 }, (_, index) => `client-${index}`)
    for (const id of ids) await store.clients.create({ id, plan: undefined, metadata, secretHashes: [] }, 0)
    const usesAt = (at: number, order: readonly string[]) => order.map((id) => ({ kind: 'client' as const, id, at }))
    const written = async () => (await store.clients.list('', 100)).map(({ lastUsedAt }) => lastUsedAt)
    const processes = [ids, ids.toReversed(), ids, ids.toReversed()]
    await Promise.all(processes.map((order, index) => store.lastUses.record(usesAt(minuteMs + index, order))))
    const first = await written()
    assert.ok(first.every((at) => at !== undefined && at >= minuteMs && at < minuteMs + 4))
    await store.lastUses.record(usesAt(2 * minuteMs - 1, ids))
    assert.deepEqual(await written(), first)
    await store.lastUses.record(usesAt(3 * minuteMs, [...ids, 'gone']))
    assert.ok((await written()).every((at) => at === 3 * minuteMs))
  })
})
