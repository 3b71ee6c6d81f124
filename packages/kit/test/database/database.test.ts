import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { memoryDatabase, postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import type { Database } from '../../src/index.ts'

async function behavesAsADatabase(open: () => Promise<Database>): Promise<void> {
  const database = await open()
  try {
    await database.query(
      'CREATE TABLE account (id int PRIMARY KEY, balance bigint, at timestamptz); INSERT INTO account VALUES (1, 10, now())',
    )
    const { rows } = await database.query<{ balance: number; at: number }>(
      'SELECT balance, $1::timestamptz AS at FROM account',
      ['2026-01-02T03:04:05.678Z'],
    )
    assert.deepEqual(rows, [{ balance: 10, at: Date.UTC(2026, 0, 2, 3, 4, 5, 678) }])
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.query('UPDATE account SET balance = 0')
        throw new Error('changed my mind')
      }),
      /changed my mind/,
    )
    assert.equal((await database.query<{ balance: number }>('SELECT balance FROM account')).rows[0]?.balance, 10)
    await assert.rejects(
      database.transaction(() => database.query('SELECT 1')),
      /inside an open transaction/,
    )
    await database.ping()
  } finally {
    await database.close()
  }
}

test('the embedded engine parses values, rolls back, and rejects the pool in a transaction', () =>
  behavesAsADatabase(memoryDatabase))

async function endsItsHandle(open: () => Promise<Database>): Promise<void> {
  const database = await open()
  try {
    await database.query('CREATE TABLE straggler (id int PRIMARY KEY)')
    for (const outcome of ['fails', 'succeeds']) {
      const ended = Promise.withResolvers<void>()
      const stragglers: Array<Promise<unknown>> = []
      const whole = database.transaction(async (tx) => {
        const straggle = async () => {
          await ended.promise
          await tx.query('INSERT INTO straggler VALUES (1)')
        }
        stragglers.push(assert.rejects(straggle(), /after its end/, outcome))
        if (outcome === 'fails') await tx.query('SELECT 1 / 0')
      })
      await (outcome === 'fails' ? assert.rejects(whole, { code: '22012' }) : whole)
      ended.resolve()
      await Promise.all(stragglers)
    }
    assert.deepEqual((await database.query('SELECT FROM straggler')).rowCount, 0)
  } finally {
    await database.close()
  }
}

test('the embedded engine runs nothing outside of a transaction that was asked for in it', () =>
  endsItsHandle(memoryDatabase))

async function pipelines(open: () => Promise<Database>): Promise<void> {
  const database = await open()
  try {
    await database.query('CREATE TABLE line (id int PRIMARY KEY)')
    const insert = (id: number) => ({ text: 'INSERT INTO line VALUES ($1)', values: [id] })
    const [, , found] = await database.pipeline<{ id: number }>([
      insert(1),
      insert(2),
      'SELECT id FROM line ORDER BY id',
    ])
    assert.deepEqual(found?.rows, [{ id: 1 }, { id: 2 }])
    await assert.rejects(database.pipeline([insert(3), insert(1), insert(4)]), { code: '23505' })
    await database.transaction(async (tx) => {
      await tx.query(insert(5))
      await tx.finish([insert(6)])
      await assert.rejects(async () => tx.query(insert(7)), /after its end/)
    })
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.query(insert(8))
        await tx.finish([insert(1)])
      }),
      { code: '23505' },
    )
    const { rows } = await database.query('SELECT id FROM line ORDER BY id')
    assert.deepEqual(rows, [{ id: 1 }, { id: 2 }, { id: 5 }, { id: 6 }])
  } finally {
    await database.close()
  }
}

test('a pipeline and a finished transaction on the embedded engine write everything or nothing', () =>
  pipelines(memoryDatabase))

/** Collects what is heard, and lets a test wait for so much of it. */
function listener() {
  const notices: string[] = []
  const waiting = new Map<string, () => void>()
  const take = (notice: string) => {
    notices.push(notice)
    waiting.get(notice)?.()
  }
  return {
    notices,
    hearing: { onNotification: take, onGap: () => take('(missed)') },
    next: (notice: string) => new Promise<void>((resolve) => waiting.set(notice, resolve)),
  }
}

test('what a transaction notifies on the embedded engine is heard once it is committed', async () => {
  const database = await memoryDatabase()
  const { notices, hearing, next } = listener()
  const begun = next('(missed)')
  const stop = database.listen('news', hearing)
  await begun
  const last = next('last')
  await assert.rejects(
    database.transaction(async (tx) => {
      await tx.query("SELECT pg_notify('news', 'never')")
      throw new Error('changed my mind')
    }),
  )
  await database.transaction((tx) => tx.query("SELECT pg_notify('news', 'last')"))
  await last
  await stop()
  await database.close()
  assert.deepEqual(notices, ['(missed)', 'last'])
})

describe('on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())
  const running = () => server ?? assert.fail('PostgreSQL did not start')

  testWith(
    'postgresql',
    'PostgreSQL reads numbers and times, rolls back, and refuses the pool inside a transaction',
    () => behavesAsADatabase(() => postgresDatabase(running(), 1)),
  )

  testWith('postgresql', 'PostgreSQL runs nothing outside of a transaction that was asked for in it', () =>
    endsItsHandle(() => postgresDatabase(running())),
  )

  testWith('postgresql', 'a pipeline and a finished transaction on PostgreSQL write everything or nothing', () =>
    pipelines(() => postgresDatabase(running(), 1)),
  )

  testWith('postgresql', 'a transaction that meets a deadlock runs again and both are committed', async () => {
    const database = await postgresDatabase(running())
    await database.query('CREATE TABLE counter (id int PRIMARY KEY, n int); INSERT INTO counter VALUES (1, 0), (2, 0)')
    let attempts = 0
    const crosswise = (first: number, second: number, met: { first: Promise<unknown>; arrive: () => void }) =>
      database.transaction(async (tx) => {
        attempts++
        await tx.query('UPDATE counter SET n = n + 1 WHERE id = $1', [first])
        met.arrive()
        await met.first
        await tx.query('UPDATE counter SET n = n + 1 WHERE id = $1', [second])
      })
    const left = Promise.withResolvers<void>()
    const right = Promise.withResolvers<void>()
    await Promise.all([
      crosswise(1, 2, { first: right.promise, arrive: left.resolve }),
      crosswise(2, 1, { first: left.promise, arrive: right.resolve }),
    ])
    const { rows } = await database.query('SELECT n FROM counter ORDER BY id')
    await database.close()
    assert.deepEqual(rows, [{ n: 2 }, { n: 2 }])
    assert.ok(attempts >= 3, 'one of them was run again')
  })

  testWith('postgresql', 'a statement by itself that meets a deadlock runs again', async () => {
    const database = await postgresDatabase(running())
    await database.query('CREATE TABLE counter (id int PRIMARY KEY, n int); INSERT INTO counter VALUES (1, 0), (2, 0)')
    const [locked, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = database.transaction(async (tx) => {
      // The server cancels the statement, which waits for less time before it looks for a deadlock.
      await tx.query("SET LOCAL deadlock_timeout = '1min'")
      await tx.query('UPDATE counter SET n = n + 1 WHERE id = 1')
      locked.resolve()
      await waited.promise
      await tx.query('UPDATE counter SET n = n + 1 WHERE id = 2')
    })
    await locked.promise
    const backwards = database.query('SELECT n FROM counter ORDER BY id DESC FOR UPDATE')
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while ((await database.query(waiting)).rowCount === 0);
    waited.resolve()
    const [{ rows }] = await Promise.all([backwards, holding])
    await database.close()
    assert.deepEqual(rows, [{ n: 1 }, { n: 1 }])
  })

  testWith('postgresql', 'a listener whose connection is cut listens again and learns of the gap', async () => {
    const database = await postgresDatabase(running())
    const { notices, hearing, next } = listener()
    const begun = next('(missed)')
    const stop = database.listen('news', hearing)
    await begun
    const again = next('(missed)')
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()",
    )
    await again
    const last = next('last')
    await database.query("SELECT pg_notify('news', 'last')")
    await last
    await stop()
    await database.close()
    assert.deepEqual(notices, ['(missed)', '(missed)', 'last'])
  })
})
