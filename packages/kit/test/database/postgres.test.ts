import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import {
  postgresDatabase,
  type Server,
  type SilentProxy,
  startPostgres,
  startSilentProxy,
  temporaryFolder,
  testWith,
} from '@gatehouse/testing'
import { isRefusedValue, isUnavailable, openPostgres, Secret, silentLog } from '../../src/index.ts'

describe('a database that is half dead', () => {
  let server: Server | undefined
  let proxy: SilentProxy | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
    proxy = server && (await startSilentProxy(Number(new URL(server.url).port)))
  })
  after(async () => {
    await proxy?.stop()
    await server?.stop()
  })

  const timeouts = { statementMs: 400, lockMs: 200, idleTransactionMs: 300 }
  const open = (connections: number, port?: number, own: Partial<typeof timeouts> = {}) => {
    assert.ok(server, 'PostgreSQL did not start')
    const url = new URL(server.url)
    if (port !== undefined) url.port = String(port)
    return openPostgres({ url: new Secret(url.href), log: silentLog, connections, timeouts: { ...timeouts, ...own } })
  }

  testWith('postgresql', 'a server that requires a password refuses a URL without one in plain words', async () => {
    assert.ok(server)
    const admin = await open(2)
    const { rows } = await admin.query<{ file: string }>(
      "SELECT setting AS file FROM pg_settings WHERE name = 'hba_file'",
    )
    const file = rows[0]?.file ?? assert.fail('no pg_hba.conf')
    writeFileSync(file, `host all clerk 127.0.0.1/32 scram-sha-256\n${readFileSync(file, 'utf8')}`)
    await admin.query("CREATE ROLE clerk LOGIN PASSWORD 'secret'")
    await admin.query('SELECT pg_reload_conf()')
    await admin.close()
    const url = new URL(server.url)
    url.username = 'clerk'
    await assert.rejects(openPostgres({ url: new Secret(url.href), log: silentLog }), {
      name: 'StartError',
      message: "PostgreSQL at DATABASE_URL can't be used: the server requires a password, and the URL has none.",
    })
  })

  testWith(
    'postgresql',
    'a query on a silent connection fails as unavailable, and the next ones work at once',
    async () => {
      assert.ok(proxy)
      const database = await open(5, proxy.port)
      await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT pg_sleep(0.05)')))
      proxy.silence()
      const before = proxy.connections
      await assert.rejects(database.query('SELECT 1'), isUnavailable)
      for (let count = 0; count < 5; count++) await database.query('SELECT 1')
      const opened = proxy.connections - before
      await database.close()
      assert.ok(opened >= 1, 'a new connection was made')
    },
  )

  testWith('postgresql', 'a statement ends when its signal aborts, and leaves its connection to nobody', async () => {
    const database = await open(1)
    const ending = new AbortController()
    const reason = new Error('no longer wanted')
    const begun = performance.now()
    const running = [
      database.until(ending.signal).query('SELECT pg_sleep(60)'),
      database.until(ending.signal).transaction((tx) => tx.query('SELECT 1')),
    ]
    const refused = running.map((each) => assert.rejects(each))
    ending.abort(reason)
    await Promise.all(refused)
    assert.ok(performance.now() - begun < timeouts.statementMs, 'nothing waits for the server')
    await assert.rejects(database.until(ending.signal).query('SELECT 1'), reason)
    assert.deepEqual((await database.query('SELECT 1 AS one')).rows, [{ one: 1 }])
    await database.close()
  })

  testWith('postgresql', 'work that is unwanted before its turn leaves its connection to the next', async () => {
    const database = await open(1)
    const pid = async () => (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
    const before = await pid()
    const ending = new AbortController()
    const refused = Object.assign(new Error('the node does not answer'), { code: '08006' })
    const holding = database.query('SELECT pg_sleep(0.05)')
    const waiting = assert.rejects(database.until(ending.signal).query('SELECT 1'), refused)
    ending.abort(refused)
    await Promise.all([holding, waiting])
    assert.equal(await pid(), before)
    await database.close()
  })

  testWith('postgresql', 'a session may have a connection beside the pool', async () => {
    const database = await open(1)
    const text = 'SELECT pg_backend_pid() AS pid'
    const answers = [
      await database.query<{ pid: number }>(text),
      await database.session((session) => session.query<{ pid: number }>(text), { isFresh: true }),
    ]
    const pids = new Set(answers.flatMap(({ rows }) => rows.map(({ pid }) => pid)))
    assert.equal(pids.size, 2)
    await database.close()
  })

  testWith('postgresql', 'the ends of a listener, a session and a pool do not wait for a silent server', async () => {
    assert.ok(proxy)
    const database = await open(2, proxy.port)
    const listening = Promise.withResolvers<void>()
    const stop = database.listen('news', { onNotification() {}, onGap: () => listening.resolve() })
    await listening.promise
    await database.session(
      async (session) => {
        await session.query('SELECT 1')
        proxy?.silence()
      },
      { isFresh: true },
    )
    await stop()
    await assert.rejects(database.query('SELECT 1'), isUnavailable)
    await database.close()
  })

  testWith('postgresql', 'a transaction that falls silent fails as unavailable and frees its locks', async () => {
    assert.ok(proxy)
    const [database, other] = [await open(1, proxy.port), await open(1)]
    await other.query('CREATE TABLE silent (id int PRIMARY KEY, n int); INSERT INTO silent VALUES (1, 0)')
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.query('UPDATE silent SET n = 1 WHERE id = 1')
        proxy?.silence()
        await tx.query('SELECT 1')
      }),
      isUnavailable,
    )
    await other.query('UPDATE silent SET n = 2 WHERE id = 1')
    const { rows } = await other.query('SELECT n FROM silent')
    await Promise.all([database.close(), other.close()])
    assert.deepEqual(rows, [{ n: 2 }])
  })

  testWith('postgresql', 'a process that stops inside a transaction holds its locks for a bounded time', async () => {
    // Whoever waits for a lock gives up long before the server ends the one that holds it.
    const frozen = await open(1, undefined, { idleTransactionMs: 2_000 })
    const other = await open(1)
    await other.query('CREATE TABLE counted (id int PRIMARY KEY, n int); INSERT INTO counted VALUES (1, 0)')
    const locked = Promise.withResolvers<void>()
    const resumed = Promise.withResolvers<void>()
    const late = frozen.transaction(async (tx) => {
      await tx.query('UPDATE counted SET n = 1 WHERE id = 1')
      locked.resolve()
      await resumed.promise
      await tx.query('UPDATE counted SET n = 3 WHERE id = 1')
    })
    late.catch(() => {})
    await locked.promise
    await assert.rejects(other.query('UPDATE counted SET n = 2 WHERE id = 1'), isUnavailable)
    for (;;) {
      const done = await other.query('UPDATE counted SET n = 2 WHERE id = 1').catch(() => undefined)
      if (done) break
    }
    resumed.resolve()
    await assert.rejects(late, isUnavailable)
    const { rows } = await other.query('SELECT n FROM counted')
    await frozen.query('SELECT 1')
    await Promise.all([frozen.close(), other.close()])
    assert.deepEqual(rows, [{ n: 2 }])
  })

  testWith('postgresql', 'a statement that runs too long is cancelled, unless it may take longer', async () => {
    const database = await open(1)
    await assert.rejects(database.query('SELECT pg_sleep(5)'), isUnavailable)
    await database.transaction(async (tx) => {
      await tx.query('SET LOCAL statement_timeout = 0')
      await tx.query({ text: 'SELECT pg_sleep(1.2)', timeoutMs: 5_000 })
    })
    await database.close()
  })

  testWith('postgresql', 'statements are not compiled, which would cost more than they take', async () => {
    const database = await open(1)
    assert.deepEqual((await database.query('SHOW jit')).rows, [{ jit: 'off' }])
    await database.close()
  })

  testWith('postgresql', 'a ping fails on a database that only reads', async () => {
    const database = await open(1)
    await database.ping()
    await database.query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY')
    await assert.rejects(database.ping(), /only reads/)
    await database.close()
  })

  testWith('postgresql', 'a refused value keeps its connection, and is no outage', async () => {
    const database = await postgresDatabase(server ?? assert.fail(), 1)
    const pid = async () => (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
    const before = await pid()
    await assert.rejects(database.query("SELECT 'x'::int"), (error) => isRefusedValue(error) && !isUnavailable(error))
    assert.equal(await pid(), before)
    await database.close()
  })
})

const rows: readonly [error: unknown, unavailable: boolean][] = [
  [{ code: '53300' }, true],
  [{ code: '53100' }, true],
  [{ code: '57P01' }, true],
  [{ code: '57014' }, true],
  [{ code: '55P03' }, true],
  [{ code: '25P03' }, true],
  [{ code: '08006' }, true],
  [{ code: 'EHOSTUNREACH' }, true],
  [{ code: 'ENETUNREACH' }, true],
  [{ code: 'ENOTFOUND' }, true],
  [{ code: 'EAI_AGAIN' }, true],
  [new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]), true],
  [new Error('Query read timeout'), true],
  [new Error('timeout exceeded when trying to connect'), true],
  [{ code: '23505' }, false],
  [{ code: '22P02' }, false],
  [{ code: '42P01' }, false],
  [{ code: 'ENOENT', syscall: 'connect' }, true],
  [{ code: 'EAGAIN', syscall: 'connect' }, true],
  [{ code: 'ENOENT' }, false],
  [{ code: 'ENOENT', syscall: 'open' }, false],
  [{ code: 'EAGAIN', syscall: 'write' }, false],
  [new TypeError('x is not a function'), false],
  [undefined, false],
]
for (const [error, expected] of rows) {
  const { code, syscall, message } = (error ?? {}) as { code?: string; syscall?: string; message?: string }
  const what = [code ?? message ?? 'nothing', ...(syscall ? [`of ${syscall}`] : [])].join(' ')
  test(`${what} says ${expected ? '' : 'not '}that the database is away`, () =>
    assert.equal(isUnavailable(error), expected))
}

test('a Unix socket whose server is away says that the database is away', async () => {
  const folder = encodeURIComponent(temporaryFolder('socket'))
  const opening = openPostgres({
    url: new Secret(`postgres://gatehouse@localhost/postgres?host=${folder}`),
    log: silentLog,
  })
  await assert.rejects(opening, ({ cause }: Error) => isUnavailable(cause))
})
