import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { createAdmission } from '../../../src/admission/admission.ts'
import { newId } from '../../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { AttemptRecord, ClaimedDelivery } from '../../../src/store/store.ts'
import { embeddedDatabase } from '../../support/engine/embedded.ts'

const now = Date.UTC(2026, 0, 5)
const rules = { caps: { total: 100, channels: {}, priorities: {} }, windowMs: 86_400_000 }
const users = ['ann', 'ben', 'cat']

/** The store of a database with three claimed deliveries, and how many transactions it began that wait for its client. */
async function claimedDeliveries(database: Database) {
  await migrateNotify(database)
  let opened = 0
  const transaction: Database['transaction'] = (work) => {
    opened++
    return database.transaction(work)
  }
  const store = postgresNotifyStore({ ...database, transaction })
  const message = { body: 'b', locale: 'en', targets: [{ id: 'inbox', address: 'inbox' }] }
  const units = users.map((userId) => ({
    notifications: [
      {
        ...{
          id: newId(0),
          userId,
          event: 'e',
          data: {},
          priority: 'normal' as const,
          acceptedAt: now,
          sensitive: false,
        },
        ...{ decisions: [], stored: 'no' as const },
        deliveries: [{ channel: 'in-app' as const, plan: { kind: 'send' as const, message } }],
      },
    ],
  }))
  await store.intake.admit(units, createAdmission(rules, now))
  const request = { buckets: [0], channel: 'in-app' as const, limit: 10, leaseMs: 60_000, now: now + 1 }
  const { deliveries } = await store.deliveries.claim(request)
  assert.equal(deliveries.length, users.length)
  opened = 0
  return { store, claimed: deliveries, countOpened: () => opened }
}

const sent = (claimed: ClaimedDelivery): AttemptRecord => ({
  ...{ claimed, at: now, detail: {}, deadTokens: [], what: 'sent', next: { kind: 'done' } },
  acknowledged: { provider: 'inbox', inInbox: true },
})

const again = (claimed: ClaimedDelivery): AttemptRecord => ({
  ...{ claimed, at: now, detail: {}, deadTokens: [], what: 'failed' },
  next: {
    kind: 'again',
    dueAt: now + 5_000,
    failures: 1,
    left: { targets: claimed.message.targets, partlyAccepted: false },
  },
})

async function readState(database: Database) {
  const one = async (sql: string) =>
    (await database.query<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`)).rows[0]?.n
  return {
    waiting: await one('notify.delivery_queue WHERE lease_until IS NULL'),
    claimed: await one('notify.delivery_queue WHERE lease_until IS NOT NULL'),
    sent: await one("notify.delivery WHERE state = 'sent'"),
    changes: await one('notify.outbox, unnest(changes)'),
    entries: await one('notify.timeline_entry'),
    items: await one('notify.inbox'),
    unread: await one('notify.inbox_count WHERE unread = 1'),
  }
}

test('what goes as usual is recorded without waiting for the client in between', async (t) => {
  const database = await embeddedDatabase()
  t.after(() => database.close())
  const { store, claimed, countOpened } = await claimedDeliveries(database)
  const [last, ...others] = claimed
  const { late } = await store.deliveries.record([...others.map(sent), ...(last ? [again(last)] : [])])
  assert.deepEqual([late, countOpened()], [0, 0])
  assert.deepEqual(await readState(database), {
    ...{ waiting: 1, claimed: 0, sent: 2, changes: 2, entries: 1, items: 2, unread: 2 },
  })
})

test('where one of a batch was claimed again, the others are recorded once and it is left out', async (t) => {
  const database = await embeddedDatabase()
  t.after(() => database.close())
  const { store, claimed, countOpened } = await claimedDeliveries(database)
  await database.query('UPDATE notify.delivery_queue SET attempt = attempt + 1 WHERE user_id = $1', [users[0]])
  const { late } = await store.deliveries.record(claimed.map(sent))
  assert.deepEqual([late, countOpened()], [1, 1])
  assert.deepEqual(await readState(database), {
    ...{ waiting: 0, claimed: 1, sent: 2, changes: 2, entries: 0, items: 2, unread: 2 },
  })
})

test('a state that was raised before its sending was recorded stays, the others are recorded', async (t) => {
  const database = await embeddedDatabase()
  t.after(() => database.close())
  const { store, claimed } = await claimedDeliveries(database)
  await database.query("UPDATE notify.delivery SET state = 'delivered' WHERE user_id = $1", [users[0]])
  const { late } = await store.deliveries.record(claimed.map(sent))
  assert.equal(late, 0)
  const { rows } = await database.query<{ state: string; provider: string }>(
    'SELECT state, provider FROM notify.delivery ORDER BY user_id',
  )
  assert.deepEqual(
    rows.map(({ state, provider }) => [state, provider]),
    [
      ['delivered', 'inbox'],
      ['sent', 'inbox'],
      ['sent', 'inbox'],
    ],
  )
})
