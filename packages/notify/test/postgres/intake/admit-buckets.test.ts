import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { createAdmission } from '../../../src/admission/admission.ts'
import type { AdmissionUnit, DeliveryPlan, PlannedNotification } from '../../../src/admission/planned.ts'
import { newLinkId } from '../../../src/links/short-links.ts'
import { bucketOfUser, newIdOfUser, slotOfUser } from '../../../src/model/id.ts'
import { composeDedupKey } from '../../../src/model/notification/dedup-key.ts'
import { createReason } from '../../../src/model/notification/reason.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { NotifyStore } from '../../../src/store/store.ts'
import { embeddedDatabase } from '../../support/engine/embedded.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const rules = { caps: { total: 3, channels: { push: 2 }, priorities: {} }, windowMs: 86_400_000 }
const message = { body: 'Order', locale: 'en', targets: [{ id: 'a', address: 'a@example.com' }] }
const links = (userId: string) => [
  { id: newLinkId(slotOfUser(userId)), target: 'https://shop.example', expiresAt: now },
]

const fault = createReason('template_failed', { template_id: 'order.shipped', channel: 'email' })

const plans = {
  send: () => ({ kind: 'send', message }),
  link: (userId: string) => ({ kind: 'send', message, links: links(userId) }),
  defer: () => ({ kind: 'defer', resumeAt: now + 60_000 }),
  aggregate: () => ({ kind: 'aggregate' }),
  fail: () => ({ kind: 'fail', cause: 'template', reason: fault }),
  expire: () => ({ kind: 'expire', expiresAt: now }),
} satisfies Record<string, (userId: string) => DeliveryPlan>

interface Event {
  readonly user: string
  readonly key: string | undefined
  readonly kind: keyof typeof plans
}

function planned({ user: userId, key, kind }: Event): PlannedNotification {
  const id = newIdOfUser(userId)
  const channels = kind === 'link' ? (['push'] as const) : (['push', 'email'] as const)
  return {
    id,
    userId,
    event: 'order.shipped',
    data: { order_id: 'A-1' },
    priority: 'normal',
    acceptedAt: now,
    sensitive: false,
    ...(key === undefined ? {} : { dedupKey: key }),
    decisions: [{ what: 'accepted', at: now, detail: { source: 'http', event: 'order.shipped', priority: 'normal' } }],
    stored: 'no',
    item: { actor: 'Ann', flushAt: now + 60_000 },
    deliveries: channels.map((channel) => ({
      channel,
      ...(key === undefined ? {} : { logKey: composeDedupKey('order.shipped', key, userId, channel) }),
      plan: plans[kind](userId),
    })),
  }
}

/** Every column that two databases with the same ids must agree on. */
const contents = {
  cap: 'user_id, counters',
  notification: 'id, user_id, dedup_key, data::text, decisions::text',
  dedup_log: 'user_id, key_hash, notification_id, has_delivery',
  delivery: 'id, user_id, channel, state, address, ended',
  delivery_queue: 'delivery_id, user_id, channel, message::text',
  deferred: 'notification_id, user_id, channels',
  pending_window: 'user_id, event, state',
  pending_item: 'notification_id, actor, channels',
  short_link: 'id, user_id, delivery_id',
  dead_letter: 'id, user_id, cause',
  timeline_entry: 'notification_id, entry_type',
} as const

interface Process {
  readonly database: Database
  readonly store: NotifyStore
  readonly buckets: number
  readonly distributed: boolean
}

async function processOn(database: Database, buckets: number, distributed = false): Promise<Process> {
  await migrateNotify(database, { buckets })
  return { database, store: postgresNotifyStore(database, { buckets, distributed }), buckets, distributed }
}

/** Admits units as the service does: together, or those of each bucket where they are distributed. */
async function admit({ store, buckets, distributed }: Process, units: readonly AdmissionUnit[]) {
  const bucketOf = ({ notifications: [first] }: AdmissionUnit) =>
    distributed ? bucketOfUser(first?.userId ?? '', buckets) : 0
  const decided = new Map<AdmissionUnit, unknown>()
  for (const [, own] of Map.groupBy(units, bucketOf)) {
    const answers = await store.intake.admit(own, createAdmission(rules, now))
    for (const [index, unit] of own.entries())
      decided.set(
        unit,
        answers[index]?.map(({ answerId, deliveries }) => [
          answerId,
          ...deliveries.map(({ id, channel, outcome }) => [id, channel, outcome]),
        ]),
      )
  }
  return units.map((unit) => decided.get(unit))
}

async function storedBy({ database }: Process): Promise<unknown[]> {
  return Promise.all(
    Object.entries(contents).map(async ([table, columns]) => {
      const { rows } = await database.query(`SELECT ${columns} FROM notify.${table} ORDER BY ${columns}`)
      return [table, rows]
    }),
  )
}

async function assertBuckets({ database, buckets }: Process): Promise<void> {
  for (const [table, columns] of Object.entries(contents).filter(([, each]) => each.includes('user_id'))) {
    const { rows } = await database.query<{ bucket: number; user_id: string }>(
      `SELECT bucket, user_id FROM notify.${table}`,
    )
    for (const { bucket, user_id } of rows) assert.equal(bucket, bucketOfUser(user_id, buckets), `${table} ${columns}`)
  }
}

test('a batch over many buckets admits and stores exactly what it does in one bucket', async (t) => {
  const databases = await Promise.all([1, 16, 256, 256].map(() => embeddedDatabase()))
  t.after(() => Promise.all(databases.map((database) => database.close())))
  const [one, ...others] = await Promise.all(
    databases.map((database, index) => processOn(database, [1, 16, 256, 256][index] ?? 1, index === 3)),
  )
  assert.ok(one)
  const event = fc.record({
    user: fc.integer({ min: 0, max: 9 }).map((n) => `user-${n}`),
    key: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
    kind: fc.constantFrom(...(Object.keys(plans) as Array<keyof typeof plans>)),
  })
  const batches = fc.array(fc.array(event, { minLength: 1, maxLength: 25 }), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      for (const batch of all) {
        const units = batch.map((each) => ({ notifications: [planned(each)] }))
        const expected = await admit(one, units)
        for (const process of others) assert.deepEqual(await admit(process, units), expected)
      }
      const expected = await storedBy(one)
      for (const process of others) {
        assert.deepEqual(await storedBy(process), expected)
        await assertBuckets(process)
      }
    }),
    { numRuns: 12 },
  )
})

test('users of several buckets are no one batch where buckets are distributed', async (t) => {
  const database = await embeddedDatabase()
  t.after(() => database.close())
  const { store } = await processOn(database, 256, true)
  const units = ['user-1', 'user-2'].map((user) => ({ notifications: [planned({ user, key: 'a', kind: 'send' })] }))
  await assert.rejects(store.intake.admit(units, createAdmission(rules, now)), /several buckets/)
  assert.equal((await database.query('SELECT FROM notify.notification')).rowCount, 0)
  const { users } = await store.intake.readProfiles(['user-1', 'user-2', 'user-3'])
  assert.deepEqual([...users.keys()].sort(), ['user-1', 'user-2', 'user-3'])
})

describe('two processes on one PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  for (const [buckets, distributed] of [
    [1, false],
    [16, false],
    [256, false],
    [256, true],
  ] as const) {
    const title = `${distributed ? 'distributed ' : ''}users of ${buckets} buckets admitted twice at once keep keys and caps`
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      try {
        const first = await processOn(database, buckets, distributed)
        const processes = [first, { ...first, store: postgresNotifyStore(database, { buckets, distributed }) }]
        const users = Array.from({ length: 20 }, (_, n) => `user-${n}`)
        const events = (keys: readonly string[]) =>
          users.flatMap((user) => keys.map((key): Event => ({ user, key, kind: 'send' })))
        const unitsOf = (list: readonly Event[]) => list.map((each) => ({ notifications: [planned(each)] }))
        const backwards = (process: Process, keys: readonly string[]) =>
          admit(process, unitsOf(events(keys).toReversed()))
        await Promise.all(
          processes.flatMap((process) =>
            [['a'], ['a', 'b'], ['b', 'a', 'c'], ['d']].flatMap((keys) => [
              admit(process, unitsOf(events(keys))),
              backwards(process, keys),
            ]),
          ),
        )
        const { rows } = await database.query<{ user_id: string; channel: string; count: number }>(
          'SELECT user_id, channel, count(*) FROM notify.delivery_queue GROUP BY 1, 2',
        )
        assert.equal(rows.length, 2 * users.length)
        for (const { user_id, channel, count } of rows) {
          const { total, channels } = rules.caps
          assert.equal(count, channel === 'push' ? channels.push : total, `${user_id} ${channel}`)
        }
        const { rows: keys } = await database.query(
          `SELECT n.user_id, n.dedup_key, d.channel FROM notify.delivery d
             JOIN notify.notification n ON left(n.id::text, 31) = left(d.id::text, 31) AND n.user_id = d.user_id
            GROUP BY 1, 2, 3 HAVING count(*) > 1`,
        )
        assert.deepEqual(keys, [])
        await assertBuckets(first)
      } finally {
        await database.close()
      }
    })
  }
})
