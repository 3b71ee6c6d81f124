import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, Query } from '@gatehouse/kit'
import fc from 'fast-check'
import { createAdmission } from '../../../src/admission/admission.ts'
import type { PlannedNotification } from '../../../src/admission/planned.ts'
import { all as everything, type SuppressionReason } from '../../../src/model/delivery/suppression.ts'
import { bucketOfUser, deliveryIdOf, newIdOfUser } from '../../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { NewSuppression, NotifyStore, ProviderReport } from '../../../src/store/store.ts'
import { embeddedDatabase } from '../../support/engine/embedded.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const users = Array.from({ length: 12 }, (_, n) => `user-${n}`)
const divisions = [
  { buckets: 1, distributed: false },
  { buckets: 16, distributed: false },
  { buckets: 256, distributed: false },
  { buckets: 256, distributed: true },
]

interface Division {
  readonly buckets: number
  readonly database: Database
  readonly store: NotifyStore
  /** How many statements its transactions had since the last time. */
  readonly statements: () => number
}

/** The same database, and how many statements were sent to it. */
function counting(database: Database): { readonly counted: Database; readonly statements: () => number } {
  let sent = 0
  const count = <Result>(result: Result, statements = 1): Result => {
    sent += statements
    return result
  }
  const counted: Database = {
    ...database,
    query: (query: string | Query, values?: readonly unknown[]) => count(database.query(query as string, values)),
    pipeline: (queries) => count(database.pipeline(queries), queries.length),
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          ...tx,
          query: (query: string | Query, values?: readonly unknown[]) => count(tx.query(query as string, values)),
        }),
      ),
  }
  const statements = () => {
    const before = sent
    sent = 0
    return before
  }
  return { counted, statements }
}

async function createDivision(buckets: number, distributed: boolean): Promise<Division> {
  const database = await embeddedDatabase()
  const { counted, statements } = counting(database)
  await migrateNotify(database, { buckets })
  return { buckets, database, statements, store: postgresNotifyStore(counted, { buckets, distributed }) }
}

function planned(userId: string, sensitive: boolean): PlannedNotification {
  const address = `${userId}@example.com`
  return {
    id: newIdOfUser(userId),
    userId,
    event: 'order.shipped',
    data: { order_id: 'A-1' },
    priority: 'critical',
    acceptedAt: now,
    sensitive,
    decisions: [
      { what: 'accepted', at: now, detail: { source: 'http', event: 'order.shipped', priority: 'critical' } },
    ],
    stored: 'no',
    deliveries: [
      {
        channel: 'email',
        plan: { kind: 'send', message: { body: 'Order', locale: 'en', targets: [{ id: 'email', address }] } },
      },
    ],
  }
}

/** What is stored, without the ids that each database makes by itself. */
const contents = {
  notification: 'id, data::text',
  delivery: 'id, state, provider, ended',
  delivery_queue: 'delivery_id',
  suppression: 'user_id, channel, address, scope, reason, since, expires_at, detail',
  timeline_entry: 'notification_id, delivery_id, entry_type, state, report_key, detail::text',
  inbox: 'user_id, id, event, subject, body, created_at, position, changed',
  inbox_count: 'user_id, sequence, total, unseen, unread',
} as const

async function storedBy({ database }: Division): Promise<unknown[]> {
  const { rows: changes } = await database.query(
    `SELECT e.user_id, e.state, e.event, e.ended FROM notify.outbox CROSS JOIN LATERAL unnest(changes) AS e
      ORDER BY e.user_id, e.state, e.event, e.ended`,
  )
  const tables = Object.entries(contents).map(async ([table, columns]) => {
    const { rows } = await database.query(`SELECT ${columns} FROM notify.${table} ORDER BY ${columns}`)
    return [table, rows]
  })
  return [...(await Promise.all(tables)), ['outbox', changes]]
}

async function assertBuckets({ database, buckets }: Division): Promise<void> {
  for (const table of ['suppression', 'inbox', 'inbox_count']) {
    const { rows } = await database.query<{ bucket: number; user_id: string }>(
      `SELECT bucket, user_id FROM notify.${table}`,
    )
    for (const { bucket, user_id } of rows) assert.equal(bucket, bucketOfUser(user_id, buckets), table)
  }
}

async function withDivisions(work: (one: Division, others: readonly Division[]) => Promise<void>): Promise<void> {
  const made = await Promise.all(divisions.map(({ buckets, distributed }) => createDivision(buckets, distributed)))
  const [one, ...others] = made
  try {
    await work(one ?? assert.fail(), others)
    for (const division of made) await assertBuckets(division)
  } finally {
    await Promise.all(made.map(({ database }) => database.close()))
  }
}

const reportOf = (ids: readonly string[]) =>
  fc
    .record({
      id: fc.constantFrom(...ids),
      eventId: fc.constantFrom('a', 'b', 'c'),
      provider: fc.constantFrom('ses', 'receipts'),
      report: fc.constantFrom('delivered', 'opened', 'clicked', 'bounced', 'complained'),
      link: fc.option(fc.constant('https://shop.example'), { nil: undefined }),
      reason: fc.option(fc.constant('550 5.1.1 unknown'), { nil: undefined }),
    })
    .map(({ id, eventId, provider, report, link, reason }): ProviderReport => {
      const byRecipient = provider === 'receipts'
      const ends = report === 'bounced' || report === 'complained'
      return {
        provider,
        eventId: `${eventId} ${id}`,
        deliveryId: id,
        report,
        at: now,
        ...(byRecipient ? { byRecipient } : {}),
        ...(link && report === 'clicked' ? { link } : {}),
        ...(reason ? { reason } : {}),
        ...(ends ? { suppressing: { reason: report as SuppressionReason } } : {}),
      } as ProviderReport
    })

test('reports about users of many buckets change what they do in one bucket', async () => {
  await withDivisions(async (one, others) => {
    const notifications = users.map((userId, n) => planned(userId, n % 3 === 0))
    for (const { store, buckets } of [one, ...others])
      for (const own of Map.groupBy(notifications, ({ userId }) => bucketOfUser(userId, buckets)).values())
        await store.intake.admit(
          own.map((each) => ({ notifications: [each] })),
          createAdmission({ caps: { total: 9, channels: {}, priorities: {} }, windowMs: 1 }, now),
        )
    const ids = [...notifications.map(({ id }) => deliveryIdOf(id, 'email')), deliveryIdOf(newIdOfUser('x'), 'email')]
    await fc.assert(
      fc.asyncProperty(fc.array(reportOf(ids), { minLength: 1, maxLength: 12 }), async (batch) => {
        const expected = await one.store.deliveries.report(batch, now)
        for (const each of others) assert.deepEqual(await each.store.deliveries.report(batch, now), expected)
        const stored = await storedBy(one)
        for (const each of others) assert.deepEqual(await storedBy(each), stored)
      }),
      { numRuns: 15 },
    )
  })
})

test('inbox items of users of many buckets are put, counted and read as in one bucket', async () => {
  await withDivisions(async (one, others) => {
    const ids = users.flatMap((userId) => [newIdOfUser(userId), newIdOfUser(userId)].map((id) => ({ id, userId })))
    const item = fc.constantFrom(...ids).map((each) => ({ ...each, event: 'note', body: 'A note.', createdAt: now }))
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 20 }), async (items) => {
        const requests = [...users, 'nobody'].map((userId, n) => ({ userId, ...(n % 2 === 0 ? { after: n } : {}) }))
        await one.store.inbox.put(items)
        const [news, stored] = [await one.store.inbox.news(requests, 5), await storedBy(one)]
        for (const each of others) {
          await each.store.inbox.put(items)
          assert.deepEqual(await each.store.inbox.news(requests, 5), news)
          assert.deepEqual(await storedBy(each), stored)
        }
      }),
      { numRuns: 15 },
    )
  })
})

test('suppressions of users of many buckets are added, listed and lifted as in one bucket', async () => {
  await withDivisions(async (one, others) => {
    const entry = fc.record<NewSuppression>({
      userId: fc.constantFrom(...users),
      channel: fc.constantFrom('email', 'sms'),
      address: fc.constantFrom('a@example.com', 'A@example.com', '+4930'),
      scope: fc.constantFrom(everything, 'order.shipped'),
      reason: fc.constantFrom('bounced', 'complained'),
    })
    const visible = (found: ReadonlyArray<{ readonly id: string }>) => found.map(({ id: _, ...rest }) => rest)
    const sorted = (found: ReadonlyArray<{ readonly id: string }>) =>
      visible(found).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    const filters = [{}, { address: 'a@example.com' }, { userId: 'user-3' }, { reason: 'complained' as const }]
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 20 }), async (entries) => {
        const answer = async ({ store: { suppressions } }: Division) => {
          const added = visible(await suppressions.add(entries, now))
          const lists = []
          for (const filter of filters) lists.push(sorted(await suppressions.list(filter, 1_000, undefined, now)))
          const lifted = await suppressions.lift({ address: 'a@example.com', reason: 'bounced' })
          return [added, lists, lifted]
        }
        const expected = await answer(one)
        for (const each of others) assert.deepEqual(await answer(each), expected)
        const stored = await storedBy(one)
        for (const each of others) assert.deepEqual(await storedBy(each), stored)
      }),
      { numRuns: 15 },
    )
  })
})

test('a batch takes as many statements in many buckets as in one, unless they are distributed', async () => {
  await withDivisions(async (one, others) => {
    const notifications = users.map((userId) => planned(userId, false))
    const batches: Array<(store: NotifyStore) => Promise<unknown>> = [
      ({ deliveries }) =>
        deliveries.report(
          notifications.map(({ id }) => ({
            provider: 'ses',
            eventId: id,
            deliveryId: deliveryIdOf(id, 'email'),
            report: 'bounced' as const,
            at: now,
            suppressing: { reason: 'bounced' as const },
          })),
          now,
        ),
      ({ inbox }) =>
        inbox.put(notifications.map(({ id, userId }) => ({ id, userId, event: 'note', body: '…', createdAt: now }))),
      ({ inbox }) =>
        inbox.news(
          users.map((userId) => ({ userId })),
          5,
        ),
      ({ suppressions }) =>
        suppressions.add(
          users.map((userId) => ({
            userId,
            channel: 'email',
            address: 'a@example.com',
            scope: everything,
            reason: 'bounced',
          })),
          now,
        ),
      ({ suppressions }) => suppressions.list({}, 10, undefined, now),
      ({ suppressions }) => suppressions.lift({ channel: 'email' }),
    ]
    for (const { store, buckets } of [one, ...others])
      for (const own of Map.groupBy(notifications, ({ userId }) => bucketOfUser(userId, buckets)).values())
        await store.intake.admit(
          own.map((each) => ({ notifications: [each] })),
          createAdmission({ caps: { total: 9, channels: {}, priorities: {} }, windowMs: 1 }, now),
        )
    for (const batch of batches) {
      const counts: number[] = []
      for (const { store, statements } of [one, ...others]) {
        statements()
        await batch(store)
        counts.push(statements())
      }
      const [first = 0, sixteen, many, distributed = 0] = counts
      assert.deepEqual([sixteen, many], [first, first])
      assert.ok(distributed > first, 'which shows that statements are counted')
    }
  })
})
