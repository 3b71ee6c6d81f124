import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { newId } from '../../../src/model/id.ts'
import { postgresSurvey } from '../../../src/postgres/agenda/survey.ts'
import { migrateNotify } from '../../../src/postgres/index.ts'

const count = 16
const all = Array.from({ length: count }, (_, bucket) => bucket)
const now = Date.parse('2026-06-01T12:00:00Z')
const minute = 60_000

const at = (offsetMs: number) => new Date(now + offsetMs).toISOString()

interface Queued {
  readonly bucket: number
  readonly channel?: string
  readonly priority?: number
  readonly event?: string
  readonly dueIn: number
  /** In how long its lease ends, by the database's clock. */
  readonly leaseMs?: number
}

async function queue(database: Database, rows: readonly Queued[]): Promise<void> {
  for (const { bucket, channel = 'email', priority = 1, event = 'e', dueIn, leaseMs = null } of rows)
    await database.query(
      `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, lease_until, sensitive, message)
       VALUES ($1, $2, 'u', $3, $4, $5, $6, now() + $7::integer * interval '1 millisecond', false, '{}')`,
      [bucket, newId(bucket), channel, event, priority, at(dueIn), leaseMs],
    )
}

async function wait(database: Database): Promise<void> {
  const values = (bucket: number) => [bucket, newId(bucket)]
  await database.query(
    `INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload) VALUES ($1, $2, 'u', $3, '{}')`,
    [...values(3), at(5 * minute)],
  )
  await database.query(
    `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at)
     VALUES ($1, $2, $2, 'u', '{}', 'replay', $3)`,
    [...values(4), at(6 * minute)],
  )
  await database.query(
    `INSERT INTO notify.pending_window (bucket, id, user_id, event, state, flush_at) VALUES ($1, $2, 'u', 'e', 'open', $3)`,
    [...values(5), at(7 * minute)],
  )
  await database.query(
    `INSERT INTO notify.parked (bucket, key, id, user_id, event, place, payload) VALUES ($1, 'k', $2, 'u', 'e', 1, '{}')`,
    values(6),
  )
  await database.query(
    `INSERT INTO notify.outbox (bucket, id, changes)
     VALUES ($1, $2, ARRAY[($2, $2, now(), 'u', NULL, 'sent', NULL)::notify.change])`,
    values(7),
  )
}

/** What is due, as a text each. */
async function surveyed(database: Database, buckets: readonly number[], distributed = false): Promise<string[]> {
  const found = await postgresSurvey(database, distributed).survey(buckets, now)
  return found.map(({ kind, bucket, dueAt }) => `${bucket} ${kind} ${Math.round((dueAt - now) / 1_000)}`).sort()
}

describe('a survey on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  const scene = (title: string, body: (database: Database) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database, { buckets: count })
      try {
        await body(database)
      } finally {
        await database.close()
      }
    })

  scene('every kind of work is found with its first time, in these buckets and no others', async (database) => {
    assert.deepEqual(await surveyed(database, all), [])
    await wait(database)
    await queue(database, [
      { bucket: 0, dueIn: -minute },
      { bucket: 0, dueIn: 2 * minute, channel: 'push' },
      { bucket: 0, dueIn: minute, channel: 'push', priority: 2, event: 'f' },
      { bucket: 15, dueIn: 0, channel: 'sms' },
    ])
    const due = [
      '0 deliver email -60',
      '0 deliver push 60',
      '15 deliver sms 0',
      '3 schedule 300',
      '4 resume 360',
      '5 resume 420',
      '6 release 0',
      '7 outbox 0',
    ]
    assert.deepEqual(await surveyed(database, all), due)
    assert.deepEqual(await surveyed(database, [0, 1, 2, 4, 6, 7]), [...due.slice(0, 2), due[4], ...due.slice(6)])
    assert.deepEqual(await surveyed(database, all, true), due, 'bucket by bucket it is the same')
  })

  scene('what is leased is due when its lease ends, whatever time the caller has', async (database) => {
    await queue(database, [
      { bucket: 1, dueIn: -minute, leaseMs: 30_000 },
      { bucket: 2, dueIn: -minute, leaseMs: -1 },
      { bucket: 3, dueIn: -minute, leaseMs: 30_000 },
      { bucket: 3, dueIn: -1_000 },
      { bucket: 4, dueIn: 2 * minute, leaseMs: 30_000 },
    ])
    assert.deepEqual(await surveyed(database, all), [
      '1 deliver email 30',
      '2 deliver email -60',
      '3 deliver email -1',
      '4 deliver email 120',
    ])
  })

  scene('behind many that are leased there may be one that is due now', async (database) => {
    await queue(
      database,
      Array.from({ length: 40 }, () => ({ bucket: 1, dueIn: -minute, leaseMs: 30_000 })),
    )
    assert.deepEqual(await surveyed(database, all), ['1 deliver email 0'])
  })
})
