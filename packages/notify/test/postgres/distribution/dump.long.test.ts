import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { createCitusDatabase, requireProgram, startCitus, temporaryFolder, testWith } from '@gatehouse/testing'
import { distributeNotify, migrateNotify } from '../../../src/postgres/index.ts'

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const run = (program: string, ...args: string[]) => execFileSync(requireProgram('postgresql', program), args)

testWith('citus', 'a dump of a distributed database is restored on other nodes and distributed there', async (t) => {
  const citus = await startCitus({ settings: ['citus.shard_count=4'] })
  t.after(() => citus.stop())
  const [original, restored] = [await createCitusDatabase(citus.nodes), await createCitusDatabase(citus.nodes)]
  const file = join(temporaryFolder('dump'), 'gatehouse.dump')

  const first = await withDatabase(original, async (database) => {
    const report = await distributeNotify(database, { buckets: 32 })
    await database.query(
      `INSERT INTO notify.cap (bucket, user_id) SELECT n, 'user ' || n FROM generate_series(0, 31) n`,
    )
    return report
  })
  run('pg_dump', '--format=custom', `--file=${file}`, original)
  run('pg_restore', '--exit-on-error', '--no-owner', `--dbname=${restored}`, file)

  await withDatabase(restored, async (database) => {
    const count = async (text: string) => (await database.query<{ count: number }>(text)).rows[0]?.count
    assert.equal(await count('SELECT count(*) FROM citus_tables'), 0, 'a dump does not say what is distributed')
    assert.deepEqual(await distributeNotify(database, { buckets: 32 }), first)
    assert.equal(await count('SELECT count(*) FROM notify.cap'), 32)
    assert.deepEqual(await migrateNotify(database, { buckets: 32 }), { buckets: 32, distributed: true })
  })
})
