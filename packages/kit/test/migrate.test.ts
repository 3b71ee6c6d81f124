import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  memoryDatabase,
  postgresDatabase,
  type Server,
  startPostgres,
  temporaryFolder,
  testWith,
} from '@gatehouse/testing'
import { applyDeclared, type Database, migrate, StartError } from '../src/index.ts'

const declaredTable =
  'CREATE TABLE house.declared (kind text, id text, checksum text NOT NULL, PRIMARY KEY (kind, id));'

function migrations(files: Record<string, string>): { url: URL; write: (name: string, sql: string) => void } {
  const folder = temporaryFolder('migrations')
  const write = (name: string, sql: string) => writeFileSync(join(folder, name), sql)
  for (const [name, sql] of Object.entries(files)) write(name, sql)
  return { url: pathToFileURL(`${folder}/`), write }
}

async function withMemory(body: (database: Database) => Promise<void>): Promise<void> {
  const database = await memoryDatabase()
  try {
    await body(database)
  } finally {
    await database.close()
  }
}

test('migrations run once each, in order, and a later start applies only the new ones', () =>
  withMemory(async (database) => {
    const { url, write } = migrations({
      '0002-fill.sql': 'INSERT INTO house.room VALUES (1);',
      '0001-room.sql': 'CREATE TABLE house.room (id int);',
    })
    assert.deepEqual(await migrate(database, 'house', url), ['0001-room.sql', '0002-fill.sql'])
    write('0003-more.sql', 'INSERT INTO house.room VALUES (2); INSERT INTO house.room VALUES (3);')
    assert.deepEqual(await migrate(database, 'house', url), ['0003-more.sql'])
    assert.deepEqual(await migrate(database, 'house', url), [])
    assert.equal((await database.query('SELECT * FROM house.room')).rowCount, 3)
  }))

test('a migration that fails leaves nothing behind', () =>
  withMemory(async (database) => {
    const { url } = migrations({
      '0001-room.sql': 'CREATE TABLE house.room (id int);',
      '0002-bad.sql': 'SELECT nonsense;',
    })
    await assert.rejects(migrate(database, 'house', url), /nonsense/)
    await assert.rejects(database.query('SELECT * FROM house.room'), /does not exist/)
  }))

test('a migration changed after it was applied, or a database newer than the program, refuses to start', () =>
  withMemory(async (database) => {
    const { url, write } = migrations({ '0001-room.sql': 'CREATE TABLE house.room (id int);' })
    await migrate(database, 'house', url)
    write('0001-room.sql', 'CREATE TABLE house.room (id bigint);')
    await assert.rejects(migrate(database, 'house', url), StartError)
    await assert.rejects(migrate(database, 'house', migrations({}).url), /newer than this program/)
  }))

test('what the file declares is written when new or edited there; changes made at run time stay otherwise', () =>
  withMemory(async (database) => {
    const { url } = migrations({
      '0001-room.sql': `${declaredTable} CREATE TABLE house.room (id text PRIMARY KEY, colour text);`,
    })
    await migrate(database, 'house', url)
    const declare = (colour: string) =>
      applyDeclared(database, 'house', 'room', [{ id: 'hall', entry: { colour } }], async (tx, id, entry) => {
        await tx.query(
          'INSERT INTO house.room VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET colour = excluded.colour',
          [id, entry.colour],
        )
      })
    const colour = async () =>
      (await database.query<{ colour: string }>('SELECT colour FROM house.room')).rows[0]?.colour
    assert.deepEqual(await declare('white'), ['hall'])
    await database.query("UPDATE house.room SET colour = 'green'")
    assert.deepEqual(await declare('white'), [])
    assert.equal(await colour(), 'green')
    assert.deepEqual(await declare('blue'), ['hall'])
    assert.equal(await colour(), 'blue')
  }))

describe('on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'of ten processes that start at once one migrates and the others find it done', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const { url } = migrations({ '0001-room.sql': 'CREATE TABLE house.room (id int);' })
    const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(database, 'house', url)))
    await database.close()
    assert.equal(applied.flat().length, 1)
  })
})
