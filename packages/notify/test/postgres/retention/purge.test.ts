import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { defaultOptions } from '../../../src/config/options.ts'
import { type Channel, channels } from '../../../src/model/channel.ts'
import { channelDigitOf, deliveryIdOf, newIdOfUser } from '../../../src/model/id.ts'
import { notifyDatabase } from '../../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore } from '../../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'

const { retention } = defaultOptions
const dayMs = 86_400_000
const user = 'alice'

/** Old notifications of one user, each with a delivery on every channel and two entries, as far as a batch goes and further. */
async function fill(database: Database, notifications: number): Promise<void> {
  const slot = newIdOfUser(user).slice(-4)
  const id = (digit: string) => `('01000000-0000-7000-8000-' || lpad(to_hex(n), 7, '0') || ${digit} || '${slot}')::uuid`
  const from = `FROM generate_series(1, ${notifications}) AS n`
  await database.query(
    `INSERT INTO notify.notification (bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at)
     SELECT 0, ${id("'0'")}, '${user}', 'e', 'normal', false, '{}', '[]', now() ${from}`,
  )
  await database.query(
    `INSERT INTO notify.delivery (bucket, id, user_id, channel, state)
     SELECT 0, ${id('digit')}, '${user}', 'push', 'sent'
       ${from} CROSS JOIN unnest(ARRAY[${channels.map((channel) => `'${channelDigitOf(channel)}'`)}]) AS digit`,
  )
  await database.query(
    `INSERT INTO notify.timeline_entry (bucket, notification_id, id, at, entry_type)
     SELECT 0, ${id("'0'")}, ${id('digit')}, now(), 'sent' ${from} CROSS JOIN unnest(ARRAY['1', '2']) AS digit`,
  )
}

const countOf = async (database: Database, table: string) =>
  (await database.query<{ n: number }>(`SELECT count(*)::integer AS n FROM notify.${table}`)).rows[0]?.n

/** Rows that neither an export nor an erasure would find: both look for them by their notifications. */
async function orphans(database: Database): Promise<number[]> {
  const ofDeliveries = `SELECT FROM notify.delivery d WHERE NOT EXISTS (
    SELECT FROM notify.notification n WHERE n.bucket = d.bucket AND n.id = overlay(d.id::text PLACING '0' FROM 32)::uuid)`
  const ofEntries = `SELECT FROM notify.timeline_entry t WHERE NOT EXISTS (
    SELECT FROM notify.notification n WHERE n.bucket = t.bucket AND n.id = t.notification_id)`
  return [(await database.query(ofDeliveries)).rowCount, (await database.query(ofEntries)).rowCount]
}

test('a purge that has more to remove than a batch removes no notification before its rows', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 1 })
  await fill(database, 2_000)
  const { privacy } = postgresNotifyStore(database, { buckets: 1 })
  const now = Date.now()
  for (let passes = 1; (await privacy.purge(0, retention, now)) > 0; passes++) {
    assert.deepEqual(await orphans(database), [0, 0], `after pass ${passes}`)
    assert.ok(passes < 20, 'it ends')
  }
  for (const table of ['notification', 'delivery', 'timeline_entry'])
    assert.equal(await countOf(database, table), 0, table)
})

test('a purge of which a statement failed removes no notification before its rows, then all', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 1 })
  const now = Date.now()
  for (let place = 0, hasFailed = true; hasFailed; place++) {
    await fill(database, 10)
    await database.query('INSERT INTO notify.cap (bucket, user_id) VALUES (0, $1)', [user])
    hasFailed = false
    let left: number | undefined = place
    const pass = async () => {
      hasFailed ||= left === 0
      if (left !== undefined && left-- === 0) throw new Error('the statement timed out')
    }
    const { privacy } = postgresNotifyStore(withBarrier({ pass }, database), { buckets: 1 })
    await privacy.purge(0, retention, now).catch(() => {})
    left = undefined
    do assert.deepEqual(await orphans(database), [0, 0], `after the failure of statement ${place}`)
    while ((await privacy.purge(0, retention, now)) > 0)
    for (const table of ['notification', 'cap'])
      assert.equal(await countOf(database, table), 0, `${table} after the failure of statement ${place}`)
  }
})

test('an erasure during a purge leaves no delivery of the user', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 1 })
  await fill(database, 1_500)
  const { privacy } = postgresNotifyStore(database, { buckets: 1 })
  await privacy.purge(0, retention, Date.now())
  assert.ok(Number(await countOf(database, 'delivery')) > 0, 'the purge has not ended')
  await privacy.eraseUser(user)
  for (const table of ['notification', 'delivery', 'timeline_entry'])
    assert.equal(await countOf(database, table), 0, table)
})

test('a delivery made during a purge keeps its notification, wherever the purge stood', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 1 })
  const id = newIdOfUser(user)
  const [now, email] = [
    Date.now() + (retention.notificationDays + 1) * dayMs,
    deliveryIdOf(id, 'email' satisfies Channel),
  ]
  for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
    await database.query(
      `INSERT INTO notify.notification (bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at)
       VALUES (0, $1, $2, 'e', 'normal', false, '{}', '[]', now())`,
      [id, user],
    )
    await database.query(
      `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at)
       VALUES (0, $1, $1, $2, '{email}', 'quiet_hours', now())`,
      [id, user],
    )
    const barrier = createBarrier(place)
    const purged = postgresNotifyStore(withBarrier(barrier, database), { buckets: 1 }).privacy.purge(0, retention, now)
    await Promise.race([barrier.reached, purged])
    const made = database.transaction(async (tx) => {
      await tx.query('DELETE FROM notify.deferred WHERE bucket = 0')
      await tx.query(
        "INSERT INTO notify.delivery (bucket, id, user_id, channel, state) VALUES (0, $1, $2, 'email', 'queued')",
        [email, user],
      )
    })
    barrier.lift()
    await Promise.all([purged, made])
    last = barrier.passes
    assert.deepEqual(await orphans(database), [0, 0], `the purge was stopped before statement ${place}`)
    await database.query('DELETE FROM notify.delivery')
    await database.query('DELETE FROM notify.notification')
  }
})

/** What is still to be sent of an old notification, or may be. */
const awaiting: Readonly<Record<string, readonly string[]>> = {
  'a delivery of it is queued': [
    `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message)
     VALUES (0, $2, $3, 'email', 'e', 1, now(), false, jsonb_build_object('of', $1::uuid))`,
  ],
  'it is gathered in a window': [
    `INSERT INTO notify.pending_window (bucket, id, user_id, event, state, flush_at)
     VALUES (0, $2, $3, $1::uuid::text, 'closed', now())`,
    `INSERT INTO notify.pending_item (bucket, window_id, notification_id, actor, at, data, channels, by_request)
     VALUES (0, $2, $1, $3, now(), '{}', '{email}', false)`,
  ],
}

for (const [what, inserts] of Object.entries(awaiting))
  test(`a purge removes no notification as long as ${what}, then it does`, async (t) => {
    const database = await notifyDatabase()
    t.after(() => database.close())
    await migrateNotify(database, { buckets: 1 })
    const id = newIdOfUser(user)
    await database.query(
      `INSERT INTO notify.notification (bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at)
       VALUES (0, $1, $2, 'e', 'normal', false, '{}', '[]', now())`,
      [id, user],
    )
    for (const insert of inserts) await database.query(insert, [id, deliveryIdOf(id, 'email'), user])
    const { privacy } = postgresNotifyStore(database, { buckets: 1 })
    const old = Date.now() + (retention.notificationDays + 1) * dayMs
    await privacy.purge(0, retention, old)
    assert.equal(await countOf(database, 'notification'), 1)
    const tables = ['delivery_queue', 'pending_window', 'pending_item', 'notification']
    const exported = await privacy.exportUser(user)
    assert.equal(Object.keys(exported).length, inserts.length + 1, 'it is exported')
    for (const table of tables.slice(0, -1)) await database.query(`DELETE FROM notify.${table}`)
    await privacy.purge(0, retention, old)
    assert.equal(await countOf(database, 'notification'), 0)
  })
