import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, seedEventType, setup } from '../support/setup.ts'

test('a feed is read, filtered, archived and paged by its user, with counts', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s)
  const own = 'user:alice read:notifications write:preferences'
  const feed = async (query: string = '') => (await s.call('GET', `/v1/users/alice/inbox${query}`, undefined, own)).body
  for (const order_id of ['1', '2', '3'])
    await s.call('POST', '/v1/notify', {
      event: 'order.shipped',
      user_id: 'alice',
      data: { order_id },
      channels: ['in-app'],
    })
  await eventually(feed, ({ items }) => items.length === 3)
  const bodies = async (query?: string) => (await feed(query)).items.map(({ body }: { body: string }) => body)
  const newestFirst = await bodies()
  const { items, next, counts } = await feed('?limit=2')
  assert.deepEqual(counts, { sequence: 3, total: 3, unseen: 3, unread: 3 })
  assert.deepEqual(await bodies(`?limit=2&cursor=${next}`), newestFirst.slice(2))
  assert.equal((await feed('?limit=3')).next, undefined, 'the last page names no next one, full or not')
  const [first, second] = items.map(({ id }: { id: string }) => id)
  const change = (what: string, body: object) => s.call('POST', `/v1/users/alice/inbox/${what}`, body, own)
  assert.equal((await change('read', { ids: [first] })).body.counts.unread, 2)
  assert.equal((await change('read', { ids: [first] })).body.changed, 0)
  assert.deepEqual(await bodies('?unread=true'), newestFirst.slice(1))
  await change('archived', { ids: [second] })
  assert.deepEqual(await bodies(), [newestFirst[0], newestFirst[2]])
  assert.deepEqual(await bodies('?archived=only'), [newestFirst[1]])
  assert.deepEqual(await bodies('?archived=include'), newestFirst)
  assert.deepEqual((await change('seen', { all: true })).body.counts, { sequence: 6, total: 2, unseen: 0, unread: 1 })
  assert.deepEqual((await change('unarchived', { all: true })).body.counts.total, 3)
  const read = await s.call('GET', '/v1/users/alice/inbox/counts', undefined, own)
  assert.deepEqual(read.body, { sequence: 7, total: 3, unseen: 0, unread: 2 })
})

test('an inbox is changed by its own user or the management only, by ids or as a whole', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  const status = async (body: object, scopes: string) =>
    (await s.call('POST', '/v1/users/alice/inbox/read', body, scopes)).status
  assert.equal(await status({ all: true }, 'user:alice write:preferences'), 200)
  assert.equal(await status({ all: true }, 'admin:notifications'), 200)
  assert.equal(await status({ all: true }, 'user:mallory write:preferences'), 403)
  assert.equal(await status({ all: true }, 'user:alice read:notifications'), 403)
  for (const body of [
    {},
    { all: false },
    { ids: [] },
    { ids: ['x'] },
    { all: true, ids: [] },
    { all: true, up_to: -1 },
  ])
    assert.equal(await status(body, 'user:alice write:preferences'), 400)
})

test('items seen and read in the feed change the states of their notifications', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s)
  const event = { event: 'order.shipped', user_id: 'alice', channels: ['in-app'], data: {} }
  const sent = await Promise.all([1, 2, 3].map(() => s.call('POST', '/v1/notify', event)))
  const items = async () => (await s.call('GET', '/v1/users/alice/inbox')).body.items
  await eventually(items, (list) => list.length === 3)
  const [seen, read, archived] = sent.map(({ body }) => body)
  const change = (what: string, { deliveries }: { deliveries: ReadonlyArray<{ id: string }> }) =>
    s.call('POST', `/v1/users/alice/inbox/${what}`, { ids: [deliveries[0]?.id] }, 'user:alice write:preferences')
  await change('seen', seen)
  await change('read', read)
  await change('archived', archived)
  for (const [{ id }, expected] of [
    [seen, 'delivered'],
    [read, 'opened'],
    [archived, 'delivered'],
  ] as const)
    await eventually(
      async () => (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries[0].state,
      (state) => state === expected,
    )
})
