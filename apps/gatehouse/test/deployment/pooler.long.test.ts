import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import {
  type CitusServer,
  createCitusDatabase,
  postgresDatabase,
  type Server,
  startCitus,
  startPgBouncer,
  startPostgres,
  temporaryFolder,
  testWith,
  testWithAll,
} from '@gatehouse/testing'
import { distributeTables } from '../../src/compose/distribute.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadConfiguration, sendEvents, shopToken, writeTemplate } from '../support/load.ts'
import { launch, started } from '../support/program.ts'

const timeouts = { statement_timeout: '9s', lock_timeout: '5s', idle_in_transaction_session_timeout: '3s' }
const events = 400
const serverConnections = 4

describe('a program behind a pooler in transaction mode', () => {
  let servers: { readonly postgres: Server; readonly pooler: Server } | undefined
  before(async () => {
    const postgres = await startPostgres().catch(() => undefined)
    const pooler = postgres && (await startPgBouncer(postgres.url, serverConnections).catch(() => undefined))
    servers = postgres && pooler && { postgres, pooler }
  })
  after(() => Promise.all([servers?.pooler.stop(), servers?.postgres.stop()]))

  const setUp = async () => {
    const { postgres, pooler } = servers ?? assert.fail('PostgreSQL and PgBouncer did not start')
    const path = join(temporaryFolder('pooler'), 'gatehouse.yaml')
    writeFileSync(path, loadConfiguration)
    const database = await postgresDatabase(postgres)
    const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
    const at = ({ url }: Server) => url.replace(/[^/]+$/, rows[0]?.name ?? '')
    const env = {
      GATEHOUSE_CONFIG: path,
      DATABASE_URL: at(pooler),
      DATABASE_SESSION_URL: at(postgres),
      ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
    }
    // One after the other: they change one row of the catalog.
    const set = async (value: (name: string, setting: string) => string) => {
      for (const [name, setting] of Object.entries(timeouts)) await database.query(value(name, setting))
    }
    return { database, env, set }
  }

  testWith('pgbouncer', 'refuses to start without timeouts of the role, and says how to set them', async (t) => {
    const { database, env } = await setUp()
    t.after(() => database.close())
    const program = await launch({ env })
    const { code, stderr } = await program.ended
    assert.notEqual(code, 0)
    assert.match(stderr, /ALTER ROLE gatehouse SET lock_timeout = '5000ms';/)
  })

  testWith('pgbouncer', 'migrates, issues tokens and delivers each event once, on few connections', async (t) => {
    const { database, env, set } = await setUp()
    t.after(() => database.close())
    await set(
      (name, setting) => `ALTER DATABASE ${new URL(env.DATABASE_URL).pathname.slice(1)} SET ${name} = '${setting}'`,
    )
    const programs = await Promise.all([started({ env }), started({ env })])
    t.after(() => Promise.all(programs.map((program) => program.stop())))
    const [first] = programs
    await writeTemplate(first, 'parcel.moved')

    let sent = 0
    const failed: number[] = []
    for (const [turn, program] of programs.entries())
      await sendEvents(program, {
        token: await shopToken(program),
        producers: 16,
        eventAt: (index) => ({ event: 'parcel.moved', user_id: `user-${index % 50}`, data: {} }),
        onResponse: async (response) => {
          await response.body?.cancel()
          if (response.status !== 202) failed.push(response.status)
          sent++
        },
        isStopped: () => sent >= events * (turn + 1),
      })
    assert.deepEqual(failed, [])
    const count = async (sql: string) =>
      (await database.query<{ n: number }>(`SELECT count(*)::int AS n ${sql}`)).rows[0]?.n
    const deadline = Date.now() + 60_000
    while (((await count('FROM notify.delivery_queue')) ?? 0) > 0 && Date.now() < deadline) await pause(50)
    assert.equal(await count("FROM notify.delivery WHERE state = 'sent'"), await count('FROM notify.delivery'))
    assert.equal(await count('FROM notify.inbox'), await count('FROM notify.delivery'))
    const pooled = await count(
      `FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
         AND pid <> pg_backend_pid() AND query NOT ILIKE 'LISTEN%'`,
    )
    assert.ok(pooled !== undefined && pooled <= serverConnections + 2, `${pooled} connections to the server`)
    for (const program of programs) assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
  })
})

describe('a coordinator of Citus behind a pooler in transaction mode', () => {
  let servers: { readonly citus: CitusServer; readonly pooler: Server } | undefined
  before(async () => {
    const citus = await startCitus({ settings: ['citus.shard_count=4'] }).catch(() => undefined)
    const pooler = citus && (await startPgBouncer(citus.url, serverConnections).catch(() => undefined))
    servers = citus && pooler && { citus, pooler }
  })
  after(() => Promise.all([servers?.pooler.stop(), servers?.citus.stop()]))

  const setUp = async () => {
    const { citus, pooler } = servers ?? assert.fail('Citus and PgBouncer did not start')
    const path = join(temporaryFolder('pooler'), 'gatehouse.yaml')
    writeFileSync(path, loadConfiguration)
    const sessionUrl = await createCitusDatabase(citus.nodes)
    const url = new URL(sessionUrl)
    url.port = new URL(pooler.url).port
    const direct = await openPostgres({ url: new Secret(sessionUrl), log: silentLog, connections: 1 })
    for (const [name, setting] of Object.entries(timeouts))
      await direct.query(`ALTER DATABASE ${url.pathname.slice(1)} SET ${name} = '${setting}'`)
    await direct.close()
    const env = {
      GATEHOUSE_CONFIG: path,
      DATABASE_URL: url.href,
      DATABASE_SESSION_URL: sessionUrl,
      ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
    }
    return { env, distribute: async () => distributeTables(await readConfig(env), silentLog, 32) }
  }

  testWithAll(['pgbouncer', 'citus'], 'is distributed', async () => {
    const { distribute } = await setUp()
    const { distributed, tables } = await distribute()
    assert.equal(distributed.length, tables)
  })

  testWithAll(['pgbouncer', 'citus'], 'is not distributed while that keeps connections, and says so', async () => {
    const { env, distribute } = await setUp()
    const [url, sessionUrl] = [new Secret(env.DATABASE_URL), new Secret(env.DATABASE_SESSION_URL)]
    const pooled = await openPostgres({ url, sessionUrl, log: silentLog, connections: 1 })
    await pooled.query('SELECT 1')
    await pooled.close()
    await assert.rejects(distribute(), /has 1 more connections.*a pooler keeps their connections.*RECONNECT/)
  })
})
