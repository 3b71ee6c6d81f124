import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import fc from 'fast-check'
import { bucketOfUser } from '../../../src/model/id.ts'
import type { Deliveries } from '../../../src/store/store.ts'
import { notifyDatabase } from '../../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore, testBuckets } from '../../support/engine/engine.ts'
import { claimDue } from '../../support/processes/claims.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const priorities = ['critical', 'normal', 'low'] as const

/** What a run of claims is up against. */
interface Case {
  readonly weights: readonly [number, number, number]
  readonly limit: number
  /** Event types of each priority, each with more deliveries than are claimed. */
  readonly types: readonly [number, number, number]
}

const anyCase: fc.Arbitrary<Case> = fc.record({
  weights: fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 5 })),
  limit: fc.integer({ min: 1, max: 40 }),
  types: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
})

describe('claims, while more is due than they can take', () => {
  test('give each priority its weight within three deliveries, and its event types even parts', async () => {
    await withDatabase(async (database) => {
      await fc.assert(
        fc.asyncProperty(anyCase, async ({ weights, limit, types }) => {
          const deliveries = await saturated(database, { weights, limit, types })
          const total = weights.reduce((sum, weight) => sum + weight, 0)
          const byPriority = [0, 0, 0]
          const byType = new Map<string, number>()
          for (let claims = 1; claims <= claimsInRun; claims++) {
            const claimed = await claim(deliveries, limit)
            assert.equal(claimed.length, limit)
            for (const event of claimed) {
              const priority = Number(event[0])
              byPriority[priority] = (byPriority[priority] ?? 0) + 1
              byType.set(event, (byType.get(event) ?? 0) + 1)
            }
            for (const [priority, count] of byPriority.entries()) {
              const share = (claims * limit * (weights[priority] ?? 0)) / total
              assert.ok(
                Math.abs(count - share) <= 3,
                `${priorities[priority]} got ${count} of its ${share} after ${claims} claims`,
              )
            }
          }
          for (const [priority, count] of byPriority.entries()) {
            const counts = Array.from(
              { length: types[priority] ?? 0 },
              (_, type) => byType.get(`${priority}.${type}`) ?? 0,
            )
            const even = count / counts.length
            for (const got of counts) assert.ok(Math.abs(got - even) <= claimsInRun + 1, `a type got ${got} of ${even}`)
          }
        }),
        { numRuns: 12 },
      )
    })
  })

  test('reach every delivery within the number of claims that its weight and types allow', async () => {
    await withDatabase(async (database) => {
      await fc.assert(
        fc.asyncProperty(anyCase, async ({ weights, limit, types }) => {
          const deliveries = await saturated(database, { weights, limit, types })
          const priority = 2
          const total = weights.reduce((sum, weight) => sum + weight, 0)
          // The first of each event type of the lowest priority has none of its own before it.
          const bound = ((types[priority] + 3) * total) / weights[priority] + limit
          const missing = new Set(Array.from({ length: types[priority] }, (_, type) => `${priority}.${type}`))
          let count = 0
          while (missing.size > 0) {
            assert.ok(count <= bound, `${[...missing]} after ${count} deliveries, not ${bound}`)
            for (const event of await claim(deliveries, limit)) missing.delete(event)
            count += limit
          }
        }),
        // Shares of two and one by turns: which type comes first has to go on by as many as were taken.
        { numRuns: 12, examples: [[{ weights: [4, 4, 3], limit: 6, types: [1, 1, 3] }]] },
      )
    })
  })

  test('one at a time serve the lowest priority too, once in the sum of the weights', async () => {
    await withDatabase(async (database) => {
      const deliveries = await saturated(database, { weights: [16, 4, 1], limit: 1, types: [1, 1, 1] })
      const order: number[] = []
      for (let claims = 0; claims < 63; claims++) order.push(Number((await claim(deliveries, 1))[0]?.[0]))
      const counts = [0, 1, 2].map((priority) => order.filter((each) => each === priority).length)
      assert.deepEqual(counts, [48, 12, 3])
    })
  })

  test('owe nothing to a priority that had nothing to send', async () => {
    await withDatabase(async (database) => {
      const deliveries = await saturated(database, { weights: [16, 4, 1], limit: 21, types: [0, 2, 0] })
      for (let claims = 0; claims < 5; claims++) await claim(deliveries, 21)
      await write(database, '2.late', 200)
      await write(database, '0.late', 200)
      const order = (await claim(deliveries, 21)).map((event) => Number(event[0]))
      assert.deepEqual(
        [0, 1, 2].map((priority) => order.filter((each) => each === priority).length),
        [16, 4, 1],
      )
    })
  })
})

test('a claim that can take all takes all, and what is critical comes first', async () => {
  await withDatabase(async (database) => {
    const deliveries = postgresNotifyStore(database).deliveries
    await write(database, '2.low', 5, now - 60_000)
    await write(database, '1.normal', 5, now - 30_000)
    await write(database, '0.critical', 3)
    const events = await claim(deliveries, 200)
    assert.equal(events.length, 13)
    assert.deepEqual(events.slice(0, 3), ['0.critical', '0.critical', '0.critical'])
    assert.deepEqual(events.slice(8), Array(5).fill('2.low'))
  })
})

const claimsInRun = 10

/** The event types of what is claimed. */
async function claim(deliveries: Deliveries, limit: number): Promise<string[]> {
  return (await claimDue(deliveries, { channel: 'email', limit, now })).map(({ event }) => event)
}

/** A store whose every event type has more due than a run claims. */
async function saturated(database: Database, { weights, limit, types }: Case): Promise<Deliveries> {
  await database.query('DELETE FROM notify.delivery_queue')
  for (const [priority, count] of types.entries())
    for (let type = 0; type < count; type++)
      await write(database, `${priority}.${type}`, limit * claimsInRun + 100, now - type)
  const [critical, normal, low] = weights
  return postgresNotifyStore(database, { priorityWeights: { critical, normal, low } }).deliveries
}

async function write(database: Database, event: string, count: number, dueAt: number = now): Promise<void> {
  await database.query(
    `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message)
     SELECT $4::smallint, gen_random_uuid(), 'alice', 'email', $1, left($1, 1)::smallint, $3::timestamptz, false, '{"targets": []}'
       FROM generate_series(1, $2::integer)`,
    [event, count, new Date(dueAt).toISOString(), bucketOfUser('alice', testBuckets)],
  )
}

async function withDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  const database = await notifyDatabase()
  try {
    await migrateNotify(database)
    await work(database)
  } finally {
    await database.close()
  }
}
