import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Database, migrate, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { createCitusDatabase, startCitus, temporaryFolder, testWith } from '@gatehouse/testing'
import { migrations } from '../../../src/postgres/distribution/migrate.ts'
import { distributeNotify, migrateNotify } from '../../../src/postgres/index.ts'
import { eventually, seedEventType, setup } from '../../support/setup.ts'

/** What later versions may do: add to tables, make others, write into any, and at last take away. */
const later = {
  '9001-expand.sql': `
    ALTER TABLE notify.notification ADD COLUMN colour text;
    ALTER TABLE notify.notification ADD COLUMN weight integer NOT NULL DEFAULT 1;
    ALTER TABLE notify.notification ADD CONSTRAINT weighs CHECK (weight > 0);
    CREATE TABLE notify.parcel (bucket smallint, user_id text, place text, PRIMARY KEY (bucket, user_id));
    UPDATE notify.notification SET colour = 'red';
    INSERT INTO notify.property (name, value) VALUES ('parcels', 1);`,
  '9002-index.sql': 'CREATE INDEX CONCURRENTLY notification_by_colour ON notify.notification (bucket, colour);',
  '9003-contract.sql': `-- breaks older versions
    UPDATE notify.property SET value = 2 WHERE name = 'parcels';
    ALTER TABLE notify.notification DROP COLUMN weight;
    ALTER TABLE notify.notification ALTER COLUMN colour SET NOT NULL;
    DROP INDEX notify.notification_by_colour;`,
} as const

/** The migrations of a version that has some of the later ones. */
function versionWith(...names: ReadonlyArray<keyof typeof later>): URL {
  const folder = temporaryFolder('migrations')
  for (const name of readdirSync(migrations)) copyFileSync(fileURLToPath(new URL(name, migrations)), join(folder, name))
  for (const name of names) writeFileSync(join(folder, name), later[name])
  return pathToFileURL(`${folder}/`)
}

async function read(database: Database, sql: string): Promise<unknown[]> {
  return (await database.query<Record<string, unknown>>(sql)).rows.map((row) => Object.values(row)[0])
}

testWith('citus', 'the schema of a distributed database with rows is migrated, and events go on', async (t) => {
  const citus = await startCitus({ settings: ['citus.shard_count=4'] })
  t.after(() => citus.stop())
  const url = new Secret(await createCitusDatabase(citus.nodes))
  const timeouts = { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 }
  const open = (connections: number) => openPostgres({ url, log: silentLog, connections, timeouts })
  const distribute = async () => {
    const database = await open(1)
    const { distributed } = await distributeNotify(database, { buckets: 32 })
    await database.close()
    return distributed
  }
  await distribute()
  const world = await setup({ database: await open(5), tables: { buckets: 32, distributed: true } })
  t.after(() => world.close())
  await seedEventType(world)
  const notify = async (user: string) => {
    const event = { event: 'order.shipped', user_id: user, data: { order_id: 1 }, channels: ['email'] }
    assert.equal((await world.call('POST', '/v1/notify', event)).status, 202)
  }
  const users = Array.from({ length: 8 }, (_, n) => `user-${n}`)
  for (const user of users) await notify(user)

  const database = await open(2)
  t.after(() => database.close())
  const expanded = versionWith('9001-expand.sql', '9002-index.sql')
  assert.deepEqual(await migrate(database, 'notify', expanded), ['9001-expand.sql', '9002-index.sql'])
  assert.deepEqual(await read(database, 'SELECT DISTINCT colour FROM notify.notification'), ['red'])
  const indexes = `SELECT bool_and(success AND result = '1')::text FROM run_command_on_shards('notify.notification',
    $$ SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass AND indisvalid
          AND indexrelid::regclass::text LIKE '%%notification_by_colour%%' $$)`
  assert.deepEqual(await read(database, indexes), ['true'], 'on every node')
  await notify('user-8')
  await assert.rejects(migrateNotify(database, { buckets: 32 }), /notify\.parcel is not distributed/)
  assert.deepEqual(await distribute(), ['parcel'])

  await database.query("UPDATE notify.notification SET colour = 'red' WHERE colour IS NULL")
  assert.deepEqual(
    await migrate(database, 'notify', versionWith('9001-expand.sql', '9002-index.sql', '9003-contract.sql')),
    ['9003-contract.sql'],
  )
  assert.deepEqual(await read(database, "SELECT value::integer FROM notify.property WHERE name = 'parcels'"), [2])
  await assert.rejects(migrateNotify(database, { buckets: 32 }), /9003-contract/)
})

testWith('citus', 'a migration that waits for a lock on a worker lets others pass, and is repeated', async (t) => {
  const citus = await startCitus({ settings: ['citus.shard_count=4'] })
  t.after(() => citus.stop())
  const url = new Secret(await createCitusDatabase(citus.nodes))
  const open = async (at: Secret, connections: number) => {
    const database = await openPostgres({ url: at, log: silentLog, connections })
    t.after(() => database.close())
    return database
  }
  const distributing = await openPostgres({ url, log: silentLog, connections: 1 })
  await distributeNotify(distributing, { buckets: 32 })
  await distributing.close()
  const [migrating, reading] = [await open(url, 1), await open(url, 1)]
  const { rows } = await reading.query<{ shard: string; port: string }>(
    `SELECT shard_name AS shard, nodeport::text AS port FROM citus_shards
      WHERE table_name = 'notify.notification'::regclass ORDER BY shardid LIMIT 1`,
  )
  const { shard, port } = rows[0] ?? assert.fail('no shard')
  const workerUrl = new URL(url.reveal())
  workerUrl.port = port
  const worker = await open(new Secret(workerUrl.href), 1)

  await worker.session(async (session) => {
    await session.query('SET idle_in_transaction_session_timeout = 0')
    await session.query('BEGIN')
    await session.query(`SELECT FROM ${shard} LIMIT 0`)
    const applied = migrate(migrating, 'notify', versionWith('9001-expand.sql'))
    applied.catch(() => {})
    await eventually(
      () => session.query(`SELECT FROM pg_locks WHERE relation = '${shard}'::regclass AND NOT granted`),
      ({ rowCount }) => rowCount > 0,
    )
    await reading.query('SELECT count(*) FROM notify.notification')
    await session.query('COMMIT')
    assert.deepEqual(await applied, ['9001-expand.sql'])
  })
})
