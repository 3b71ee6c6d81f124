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
import { applyDeclared, type Database, migrate, StartError } from '../../src/index.ts'

const declaredTable = `CREATE TABLE house.declared (kind text, id text, checksum text NOT NULL,
  applied_at bigint NOT NULL, in_file boolean NOT NULL DEFAULT true, PRIMARY KEY (kind, id));`

function migrations(files: Record<string, string>): { url: URL; write: (name: string, sql: string) => void } {
  const folder = temporaryFolder('migrations')
  const write = (name: string, sql: string) => writeFileSync(join(folder, name), sql)
  for (const [name, sql] of Object.entries(files)) write(name, sql)
  return { url: pathToFileURL(`${folder}/`), write }
}

/** Whether each index of the table `room` is valid. */
async function indexesOf(database: Database): Promise<Record<string, boolean>> {
  const { rows } = await database.query<{ name: string; valid: boolean }>(
    `SELECT indexrelid::regclass::text AS name, indisvalid AS valid FROM pg_index WHERE indrelid = 'house.room'::regclass`,
  )
  return Object.fromEntries(rows.map(({ name, valid }) => [name.replace('house.', ''), valid]))
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

test('a user that may not create a schema is refused with what to grant', () =>
  withMemory(async (database) => {
    await database.query('CREATE ROLE clerk')
    await database.query('SET ROLE clerk')
    const { url } = migrations({ '0001-room.sql': 'CREATE TABLE house.room (id int);' })
    await assert.rejects(migrate(database, 'house', url), (error) => {
      assert.ok(error instanceof StartError, String(error))
      assert.match(
        error.message,
        /^the user of DATABASE_URL can't migrate the schema house: permission denied for database/,
      )
      assert.match(error.message, /GRANT CREATE ON DATABASE/)
      return true
    })
  }))

test('a migration that fails leaves nothing of itself, and those before it stay', () =>
  withMemory(async (database) => {
    const { url } = migrations({
      '0001-room.sql': 'CREATE TABLE house.room (id int);',
      '0002-bad.sql': 'INSERT INTO house.room VALUES (1); SELECT nonsense;',
    })
    await assert.rejects(migrate(database, 'house', url), /nonsense/)
    assert.equal((await database.query('SELECT * FROM house.room')).rowCount, 0)
    await assert.rejects(migrate(database, 'house', url), /nonsense/)
  }))

test('a migration that was changed after it was applied refuses to start', () =>
  withMemory(async (database) => {
    const { url, write } = migrations({ '0001-room.sql': 'CREATE TABLE house.room (id int);' })
    await migrate(database, 'house', url)
    write('0001-room.sql', 'CREATE TABLE house.room (id bigint);')
    await assert.rejects(migrate(database, 'house', url), StartError)
  }))

test('an older program starts on a newer schema, unless that breaks older versions', () =>
  withMemory(async (database) => {
    const first = { '0001-room.sql': 'CREATE TABLE house.room (id int);' }
    const older = migrations(first)
    const newer = migrations({ ...first, '0002-colour.sql': 'ALTER TABLE house.room ADD colour text;' })
    await migrate(database, 'house', newer.url)
    assert.deepEqual(await migrate(database, 'house', older.url), [])
    await database.query('INSERT INTO house.room (id) VALUES (1)')
    newer.write('0003-no-id.sql', '-- breaks older versions\nALTER TABLE house.room DROP id;')
    assert.deepEqual(await migrate(database, 'house', newer.url), ['0003-no-id.sql'])
    await assert.rejects(migrate(database, 'house', older.url), /0003-no-id.sql breaks older versions/)
  }))

test('indexes that are made concurrently are made as any other on the embedded engine', () =>
  withMemory(async (database) => {
    const { url } = migrations({
      '0001-room.sql': 'CREATE TABLE house.room (id int);',
      '0002-index.sql': '-- by id\nCREATE UNIQUE INDEX CONCURRENTLY room_id ON house.room (id);',
    })
    assert.deepEqual(await migrate(database, 'house', url), ['0001-room.sql', '0002-index.sql'])
    assert.deepEqual(await indexesOf(database), { room_id: true })
  }))

test('a migration that mixes concurrent indexes with other statements is rejected by name', () =>
  withMemory(async (database) => {
    const { url } = migrations({
      '0001-room.sql': 'CREATE TABLE house.room (id int); CREATE INDEX CONCURRENTLY room_id ON house.room (id);',
    })
    await assert.rejects(migrate(database, 'house', url), (error: Error) => {
      assert.ok(error instanceof StartError)
      assert.match(error.message, /0001-room\.sql.*not "CREATE TABLE house\.room \(id int\)"/)
      return true
    })
  }))

test('declarations are written when new or edited in the file; other changes stay', () =>
  withMemory(async (database) => {
    const { url } = migrations({
      '0001-room.sql': `${declaredTable} CREATE TABLE house.room (id text PRIMARY KEY, colour text);`,
    })
    await migrate(database, 'house', url)
    const declare = (colour: string) =>
      applyDeclared(
        database,
        { schema: 'house', kind: 'room' },
        [{ id: 'hall', entry: { colour } }],
        async (tx, id, entry) => {
          await tx.query(
            'INSERT INTO house.room VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET colour = excluded.colour',
            [id, entry.colour],
          )
        },
      )
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

  testWith('postgresql', 'a migration waits for a lock in turns and lets other statements pass', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const { url, write } = migrations({ '0001-room.sql': 'CREATE TABLE house.room (id int);' })
    await migrate(database, 'house', url)
    write('0002-colour.sql', 'ALTER TABLE house.room ADD colour text;')
    const reading = Promise.withResolvers<void>()
    const waited = Promise.withResolvers<void>()
    const reader = database.transaction(async (tx) => {
      await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0; SELECT * FROM house.room')
      reading.resolve()
      await waited.promise
    })
    await reading.promise
    const migrated = migrate(database, 'house', url)
    // The lock of the migration bars this insert, until it is given up for the statements that queue behind it.
    await database.transaction(async (tx) => {
      await tx.query('SET LOCAL lock_timeout = 0')
      await tx.query('INSERT INTO house.room (id) VALUES (1)')
    })
    waited.resolve()
    await reader
    assert.deepEqual(await migrated, ['0002-colour.sql'])
    await database.close()
  })

  const roomAndIndex = {
    '0001-room.sql': 'CREATE TABLE house.room (id int);',
    '0002-index.sql': 'CREATE UNIQUE INDEX CONCURRENTLY room_id ON house.room (id);\n',
  }

  testWith(
    'postgresql',
    'of ten processes that start at once one makes the index and none waits for ever',
    async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'), 20)
      const { url } = migrations(roomAndIndex)
      const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(database, 'house', url)))
      assert.deepEqual(applied.flat().sort(), ['0001-room.sql', '0002-index.sql'])
      assert.deepEqual(await indexesOf(database), { room_id: true })
      await database.close()
    },
  )

  testWith(
    'postgresql',
    'an index that could not be finished is dropped and made again by the next start',
    async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      const { '0001-room.sql': room } = roomAndIndex
      await migrate(database, 'house', migrations({ '0001-room.sql': room }).url)
      await database.query('INSERT INTO house.room (id) VALUES (1), (1)')
      const { url } = migrations(roomAndIndex)
      await assert.rejects(migrate(database, 'house', url), /could not create unique index/)
      assert.deepEqual(await indexesOf(database), { room_id: false }, 'an invalid one stays behind')
      await database.query('TRUNCATE house.room')
      assert.deepEqual(await migrate(database, 'house', url), ['0002-index.sql'])
      assert.deepEqual(await indexesOf(database), { room_id: true })
      await database.close()
    },
  )

  testWith('postgresql', 'an index that was finished by a process that died before it said so is kept', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const { url } = migrations(roomAndIndex)
    await migrate(database, 'house', url)
    const identity = "SELECT 'house.room_id'::regclass::oid::int AS oid"
    const before = (await database.query<{ oid: number }>(identity)).rows
    await database.query("DELETE FROM house.migration WHERE name = '0002-index.sql'")
    assert.deepEqual(await migrate(database, 'house', url), ['0002-index.sql'])
    assert.deepEqual((await database.query<{ oid: number }>(identity)).rows, before)
    await database.close()
  })

  testWith('postgresql', 'rows are written while an index waits for a transaction older than it', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const { '0001-room.sql': room } = roomAndIndex
    await migrate(database, 'house', migrations({ '0001-room.sql': room }).url)
    const reading = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const writer = database.transaction(async (tx) => {
      await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0; INSERT INTO house.room (id) VALUES (1)')
      reading.resolve()
      await written.promise
    })
    await reading.promise
    const { url } = migrations(roomAndIndex)
    const migrated = [migrate(database, 'house', url), migrate(database, 'house', url)]
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'CREATE UNIQUE INDEX%'
                        AND datname = current_database()`
    while ((await database.query(waiting)).rowCount === 0) await new Promise(setImmediate)
    await database.query('INSERT INTO house.room (id) VALUES (2)')
    written.resolve()
    await writer
    assert.deepEqual((await Promise.all(migrated)).flat(), ['0002-index.sql'])
    assert.deepEqual(await indexesOf(database), { room_id: true })
    await database.close()
  })
})
