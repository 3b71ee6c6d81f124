import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { type Database, KeyRing, reseal, type SealedColumn, Secret, seal, sealingKeyId, unseal } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { identitySealed, migrateIdentity } from '../../../src/postgres/index.ts'

const oldKey = new Secret('old key 0123456789abcdef01234567')
const newKey = new Secret('new key 0123456789abcdef01234567')
const oldRing = new KeyRing([oldKey])
const ring = new KeyRing([newKey, oldKey])
const outbox = identitySealed.find(({ table }) => table === 'identity.outbox') as SealedColumn

async function put(database: Database, sealedBy: KeyRing, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => randomUUIDv7())
  await database.query(
    `INSERT INTO identity.outbox (id, kind, subject, payload_sealed, due_at, expires_at)
     SELECT id, 'mail', 'alice', sealed, 0, 1 FROM unnest($1::uuid[], $2::text[]) AS new (id, sealed)`,
    [ids, ids.map((id) => seal(`payload of ${id}`, sealedBy, outbox.purpose(id)))],
  )
}

async function rows(database: Database) {
  return (
    await database.query<{ id: string; sealed: string }>('SELECT id, payload_sealed AS sealed FROM identity.outbox')
  ).rows
}

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 12)
    await migrateIdentity(database)
  })
  after(async () => {
    await database?.close()
    await server?.stop()
  })

  testWith('postgresql', 'concurrent reseals and writes lose nothing and seal each value once', async () => {
    await put(database, oldRing, 1_000)
    const deleted = (await rows(database)).slice(0, 100).map(({ id }) => id)
    const [results] = await Promise.all([
      Promise.all([1, 2, 3, 4].map(() => reseal(database, outbox, ring))),
      database.pipeline([{ text: 'DELETE FROM identity.outbox WHERE id = ANY($1::uuid[])', values: [deleted] }]),
      put(database, ring, 50),
    ])
    const left = await rows(database)
    assert.equal(left.length, 950)
    for (const { id, sealed } of left) {
      assert.equal(sealingKeyId(sealed), ring.currentId)
      assert.equal(unseal(sealed, ring, outbox.purpose(id)), `payload of ${id}`)
    }
    const resealed = results.reduce((sum, one) => sum + one.resealed, 0)
    assert.ok(resealed >= 900 && resealed <= 1_000, `${resealed}`)
    for (const one of results.slice(-1)) assert.deepEqual(one.remaining, {})
  })

  testWith('postgresql', 'a value that no key opens stays unchanged and is counted by its key', async () => {
    await database.query('DELETE FROM identity.outbox')
    const foreign = new KeyRing([new Secret('lost key 0123456789abcdef0123456')])
    await put(database, foreign, 3)
    await put(database, oldRing, 2)
    const { resealed, remaining } = await reseal(database, outbox, ring)
    assert.deepEqual([resealed, remaining], [2, { [foreign.currentId]: 3 }])
  })

  testWith('postgresql', 'an interrupted reseal resumes where it stopped', async () => {
    await database.query('DELETE FROM identity.outbox')
    await put(database, oldRing, 500)
    let queries = 0
    const stopping = new Proxy(database, {
      get(target, name) {
        const method = Reflect.get(target, name)
        if (name !== 'query' && name !== 'pipeline') return method
        return (...args: unknown[]) => {
          queries += 1
          return queries > 3 ? Promise.reject(new Error('stopped')) : Reflect.apply(method, target, args)
        }
      },
    })
    await assert.rejects(reseal(stopping, outbox, ring), /stopped/)
    assert.deepEqual(await reseal(database, outbox, ring), { table: outbox.table, resealed: 300, remaining: {} })
  })
})
