import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Server, startPgBouncer, startPostgres, testWith } from '@gatehouse/testing'
import { type Database, openPostgres, Secret, silentLog } from '../../src/index.ts'

describe('a pooler in transaction mode', () => {
  let servers: { readonly postgres: Server; readonly pooler: Server } | undefined
  let database: Database | undefined
  const settings = ['statement_timeout=9s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=3s']
  before(async () => {
    const postgres = await startPostgres({ settings }).catch(() => undefined)
    const pooler = postgres && (await startPgBouncer(postgres.url, 2).catch(() => undefined))
    servers = postgres && pooler && { postgres, pooler }
    if (servers) {
      const { url } = servers.pooler
      const sessionUrl = new Secret(servers.postgres.url)
      database = await openPostgres({ url: new Secret(url), sessionUrl, log: silentLog, connections: 10 })
    }
  })
  after(async () => {
    await database?.close()
    await servers?.pooler.stop()
    await servers?.postgres.stop()
  })
  const opened = () => database ?? assert.fail('PostgreSQL and PgBouncer did not start')

  testWith('pgbouncer', 'named statements run on whichever connection the pooler has', async () => {
    const named = (n: number) => ({ name: 'double', text: 'SELECT $1::int * 2 AS n', values: [n] })
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => opened().query<{ n: number }>(named(n))))
    assert.deepEqual(
      results.map(({ rows }) => rows[0]?.n),
      Array.from({ length: 50 }, (_, n) => 2 * n),
    )
  })

  testWith('pgbouncer', 'transactions and pipelines of many clients stay apart', async () => {
    await opened().query('CREATE TABLE total (n int); INSERT INTO total VALUES (0)')
    const add = { name: 'add', text: 'UPDATE total SET n = n + $1', values: [1] }
    await Promise.all(
      Array.from({ length: 40 }, (_, turn) =>
        turn % 2 === 0
          ? opened().transaction((tx) => Promise.all([tx.query('SET LOCAL lock_timeout = 8000'), tx.query(add)]))
          : opened().pipeline(['SET LOCAL plan_cache_mode = force_custom_plan', add]),
      ),
    )
    const { rows } = await opened().query('SELECT n FROM total')
    assert.deepEqual(rows, [{ n: 40 }])
  })

  testWith('pgbouncer', 'a session keeps its settings and locks, on a connection of its own', async () => {
    const counted = await opened().session(async (session) => {
      await session.query("SET application_name = 'of the session'")
      await session.query('SELECT pg_advisory_lock(7)')
      const free = await opened().query<{ free: boolean }>('SELECT pg_try_advisory_xact_lock(7) AS free')
      const { rows } = await session.query<{ name: string }>("SELECT current_setting('application_name') AS name")
      return [free.rows[0]?.free, rows[0]?.name]
    })
    assert.deepEqual(counted, [false, 'of the session'])
    const { rows } = await opened().query('SELECT pg_try_advisory_xact_lock(7) AS free')
    assert.deepEqual(rows, [{ free: true }])
  })

  testWith('pgbouncer', 'notifications that are sent through the pooler arrive', async (t) => {
    const listening = Promise.withResolvers<void>()
    const received = Promise.withResolvers<string>()
    const stop = opened().listen('news', { onNotification: received.resolve, onGap: listening.resolve })
    t.after(stop)
    await listening.promise
    await opened().query("SELECT pg_notify('news', 'it moved')")
    assert.equal(await received.promise, 'it moved')
  })

  testWith('pgbouncer', 'a role without timeouts is refused with the statements that set them', async (t) => {
    const bare = await startPostgres()
    t.after(() => bare.stop())
    const pooler = await startPgBouncer(bare.url)
    t.after(() => pooler.stop())
    await assert.rejects(
      openPostgres({ url: new Secret(pooler.url), sessionUrl: new Secret(bare.url), log: silentLog }),
      /ALTER ROLE gatehouse SET lock_timeout = '5000ms'; ALTER ROLE gatehouse SET statement_timeout = '9000ms';/,
    )
  })
})
