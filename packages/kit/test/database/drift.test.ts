import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { memoryDatabase, postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { applyDeclared, type Database, type DeclaredEntity, findDrift, readTableSizes } from '../../src/index.ts'

const colours: DeclaredEntity = {
  schema: 'shop',
  kind: 'colour',
  table: 'shop.colour',
  match: 'e.id = d.id',
  changedAt: 'e.updated_at',
}

async function prepare(database: Database): Promise<void> {
  await database.query('CREATE SCHEMA shop')
  await database.query(
    `CREATE TABLE shop.declared (kind text, id text, checksum text NOT NULL, applied_at bigint NOT NULL,
       in_file boolean NOT NULL DEFAULT true, PRIMARY KEY (kind, id))`,
  )
  await database.query('CREATE TABLE shop.colour (id text PRIMARY KEY, updated_at bigint NOT NULL)')
  await database.query('CREATE TABLE shop.event (day integer, text text) PARTITION BY RANGE (day)')
  await database.query('CREATE TABLE shop.event_1 PARTITION OF shop.event FOR VALUES FROM (1) TO (2)')
  await database.query('CREATE TABLE shop.event_2 PARTITION OF shop.event FOR VALUES FROM (2) TO (3)')
}

const declare = (database: Database, ...ids: string[]) =>
  applyDeclared(
    database,
    colours,
    ids.map((id) => ({ id, entry: { id } })),
    async (tx, id) => {
      await tx.query('INSERT INTO shop.colour VALUES ($1, $2)', [id, Date.now()])
    },
  )

const driftOf = async (database: Database) =>
  (await findDrift(database, [colours])).map(({ id, changedAt }) => [
    id,
    changedAt === undefined ? 'deleted' : 'changed',
  ])

async function checkDrift(database: Database): Promise<void> {
  await declare(database, 'red', 'green', 'blue')
  assert.deepEqual(await driftOf(database), [], 'what was just applied differs from nothing')
  await database.query("UPDATE shop.colour SET updated_at = $1 WHERE id = 'red'", [Date.now() + 60_000])
  await database.query("DELETE FROM shop.colour WHERE id = 'green'")
  const found = [
    ['green', 'deleted'],
    ['red', 'changed'],
  ]
  assert.deepEqual(await driftOf(database), found)
  await declare(database, 'red', 'green', 'blue')
  assert.deepEqual(await driftOf(database), found, 'an entry that was not edited is not applied again')
  await declare(database, 'red', 'blue')
  assert.deepEqual(await driftOf(database), [['red', 'changed']], 'what is in the file no more differs from nothing')
}

async function checkSizes(database: Database): Promise<void> {
  await database.query("INSERT INTO shop.event SELECT 1 + n % 2, repeat('x', 500) FROM generate_series(1, 2000) n")
  const sizes = await readTableSizes(database, ['shop'])
  assert.deepEqual(
    sizes.map(({ table }) => table),
    sizes.toSorted((a, b) => b.bytes - a.bytes).map(({ table }) => table),
  )
  const [first] = sizes
  assert.equal(first?.table, 'event', 'partitions count for their table')
  assert.ok((first?.bytes ?? 0) > 1_000_000, `${first?.bytes} bytes`)
  assert.deepEqual(sizes.map(({ table }) => table).toSorted(), ['colour', 'declared', 'event'])
}

const title = 'what was changed and deleted since the file was applied is known, and how large tables are'

test(title, async () => {
  const database = await memoryDatabase()
  await prepare(database)
  await checkDrift(database)
  await checkSizes(database)
  await database.close()
})

describe('on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())
  testWith('postgresql', title, async () => {
    const database = await postgresDatabase(server as Server)
    await prepare(database)
    await checkDrift(database)
    await checkSizes(database)
    await database.close()
  })
})
