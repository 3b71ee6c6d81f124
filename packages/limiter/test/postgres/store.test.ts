import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { type Database, migrate } from '@gatehouse/kit'
import { createLimiter, definePolicy, type Limiter, type Policy } from '@gatehouse/limiter'
import { storeConformance } from '@gatehouse/limiter/conformance'
import { migrations, postgresStore } from '@gatehouse/limiter/postgres'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { purgeRows } from '../../src/postgres/table.ts'

const postgresTest = (title: string, body: () => Promise<void>): void => testWith('postgresql', title, body)
const alice = { kind: 'user', id: 'alice' }
const rules = [{ name: 'login', limit: 10, windowMs: 30 * 86_400_000 }]
const login = definePolicy('login', rules, { failureMode: 'closed' })

let server: Server | undefined
before(async () => {
  server = await startPostgres()
})
after(() => server?.stop())

async function openDatabase(): Promise<Database> {
  assert.ok(server)
  const database = await postgresDatabase(server)
  await migrate(database, 'limiter', migrations)
  return database
}

storeConformance({
  name: 'PostgreSQL',
  test: postgresTest,
  async setup() {
    const database = await openDatabase()
    return { store: postgresStore(database, { clock: 'limiter' }), close: () => database.close() }
  },
})

/** Limiters of so many processes on one database, which begins empty. */
async function setup(processes: number) {
  const database = await openDatabase()
  return {
    database,
    limiters: Array.from({ length: processes }, () =>
      createLimiter({ closedStore: postgresStore(database), closedDeadlineMs: 20_000 }),
    ),
    counted: async () => {
      const { rows } = await database.query<{ current: number }>('SELECT current FROM limiter.counter WHERE at > 0')
      return rows.map(({ current }) => current)
    },
    [Symbol.asyncDispose]: () => database.close(),
  }
}

const admitted = async (limiters: readonly Limiter[], times: number, policy = login) => {
  const checks = limiters.flatMap((limiter) => Array.from({ length: times }, () => limiter.check(policy, alice)))
  return (await Promise.all(checks)).filter(({ allowed }) => allowed).length
}

postgresTest('concurrent checks of three processes are admitted up to the limit exactly', async () => {
  await using bench = await setup(3)
  assert.equal(await admitted(bench.limiters, 40), 10)
  assert.deepEqual(await bench.counted(), [10])
})

postgresTest('policies that do not fail closed are not counted in the database', async () => {
  await using bench = await setup(1)
  assert.equal(await admitted(bench.limiters, 3, definePolicy('tier', rules)), 3)
  assert.deepEqual(await bench.counted(), [])
})

postgresTest('processes that lock many identifiers in any order do not wait for one another', async () => {
  await using bench = await setup(2)
  const ids = Array.from({ length: 40 }, (_, i) => `user-${i}`)
  const [some, others] = bench.limiters
  const checks = Array.from({ length: 5 }, () => [
    ...ids.map((id) => some?.check(login, { kind: 'user', id })),
    ...ids.toReversed().map((id) => others?.check(login, { kind: 'user', id })),
  ])
  const decisions = await Promise.all(checks.flat())
  assert.ok(decisions.every((decision) => decision?.allowed && decision.source === 'store'))
  assert.deepEqual(await bench.counted(), Array(40).fill(10))
})

postgresTest('a check that was rejected because the database was silent is not counted later', async () => {
  await using bench = await setup(0)
  const limiter = createLimiter({ closedStore: postgresStore(bench.database), closedDeadlineMs: 300 })
  await limiter.check(login, alice)
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const other = bench.database.transaction(async (tx) => {
    await tx.query('SELECT key FROM limiter.counter FOR UPDATE')
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const rejected = await Promise.all([1, 2, 3].map(() => limiter.check(login, alice)))
  released.resolve()
  await other
  assert.deepEqual(new Set(rejected.map(({ source }) => source)), new Set(['closed']))
  const later = createLimiter({ closedStore: postgresStore(bench.database), closedDeadlineMs: 20_000 })
  assert.equal((await later.check(login, alice)).remaining, 8)
})

postgresTest('counts that an emptied table lost are raised to what a process remembers', async () => {
  await using bench = await setup(1)
  assert.equal(await admitted(bench.limiters, 12), 10)
  await bench.database.query('DELETE FROM limiter.counter')
  assert.equal(await admitted(bench.limiters, 1), 0)
  assert.deepEqual(await bench.counted(), [10])
})

postgresTest('counts are raised in the windows of their time, also by the clock of the database', async () => {
  const database = await openDatabase()
  const store = postgresStore(database)
  const hourly = definePolicy('hourly', [{ name: 'hourly', limit: 100, windowMs: 3_600_000 }])
  const raise = async (id: string, hoursAgo: number) => {
    const { now } = await store.peek(hourly, { kind: 'user', id }, 0)
    const result = await store.raise(hourly, { kind: 'user', id }, [3, 7], now - hoursAgo * 3_600_000)
    const hasPassed = Math.floor(result.now / 3_600_000) - Math.floor(now / 3_600_000)
    return { counters: result.counters, hoursAgo: hoursAgo + hasPassed }
  }
  const expected = [
    [3, 7],
    [7, 0],
    [0, 0],
    [0, 0],
  ] as const
  for (const hours of [0, 1, 2]) {
    const { counters, hoursAgo } = await raise(`user-${hours}`, hours)
    assert.deepEqual(counters, expected[hoursAgo], `${hoursAgo} windows ago`)
  }
  await database.close()
})

const minuteMs = 60_000
const tenAMinute = [
  definePolicy('sliding', [{ name: 'sliding', limit: 10, windowMs: minuteMs }]),
  definePolicy('fixed', [{ name: 'fixed', algorithm: 'fixed-window', limit: 10, windowMs: minuteMs }]),
  definePolicy('bucket', [{ name: 'bucket', algorithm: 'token-bucket', limit: 10, refillPerSecond: 1 / 6 }]),
]

/** A store whose clock the test moves, and whether it admits a request. */
async function setupClock(policy: Policy) {
  const database = await openDatabase()
  const store = postgresStore(database, { clock: 'limiter' })
  return {
    database,
    allows: async (cost: number, now: number) =>
      (await store.acquire({ policy, identifier: alice, cost, now })).allowed,
    [Symbol.asyncDispose]: () => database.close(),
  }
}

for (const policy of tenAMinute) {
  postgresTest(`a clock that goes back an hour limits nobody until it catches up: ${policy.name}`, async () => {
    await using bench = await setupClock(policy)
    const start = Date.now()
    assert.ok(await bench.allows(1, start + 60 * minuteMs))
    for (let i = 0; i < 116; i++) assert.ok(await bench.allows(1, start + (i * minuteMs) / 2), `request ${i}`)
  })

  postgresTest(`a clock that goes back an hour unblocks nobody at once: ${policy.name}`, async () => {
    await using bench = await setupClock(policy)
    const start = Math.floor(Date.now() / minuteMs) * minuteMs
    assert.ok(await bench.allows(10, start + 60 * minuteMs))
    for (const elapsedMs of [0, 100, 1_000]) assert.ok(!(await bench.allows(1, start + elapsedMs)))
    assert.ok(await bench.allows(10, start + 2 * minuteMs))
  })
}

postgresTest('a rejected check ends what a row keeps of a clock that was years ahead', async () => {
  await using bench = await setupClock(login)
  assert.ok(await bench.allows(10, Date.now() + 3 * 365 * 86_400_000))
  assert.ok(!(await bench.allows(1, Date.now())))
  const { rows } = await bench.database.query<{ years: number }>(
    'SELECT extract(epoch FROM expires_at - now())::float8 / 86400 / 365 AS years FROM limiter.counter WHERE at > 0',
  )
  assert.deepEqual(
    rows.map(({ years }) => Math.floor(years)),
    [0],
  )
})

postgresTest('expired rows are purged, and no others', async () => {
  await using bench = await setup(1)
  await admitted(bench.limiters, 1)
  await bench.database.query(
    `INSERT INTO limiter.counter (key, expires_at) SELECT 'old ' || i, now() - interval '1 minute' FROM generate_series(1, 2500) AS i`,
  )
  await purgeRows(bench.database)
  const { rows } = await bench.database.query<{ key: string }>("SELECT key FROM limiter.counter WHERE key LIKE 'old %'")
  assert.deepEqual(rows, [])
  assert.deepEqual(await bench.counted(), [1])
})

postgresTest('a purge deletes a bounded number of rows, and says when more may be left', async () => {
  await using bench = await setup(1)
  await bench.database.query(
    `INSERT INTO limiter.counter (key, expires_at) SELECT 'old ' || i, now() - interval '1 minute' FROM generate_series(1, 12000) AS i`,
  )
  assert.equal(await purgeRows(bench.database), true)
  assert.equal((await bench.database.query('SELECT FROM limiter.counter')).rowCount, 2_000)
  assert.equal(await purgeRows(bench.database), false)
  assert.equal((await bench.database.query('SELECT FROM limiter.counter')).rowCount, 0)
})

postgresTest(
  'after a year of identifiers that come once there are as many counters as after three months',
  async () => {
    const database = await openDatabase()
    const store = postgresStore(database, { clock: 'limiter' })
    const dayMs = 86_400_000
    const start = Date.UTC(2026, 0, 1)
    const rowsAfter: number[] = []
    for (let day = 0; day < 365; day++) {
      const now = start + day * dayMs
      await Promise.all(
        Array.from({ length: 5 }, (_, n) =>
          store.acquire({ policy: login, identifier: { kind: 'user', id: `${day}-${n}` }, cost: 1, now }),
        ),
      )
      while (await purgeRows(database, now));
      rowsAfter.push((await database.query('SELECT FROM limiter.counter')).rowCount)
    }
    await database.close()
    assert.ok((rowsAfter[364] ?? 0) > 0)
    assert.ok(
      (rowsAfter[364] ?? 0) <= (rowsAfter[90] ?? 0),
      `${rowsAfter[90]} after three months, ${rowsAfter[364]} after a year`,
    )
  },
)
