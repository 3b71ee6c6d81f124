import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { bucketOfUser, deliveryIdOf, newId } from '../../../src/model/id.ts'
import { inboxChanges } from '../../../src/model/notification/inbox-change.ts'
import { postgresInbox } from '../../../src/postgres/inbox/inbox.ts'
import type { Inbox, InboxCounts, NotifyStore } from '../../../src/store/store.ts'
import { notifyDatabase } from '../../support/engine/database.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../../support/engine/engine.ts'
import { purgeBuckets } from '../../support/purge.ts'

const at = Date.UTC(2026, 5, 1)
const newItemId = () => deliveryIdOf(newId(0), 'in-app')
const item = (id: string, userId: string = 'alice', createdAt: number = at) => ({
  id,
  userId,
  event: 'e',
  body: 'b',
  createdAt,
})
const ids = (n: number) => Array.from({ length: n }, newItemId)

async function countsOf(inbox: Inbox, userId: string = 'alice'): Promise<InboxCounts> {
  return (await inbox.page(userId, { limit: 1 })).counts
}

/** The counts as they would come out of counting every item. */
async function recounted(database: Database, userId: string = 'alice') {
  const { rows } = await database.query(
    `SELECT count(*) AS total, count(*) FILTER (WHERE seen_at IS NULL) AS unseen, count(*) FILTER (WHERE read_at IS NULL) AS unread
       FROM notify.inbox WHERE user_id = $1 AND archived_at IS NULL`,
    [userId],
  )
  return rows[0]
}

async function agrees(database: Database, inbox: Inbox, userId: string = 'alice'): Promise<void> {
  const { sequence, ...kept } = await countsOf(inbox, userId)
  assert.deepEqual(kept, await recounted(database, userId))
  const { rows } = await database.query<{ changed: number }>('SELECT changed FROM notify.inbox WHERE user_id = $1', [
    userId,
  ])
  assert.equal(new Set(rows.map(({ changed }) => changed)).size, rows.length, 'every change has a number of its own')
  assert.ok(rows.every(({ changed }) => changed <= sequence))
}

async function fresh(open: () => Promise<Database>): Promise<{ database: Database; store: NotifyStore; inbox: Inbox }> {
  const database = await open()
  await migrateNotify(database)
  const store = postgresNotifyStore(database)
  return { database, store, inbox: store.inbox }
}

test('the counts of an inbox equal its items after any sequence of changes', async () => {
  const { database, inbox, store } = await fresh(notifyDatabase)
  const known = ids(8)
  const some = fc.subarray(known, { minLength: 1 })
  const step = fc.oneof(
    fc.record({ put: some }),
    fc.record({ change: fc.constantFrom(...inboxChanges), ids: some }),
    fc.record({ change: fc.constantFrom(...inboxChanges), upTo: fc.option(fc.nat(40), { nil: undefined }) }),
    fc.record({ purge: fc.nat(3) }),
  )
  const retention = {
    notificationDays: 1,
    logDays: 1,
    deadLetterDays: 1,
    inboxDays: 1,
    deadDeviceDays: 1,
    linkDays: 365,
    stateChangeDays: 1,
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await store.privacy.eraseUser('alice')
      for (const each of steps) {
        if ('put' in each) await inbox.put(each.put.map((id) => item(id, 'alice', at + known.indexOf(id) * 1_000)))
        else if ('purge' in each) await purgeBuckets(store, retention, at + 86_400_000 + each.purge * 1_000)
        else if ('ids' in each) await inbox.change('alice', each.change, each, at)
        else await inbox.change('alice', each.change, each.upTo === undefined ? {} : { upTo: each.upTo }, at)
        await agrees(database, inbox)
      }
    }),
    { numRuns: 40 },
  )
  await database.close()
})

test('an item that is put again stays as it is and is counted once', async () => {
  const { database, inbox } = await fresh(notifyDatabase)
  const [one = ''] = ids(1)
  await inbox.put([item(one), item(one)])
  await inbox.change('alice', 'read', { ids: [one] }, at)
  await inbox.put([{ ...item(one), body: 'changed' }])
  const { items, counts } = await inbox.page('alice', { limit: 10 })
  assert.deepEqual(
    items.map(({ body, readAt }) => ({ body, readAt })),
    [{ body: 'b', readAt: at }],
  )
  assert.deepEqual(counts, { sequence: 2, total: 1, unseen: 0, unread: 0 })
  await database.close()
})

test('an item that was deferred stands in the feed where it arrived, not where it was accepted', async () => {
  const { database, inbox } = await fresh(notifyDatabase)
  const [early = '', late = ''] = ids(2)
  await inbox.put([item(late)])
  await inbox.put([item(early)])
  const first = await inbox.page('alice', { limit: 1 })
  const second = await inbox.page('alice', { limit: 1, before: first.items[0]?.id ?? '' })
  assert.deepEqual([first.items[0]?.id, second.items[0]?.id], [early, late])
  await database.close()
})

test('marking all as read leaves what arrived after the number it names', async () => {
  const { database, inbox } = await fresh(notifyDatabase)
  await inbox.put(ids(3).map((id) => item(id)))
  const { sequence } = await countsOf(inbox)
  await inbox.put(ids(1).map((id) => item(id)))
  const { changed, counts } = await inbox.change('alice', 'read', { upTo: sequence }, at)
  assert.equal(changed.length, 3)
  assert.equal(counts.unread, 1)
  await database.close()
})

test('what a user has changed is read from any number on, each item once and as it is now', async () => {
  const { database, inbox } = await fresh(notifyDatabase)
  const three = ids(3)
  await inbox.put(three.map((id) => item(id)))
  await inbox.put([item(newItemId(), 'bob')])
  await inbox.change('alice', 'read', { ids: three.slice(0, 1) }, at)
  await inbox.change('alice', 'archived', { ids: three.slice(0, 1) }, at)
  const requests = [{ userId: 'alice', after: 2 }, { userId: 'bob' }, { userId: 'nobody', after: 0 }]
  const news = await inbox.news(requests, 10)
  assert.deepEqual(
    news.get('alice')?.items.map(({ id, changed, archivedAt }) => [id, changed, archivedAt]),
    [
      [three[2], 3, undefined],
      [three[0], 5, at],
    ],
  )
  assert.deepEqual(news.get('bob'), { items: [], counts: { sequence: 1, total: 1, unseen: 1, unread: 1 } })
  assert.deepEqual(news.get('nobody'), { items: [], counts: { sequence: 0, total: 0, unseen: 0, unread: 0 } })
  await database.close()
})

describe('inboxes on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())
  const open = () => fresh(() => postgresDatabase(server ?? assert.fail('PostgreSQL did not start')))

  testWith('postgresql', 'of ten that mark one item as read at once, one does', async () => {
    const { database, inbox } = await open()
    const [one = ''] = ids(1)
    await inbox.put([item(one)])
    const done = await Promise.all(Array.from({ length: 10 }, () => inbox.change('alice', 'read', { ids: [one] }, at)))
    assert.equal(done.filter(({ changed }) => changed.length > 0).length, 1)
    assert.deepEqual(await countsOf(inbox), { sequence: 2, total: 1, unseen: 0, unread: 0 })
    await database.close()
  })

  testWith('postgresql', 'counts hold while two processes put, read and archive at once', async () => {
    const { database, inbox } = await open()
    const other = postgresNotifyStore(database).inbox
    const many = ids(120)
    const users = ['alice', 'bob', 'carol']
    const putting = async (into: Inbox, mine: readonly string[]) => {
      for (let n = 0; n < mine.length; n += 5)
        await into.put(mine.slice(n, n + 5).map((id) => item(id, users[many.indexOf(id) % 3])))
    }
    const changing = async (into: Inbox, change: (typeof inboxChanges)[number]) => {
      for (let n = 0; n < 15; n++)
        for (const user of users) await into.change(user, change, n % 2 === 0 ? {} : { ids: many.slice(n, n + 40) }, at)
    }
    await Promise.all([
      putting(inbox, many),
      putting(other, [...many].reverse()),
      changing(inbox, 'read'),
      changing(other, 'archived'),
      changing(other, 'unread'),
      changing(inbox, 'unarchived'),
    ])
    for (const user of users) await agrees(database, inbox, user)
    const { rows } = await database.query('SELECT 1 FROM notify.inbox')
    assert.equal(rows.length, 120)
    await database.close()
  })

  testWith('postgresql', 'counts hold when the first items come while they are read and archived', async () => {
    const { database, inbox } = await open()
    const other = postgresNotifyStore(database).inbox
    const users = Array.from({ length: 60 }, (_, n) => `newcomer-${n}`)
    await Promise.all(
      users.flatMap((user) => [
        inbox.change(user, 'read', {}, at),
        inbox.put(ids(3).map((id) => item(id, user))),
        other.change(user, 'archived', {}, at),
        inbox.change(user, 'read', {}, at),
        other.change(user, 'archived', {}, at),
      ]),
    )
    for (const user of users) await agrees(database, inbox, user)
    await database.close()
  })

  testWith('postgresql', 'whoever reads on by number misses no change, however many write at once', async () => {
    const { database, inbox } = await open()
    const seen: string[] = []
    let cursor = 0
    const follow = async (until: () => boolean) => {
      for (;;) {
        const last = until()
        const { items = [] } = (await inbox.news([{ userId: 'alice', after: cursor }], 7)).get('alice') ?? {}
        seen.push(...items.map(({ id }) => id))
        cursor = items.at(-1)?.changed ?? cursor
        if (last && items.length === 0) return
      }
    }
    let writing = true
    const writers = Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let n = 0; n < 20; n++) await inbox.put([item(newItemId()), item(newItemId())])
      }),
    ).then(() => {
      writing = false
    })
    await Promise.all([writers, follow(() => !writing)])
    assert.equal(seen.length, 240)
    assert.equal(new Set(seen).size, 240)
    await database.close()
  })

  testWith('postgresql', 'erasing a user while items arrive leaves items and counts that agree', async () => {
    const { database, store, inbox } = await open()
    const putting = async () => {
      for (let n = 0; n < 60; n++) await inbox.put([item(newItemId())])
    }
    const erasing = async () => {
      for (let n = 0; n < 30; n++) await store.privacy.eraseUser('alice')
    }
    await Promise.all([putting(), putting(), erasing()])
    await agrees(database, inbox)
    await database.close()
  })
})

test('news of users whose bucket cannot be read are missing, those of all others are there', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 8 })
  const users = Array.from({ length: 6 }, (_, n) => `user-${n}`)
  const failing = bucketOfUser('user-0', 8)
  const readable = users.filter((user) => bucketOfUser(user, 8) !== failing)
  const failingStatements = { query: () => Promise.reject(new Error('the node is away')) }
  const ofBuckets = ([bucket]: readonly number[]) => (bucket === failing ? failingStatements : database)
  const spread: Database = Object.assign(Object.create(database), { ofBuckets })
  const inbox = postgresInbox(spread, { count: 8, distributed: true }, { publish: () => {} })
  const news = await inbox.news(
    users.map((userId) => ({ userId, after: 0 })),
    10,
  )
  assert.deepEqual([...news.keys()].sort(), readable)
})
