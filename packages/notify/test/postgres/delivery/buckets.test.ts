import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { migrateNotify, type PostgresNotifyOptions, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { AttemptRecord, ClaimedDelivery, DeadLetters, Deliveries } from '../../../src/store/store.ts'
import { notifyDatabase } from '../../support/engine/database.ts'
import { isDistributed } from '../../support/engine/engine.ts'
import { writeQueued } from '../../support/queued.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const allOf = (buckets: number) => Array.from({ length: buckets }, (_, bucket) => bucket)

interface Queue {
  readonly buckets: number
  readonly database: Database
  readonly deliveries: Deliveries
  readonly deadLetters: DeadLetters
  claim(limit?: number, buckets?: readonly number[]): ReturnType<Deliveries['claim']>
}

/** As a database of so many buckets; `distributed` has each statement for one bucket, whether its engine needs it or not. */
const divisions: readonly Required<Pick<PostgresNotifyOptions, 'buckets' | 'distributed'>>[] = [
  { buckets: 1, distributed: false },
  { buckets: 16, distributed: false },
  { buckets: 256, distributed: false },
  { buckets: 16, distributed: true },
].filter(({ distributed }) => distributed || !isDistributed)

function queueOn(database: Database, options: (typeof divisions)[number]): Queue {
  const { deliveries, deadLetters } = postgresNotifyStore(database, options)
  return {
    buckets: options.buckets,
    database,
    deliveries,
    deadLetters,
    claim: (limit = 1_000, buckets = allOf(options.buckets)) =>
      deliveries.claim({ buckets, channel: 'email', limit, leaseMs: 60_000, now }),
  }
}

const done = (claimed: ClaimedDelivery): AttemptRecord => ({
  claimed,
  at: now,
  acknowledged: { provider: 'post' },
  next: { kind: 'done' },
  what: 'sent',
  detail: { results: [{ target: 'email', provider: 'post', result: 'accepted' }] },
  deadTokens: [],
})

const again = (claimed: ClaimedDelivery, dueAt: number): AttemptRecord => ({
  claimed,
  at: now,
  next: { kind: 'again', dueAt, failures: 1, left: { targets: claimed.message.targets, partlyAccepted: false } },
  what: 'attempt_failed',
  detail: {},
  deadTokens: [],
})

const dead = (claimed: ClaimedDelivery): AttemptRecord => ({
  claimed,
  at: now,
  next: { kind: 'dead', cause: 'permanent', detail: 'post answered 550: no such user', fallback: false },
  what: 'dead_letter',
  detail: {},
  deadTokens: [],
})

const idsOf = (claimed: readonly ClaimedDelivery[]) => claimed.map(({ deliveryId }) => deliveryId).sort()

for (const division of divisions) {
  const { buckets, distributed } = division
  const withQueue = (title: string, body: (queue: Queue) => Promise<void>) =>
    test(title, async () => {
      const database = await notifyDatabase()
      try {
        await migrateNotify(database, { buckets })
        await body(queueOn(database, division))
      } finally {
        await database.close()
      }
    })

  describe(`deliveries of ${buckets} buckets${distributed ? ', each in statements of its own' : ''}`, () => {
    withQueue('are all claimed, once, and what is critical comes first', async ({ database, claim }) => {
      const normal = await writeQueued(database, { buckets, count: 60, dueAt: now - 60_000 })
      const critical = await writeQueued(database, { buckets, count: 5, dueAt: now, event: 'code', priority: 0 })
      await writeQueued(database, { buckets, count: 5, dueAt: now + 1 })
      await writeQueued(database, { buckets, count: 5, dueAt: now, channel: 'sms' })
      const { deliveries: claimed, failed } = await claim()
      assert.equal(failed.size, 0)
      assert.deepEqual(idsOf(claimed), [...normal, ...critical].sort())
      assert.ok(claimed.slice(0, 5).every((each) => each.critical))
      assert.equal((await claim()).deliveries.length, 0)
    })

    withQueue('are claimed up to the limit, until none is left', async ({ database, claim }) => {
      const ids = await writeQueued(database, { buckets, count: 70, dueAt: now })
      const claimed: ClaimedDelivery[] = []
      for (let claims = 0; claims < 70 && claimed.length < 70; claims++) {
        const { deliveries: some, nextDueAt } = await claim(10)
        assert.ok(some.length > 0 && some.length <= 10)
        claimed.push(...some)
        if (claimed.length < 70) assert.ok([...nextDueAt.values()].includes(now), 'more is due')
      }
      assert.deepEqual(idsOf(claimed), ids.sort())
      assert.deepEqual(await claim(10), { deliveries: [], failed: new Map(), nextDueAt: new Map() })
    })

    withQueue('of one bucket are claimed from it alone', async ({ database, claim }) => {
      const bucket = buckets - 1
      const ids = await writeQueued(database, { buckets, count: 3, dueAt: now, bucket })
      if (buckets > 1) await writeQueued(database, { buckets, count: 3, dueAt: now, bucket: 0 })
      const { deliveries: claimed } = await claim(10, [bucket])
      assert.deepEqual(idsOf(claimed), ids.sort())
      assert.ok(claimed.every((each) => each.bucket === bucket))
      assert.deepEqual(await claim(10, []), { deliveries: [], failed: new Map(), nextDueAt: new Map() })
    })

    withQueue('that are due later are named by bucket, as are those that are tried again', async (queue) => {
      const { database, deliveries, claim } = queue
      const later = buckets - 1
      await writeQueued(database, { buckets, count: 2, dueAt: now + 5_000, bucket: later })
      await writeQueued(database, { buckets, count: 1, dueAt: now + 9_000, bucket: later })
      await writeQueued(database, { buckets, count: 1, dueAt: now, bucket: 0 })
      const { deliveries: claimed, nextDueAt } = await claim()
      assert.equal(claimed.length, 1)
      assert.deepEqual(nextDueAt, new Map([[later, now + 5_000]]))
      await deliveries.record(claimed.map((each) => again(each, now + 1_000)))
      assert.equal((await claim()).nextDueAt.get(0), now + 1_000)
    })

    withQueue('of which a step is recorded twice keep one entry of it, and what the first left', async (queue) => {
      const { database, deliveries, claim } = queue
      await writeQueued(database, { buckets, count: 1, dueAt: now })
      const [claimed] = (await claim()).deliveries
      assert.ok(claimed)
      const step = again(claimed, now + 1_000)
      assert.equal((await deliveries.record([step])).late, 0)
      assert.equal((await deliveries.record([{ ...step, at: now + 1 }])).late, 1)
      const entries = 'SELECT 1 FROM notify.timeline_entry WHERE delivery_id = $1'
      assert.equal((await database.query(entries, [claimed.deliveryId])).rowCount, 1)
      assert.equal((await claim()).nextDueAt.get(claimed.bucket), now + 1_000)
    })

    withQueue('that were replayed stay queued when the step before is recorded again', async (queue) => {
      const { database, deliveries, deadLetters, claim } = queue
      await writeQueued(database, { buckets, count: 1, dueAt: now })
      const [claimed] = (await claim()).deliveries
      assert.ok(claimed)
      const step = dead(claimed)
      assert.equal((await deliveries.record([step])).late, 0)
      assert.equal((await deadLetters.replay({}, 10, now)).replayed, 1)
      assert.equal((await deliveries.record([step])).late, 1)
      assert.deepEqual(await deadLetters.list({}, 10, undefined), [])
      assert.deepEqual(idsOf((await claim()).deliveries), [claimed.deliveryId])
    })

    withQueue('of several event types share a claim evenly, whatever their buckets', async ({ database, claim }) => {
      await writeQueued(database, { buckets, count: 400, dueAt: now - 1_000, event: 'mass.mail' })
      await writeQueued(database, { buckets, count: 60, dueAt: now, event: 'order.shipped', bucket: 0 })
      const { deliveries: claimed } = await claim(40)
      const shipped = claimed.filter(({ event }) => event === 'order.shipped').length
      if (distributed) assert.ok(shipped > 0, `${shipped} of 40`)
      else assert.ok(shipped >= 15 && shipped <= 25, `${shipped} of 40`)
    })

    // Citus allows no triggers on distributed tables.
    if (distributed && !isDistributed)
      withQueue('of a bucket that fails are not marked, and it is named', async ({ database, deliveries, claim }) => {
        await writeQueued(database, { buckets, count: 40, dueAt: now })
        const { deliveries: claimed } = await claim()
        const failing = claimed[0]?.bucket ?? 0
        await database.query(
          `CREATE FUNCTION notify.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'away'; END $$;
           CREATE TRIGGER fail BEFORE UPDATE ON notify.delivery_queue FOR EACH ROW WHEN (OLD.bucket = ${failing})
           EXECUTE FUNCTION notify.fail()`,
        )
        const calls = claimed.map((each) => ({ claimed: each, target: 'email', provider: 'post' }))
        const { ids, failed } = await deliveries.markCalled(calls)
        assert.deepEqual([...failed.keys()], [failing])
        assert.match(String(failed.get(failing)), /away/)
        assert.deepEqual([...ids].sort(), idsOf(claimed.filter(({ bucket }) => bucket !== failing)))
        await database.query('DROP FUNCTION notify.fail CASCADE')
      })

    withQueue('are recorded, released and looked up together', async ({ database, deliveries, claim }) => {
      await writeQueued(database, { buckets, count: 40, dueAt: now })
      const { deliveries: claimed } = await claim()
      const [sent, released, retried, kept] = [0, 10, 20, 30].map((n) => claimed.slice(n, n + 10))
      assert.ok(sent && released && retried && kept)
      const { late, failed } = await deliveries.record([
        ...sent.map(done),
        ...retried.map((each) => again(each, now + 1)),
        ...kept.map((each) => ({ ...done(each), claimed: { ...each, attempt: 9 } })),
      ])
      assert.deepEqual([late, failed.size], [10, 0])
      assert.equal((await deliveries.release(released, 0)).size, 0)
      assert.deepEqual(
        [...(await deliveries.findStillClaimed(claimed)).ids].sort(),
        idsOf([...released, ...retried, ...kept]),
      )
      const calls = kept.map((each) => ({ claimed: each, target: 'email', provider: 'post' }))
      assert.deepEqual([...(await deliveries.markCalled(calls)).ids].sort(), idsOf(kept))
      assert.deepEqual(idsOf((await claim()).deliveries), idsOf(released))
      const { rows } = await database.query<{ id: string }>("SELECT id FROM notify.delivery WHERE state = 'sent'")
      assert.deepEqual(rows.map(({ id }) => id).sort(), idsOf(sent))
    })
  })
}

describe('claims on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  const withDatabase = (title: string, body: (database: Database) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      try {
        await body(database)
      } finally {
        await database.close()
      }
    })

  withDatabase('over lists of buckets that overlap never get the same delivery, and leave none', async (database) => {
    const division = { ...(await migrateNotify(database, { buckets: 16 })), distributed: false }
    const queues = Array.from({ length: 4 }, () => queueOn(database, division))
    for (let round = 0; round < 3; round++) {
      const ids = await writeQueued(database, { buckets: 16, count: 300, dueAt: now })
      const claimed: ClaimedDelivery[] = []
      const claimAll = async (queue: Queue, first: number) => {
        const mine = Array.from({ length: 12 }, (_, n) => (first + n) % 16)
        for (let empty = 0; empty < 2; ) {
          const { deliveries } = await queue.claim(25, mine)
          claimed.push(...deliveries)
          empty = deliveries.length === 0 ? empty + 1 : 0
        }
      }
      await Promise.all(queues.map((queue, n) => claimAll(queue, n * 4)))
      assert.deepEqual(idsOf(claimed), ids.sort())
      await queues[0]?.deliveries.record(claimed.map(done))
    }
  })

  withDatabase('of buckets apart go on where one of them fails, and name it', async (database) => {
    await migrateNotify(database, { buckets: 16 })
    const { deliveries, claim } = queueOn(database, { buckets: 16, distributed: true })
    const failing = 5
    await writeQueued(database, { buckets: 16, count: 4, dueAt: now, bucket: failing })
    const ids = await writeQueued(database, { buckets: 16, count: 4, dueAt: now, bucket: 6 })
    await database.query(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'injected'; END $$;
      CREATE TRIGGER failing BEFORE UPDATE OR DELETE ON notify.delivery_queue FOR EACH ROW
        WHEN (OLD.bucket = ${failing}) EXECUTE FUNCTION fail()`)
    const { deliveries: claimed, failed, nextDueAt } = await claim()
    assert.deepEqual(idsOf(claimed), ids.sort())
    assert.deepEqual([...failed.keys()], [failing])
    assert.equal(nextDueAt.size, 0)
    await database.query('ALTER TABLE notify.delivery_queue DISABLE TRIGGER failing')
    const { deliveries: later } = await claim()
    assert.equal(later.length, 4)
    await database.query('ALTER TABLE notify.delivery_queue ENABLE TRIGGER failing')
    const recorded = await deliveries.record([...later, ...claimed].map(done))
    assert.deepEqual([recorded.late, [...recorded.failed.keys()]], [0, [failing]])
    assert.deepEqual([...(await deliveries.release(later, 0)).keys()], [failing])
    const { rows } = await database.query<{ id: string }>("SELECT id FROM notify.delivery WHERE state = 'sent'")
    assert.deepEqual(rows.map(({ id }) => id).sort(), ids.sort())
  })
})
