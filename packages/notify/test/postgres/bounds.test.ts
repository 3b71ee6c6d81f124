import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { createAdmission } from '../../src/admission/admission.ts'
import type { AdmissionUnit, PlannedNotification } from '../../src/admission/planned.ts'
import { defaultOptions } from '../../src/config/options.ts'
import { bucketOfUser, deliveryIdOf, newIdOfUser } from '../../src/model/id.ts'
import { createReason } from '../../src/model/notification/reason.ts'
import type { NotifyStore } from '../../src/store/store.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
  testBuckets,
} from '../support/engine/engine.ts'
import { purgeBuckets } from '../support/purge.ts'

const dayMs = 86_400_000
const later = 400 * dayMs
const { retention } = defaultOptions
const rules = { caps: { total: 10, channels: {}, priorities: {} }, windowMs: dayMs }

async function fresh(database: Database): Promise<NotifyStore> {
  await migrateNotify(database)
  return postgresNotifyStore(database)
}

const rowsOf = async (database: Database, table: string) =>
  (await database.query(`SELECT 1 FROM notify.${table}`)).rowCount

/** A batch that is admitted is of one bucket, where those are distributed. */
function usersOfOneBucket(count: number): string[] {
  const all = Array.from({ length: count * testBuckets * 4 }, (_, n) => `user-${n}`)
  return all.filter((user) => bucketOfUser(user, testBuckets) === 0).slice(0, count)
}

const unit = (userId: string, key: string, now: number): AdmissionUnit => {
  const notification: PlannedNotification = {
    id: newIdOfUser(userId),
    userId,
    event: 'e',
    data: {},
    priority: 'normal',
    acceptedAt: now,
    sensitive: false,
    dedupKey: key,
    decisions: [],
    deliveries: [
      {
        channel: 'sms',
        logKey: key,
        plan: { kind: 'drop', outcome: 'no_recipient', reason: createReason('no_phone_number') },
      },
      {
        channel: 'email',
        plan: {
          kind: 'send',
          message: { body: 'b', locale: 'en', targets: [{ id: 'email', address: 'a@example.com' }] },
        },
      },
    ],
    stored: 'no',
  }
  return { notifications: [notification] }
}

const item = (userId: string, createdAt: number) => ({
  id: deliveryIdOf(newIdOfUser(userId), 'in-app'),
  userId,
  event: 'e',
  body: 'b',
  createdAt,
})

test('the cap counters of a user go with the last notification and log entry, and not before', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  const store = await fresh(database)
  const now = Date.now()
  await store.intake.admit([unit('alice', 'k', now)], createAdmission(rules, now))
  await purgeBuckets(store, retention, now + 31 * dayMs)
  assert.equal(await rowsOf(database, 'dedup_log'), 0)
  assert.equal(await rowsOf(database, 'cap'), 1, 'the notification is there')
  // Nothing of it waits any more.
  await database.query('DELETE FROM notify.delivery_queue')
  await purgeBuckets(store, retention, now + 91 * dayMs)
  assert.equal(await rowsOf(database, 'notification'), 0)
  assert.equal(await rowsOf(database, 'cap'), 0)
})

test('the counts of an inbox go with its last item, and a reader of an empty one leaves none', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  const store = await fresh(database)
  const now = Date.now()
  await store.inbox.put([item('alice', now), item('alice', now + 10 * dayMs)])
  await store.inbox.change('nobody', 'read', {}, now)
  assert.equal(await rowsOf(database, 'inbox_count'), 1, 'nobody never had an item')
  await purgeBuckets(store, retention, now + 366 * dayMs)
  assert.equal((await store.inbox.page('alice', { limit: 5 })).counts.total, 1)
  await purgeBuckets(store, retention, now + later)
  assert.equal(await rowsOf(database, 'inbox_count'), 0)
})

describe('on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'events admitted while the last of their users is purged count against caps', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const store = await fresh(database)
    const old = Date.now()
    const users = usersOfOneBucket(20)
    for (let round = 0; round < 20; round++) {
      await store.intake.admit(
        users.map((user) => unit(user, `old-${round}`, old)),
        createAdmission(rules, old),
      )
      await database.query('UPDATE notify.dedup_log SET recorded_at = $1', [new Date(old - later).toISOString()])
      await database.query("UPDATE notify.notification SET id = ('01000000' || substr(id::text, 9))::uuid")
      await database.query("UPDATE notify.cap SET counters = '{}'")
      await Promise.all([
        purgeBuckets(store, retention, old + round * dayMs),
        ...Array.from({ length: 4 }, (_, n) =>
          store.intake.admit(
            users.map((user) => unit(user, `${round}-${n}`, old)),
            createAdmission(rules, old),
          ),
        ),
        purgeBuckets(store, retention, old + round * dayMs),
      ])
      const { rows } = await database.query<{ user_id: string; used: number }>(
        "SELECT user_id, (counters->'total'->>'used')::int AS used FROM notify.cap ORDER BY user_id",
      )
      assert.deepEqual(
        rows,
        users.toSorted().map((user_id) => ({ user_id, used: 4 })),
      )
      await database.query(
        'TRUNCATE notify.dedup_log, notify.notification, notify.cap, notify.delivery, notify.delivery_queue',
      )
    }
    await database.close()
  })

  testWith('postgresql', 'items put while the last ones of their inbox are purged are counted', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const store = await fresh(database)
    const now = Date.now()
    const users = Array.from({ length: 10 }, (_, n) => `user-${n}`)
    for (let round = 0; round < 10; round++) {
      await store.inbox.put(users.map((user) => item(user, now - later)))
      await Promise.all([
        purgeBuckets(store, retention, now),
        store.inbox.put(users.map((user) => item(user, now))),
        purgeBuckets(store, retention, now),
        store.inbox.put(users.toReversed().map((user) => item(user, now))),
      ])
      for (const user of users) {
        const { counts, items } = await store.inbox.page(user, { limit: 100 })
        assert.equal(counts.total, items.length)
        assert.equal(items.filter(({ createdAt }) => createdAt === now).length, 2 * (round + 1))
      }
    }
    await database.close()
  })
})
