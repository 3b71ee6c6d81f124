import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import {
  type Database,
  manualClock,
  openPostgres,
  type Query,
  Secret,
  silentLog,
  type Transaction,
} from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { ClaimedDelivery, Deliveries } from '../../../src/store/store.ts'
import { claimDue } from '../../support/processes/claims.ts'

const limit = 100

describe('a claim under an old snapshot', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  const withQueue = (title: string, body: (queue: Queue) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      try {
        await body(queueOn(database))
      } finally {
        await database.close()
      }
    })

  withQueue('reads at most twice the buffers of a healthy one, 8,000 deliveries later', async (queue) => {
    await queue.write(400)
    const healthy = await queue.buffersOfClaim()
    await queue.underSnapshot(async () => {
      await queue.deliver(8_000)
      await queue.write(400)
      const sick = await queue.buffersOfClaim()
      assert.ok(sick <= healthy * 2, `${sick} buffers, ${healthy} in health`)
    })
  })

  withQueue('that finds nothing reads next to nothing, 8,000 deliveries later', async (queue) => {
    await queue.underSnapshot(async () => {
      await queue.deliver(8_000)
      const buffers = await queue.buffersOfClaim()
      assert.ok(buffers <= 50, `${buffers} buffers`)
    })
  })

  withQueue('finds a row at once that this process gives back or has tried again', async (queue) => {
    await queue.underSnapshot(async () => {
      await queue.deliver(8_000)
      await queue.write(3)
      const [released, retried, done] = (await queue.claim()) as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery]
      await queue.write(1)
      await queue.end([done, ...(await queue.claim())])
      await queue.deliveries.release([released], 0)
      await queue.tryAgain(retried, queue.clock.now() - 5)
      const found = await queue.claim()
      assert.deepEqual(
        found.map(({ deliveryId }) => deliveryId),
        [retried.deliveryId, released.deliveryId],
      )
    })
  })

  withQueue(
    'finds the rows that another process writes late within a second, and a new event type at once',
    async (queue) => {
      await queue.underSnapshot(async () => {
        await queue.deliver(8_000)
        await queue.write(1, { dueAt: queue.clock.now() - 800 })
        await queue.write(1, { event: 'a.new.one' })
        await queue.write(1, { event: 'z.new.one' })
        const events = (await queue.claim()).map(({ event }) => event)
        assert.deepEqual(events.sort(), ['a.new.one', 'z.new.one'])
        queue.clock.advance(1_000)
        assert.equal((await queue.claim()).length, 1)
      })
    },
  )

  withQueue('finds a row whose worker died within a minute of the end of its lease', async (queue) => {
    await queue.underSnapshot(async () => {
      await queue.deliver(8_000)
      await queue.write(1)
      const [dead] = await queue.claim()
      queue.clock.advance(2_000)
      await queue.write(1)
      await queue.end(await queue.claim())
      await queue.endLeases()
      queue.clock.advance(60_000)
      const [found] = await queue.claim()
      assert.equal(found?.deliveryId, dead?.deliveryId)
    })
  })

  testWith('postgresql', 'is not cut short as other statements are when a process starts with it', async () => {
    const running = server ?? assert.fail('PostgreSQL did not start')
    const database = await postgresDatabase(running)
    await migrateNotify(database)
    const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
    const started = await openPostgres({
      url: new Secret(running.url.replace(/[^/]+$/, rows[0]?.name ?? '')),
      log: silentLog,
      connections: 1,
      timeouts: { statementMs: 100 },
    })
    const queue = queueOn(database)
    try {
      await queue.write(300_000)
      await queue.underSnapshot(async () => {
        await database.query("UPDATE notify.delivery_queue SET due_at = due_at + interval '1 day'")
        await database.query('DELETE FROM notify.delivery_queue')
        await queue.write(1)
        const { deliveries } = postgresNotifyStore(started)
        assert.equal((await claimDue(deliveries, { channel: 'email', limit, now: queue.clock.now() })).length, 1)
      })
    } finally {
      await started.close()
      await database.close()
    }
  })
})

interface Queue {
  readonly deliveries: Deliveries
  readonly clock: ReturnType<typeof manualClock>
  write(count: number, row?: { readonly dueAt?: number; readonly event?: string }): Promise<void>
  claim(): Promise<readonly ClaimedDelivery[]>
  /** As time does. */
  endLeases(): Promise<void>
  /** Records that they were sent. */
  end(claimed: readonly ClaimedDelivery[]): Promise<void>
  tryAgain(claimed: ClaimedDelivery, dueAt: number): Promise<void>
  /** Writes so many, claims them and records that they were sent. */
  deliver(count: number): Promise<void>
  /** The buffers that the statement of the next claim reads, by EXPLAIN; what it would claim is left. */
  buffersOfClaim(): Promise<number>
  underSnapshot(work: () => Promise<void>): Promise<void>
}

function queueOn(database: Database): Queue {
  const explained: number[] = []
  const { deliveries } = postgresNotifyStore(explaining(database, explained))
  const clock = manualClock()
  let written = 0
  const queue: Queue = {
    deliveries,
    clock,
    async write(count, { dueAt = clock.now(), event = 'order.shipped' } = {}) {
      await database.query(
        `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message)
         SELECT 0, ('019b0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user-' || n, 'email', $3, 1, $4::timestamptz,
                false, json_build_object('body', repeat('on its way ', 20), 'targets', json_build_array(json_build_object('id', 'a', 'address', 'b')))
           FROM generate_series($1::integer + 1, $1::integer + $2::integer) AS n`,
        [written, count, event, new Date(dueAt).toISOString()],
      )
      written += count
    },
    claim: () => claimDue(deliveries, { channel: 'email', limit, now: clock.now() }),
    async endLeases() {
      await database.query(
        "UPDATE notify.delivery_queue SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL",
      )
    },
    async end(claimed) {
      const sent = { at: clock.now(), what: 'sent', detail: {}, deadTokens: [], next: { kind: 'done' } } as const
      await deliveries.record(claimed.map((each) => ({ ...sent, claimed: each, acknowledged: { provider: 'test' } })))
    },
    async tryAgain(claimed, dueAt) {
      const next = {
        kind: 'again',
        dueAt,
        failures: 1,
        left: { targets: claimed.message.targets, partlyAccepted: false },
      } as const
      await deliveries.record([{ claimed, at: clock.now(), what: 'attempt_failed', detail: {}, deadTokens: [], next }])
    },
    async deliver(count) {
      for (let delivered = 0; delivered < count; ) {
        await queue.write(limit * 2)
        clock.advance(5)
        for (let n = 0; n < 2; n++) {
          const claimed = await queue.claim()
          await queue.end(claimed)
          delivered += claimed.length
        }
      }
    },
    async buffersOfClaim() {
      explained.length = 0
      await queue.claim().then((claimed) => deliveries.release(claimed, 0))
      return explained[0] ?? assert.fail('no claim was explained')
    },
    underSnapshot: (work) => withSnapshot(database, work),
  }
  return queue
}

/** Holds a snapshot open, as a backup does, for as long as the work takes. */
async function withSnapshot(database: Database, work: () => Promise<void>): Promise<void> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { promise: isOpen, resolve: open } = Promise.withResolvers<void>()
  const snapshot = database.transaction(async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await tx.query('SELECT count(*) FROM notify.delivery_queue')
    open()
    await ended
  })
  try {
    await isOpen
    await work()
  } finally {
    end()
    await snapshot
  }
}

/** The database, on which each claim is explained before it is made. */
function explaining(database: Database, buffers: number[]): Database {
  const explained = (tx: Transaction): Transaction =>
    new Proxy(tx, {
      get: (target, name) =>
        name !== 'query'
          ? Reflect.get(target, name)
          : async (query: string | Query, values?: readonly unknown[]) => {
              if (typeof query === 'string' || !query.text.includes('attempt = w.attempt + 1'))
                return tx.query(query, values)
              tx.query('SAVEPOINT explained')
              const plan = tx.query<{ 'QUERY PLAN': Array<{ Plan: Record<string, number> }> }>(
                `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${query.text}`,
                query.values,
              )
              tx.query('ROLLBACK TO SAVEPOINT explained')
              const made = tx.query(query)
              const { Plan: root } = (await plan).rows[0]?.['QUERY PLAN'][0] ?? assert.fail('no plan')
              buffers.push((root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0))
              return made
            },
    })
  return {
    ...database,
    query: database.query.bind(database),
    transaction: (work) => database.transaction((tx) => work(explained(tx))),
  }
}
