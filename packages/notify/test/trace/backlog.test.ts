import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManagementChange, manualClock } from '@gatehouse/kit'
import { bucketOfUser } from '../../src/model/id.ts'
import { claimDue } from '../support/processes/claims.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const night = Date.parse('2026-06-01T23:00:00Z')
const users = ['user-0', 'user-1', 'user-2', 'user-3', 'user-4']

async function started(options: SetupOptions = {}): Promise<Setup> {
  const s = await setup({ tables: { buckets: 4 }, clock: manualClock(night), ...options })
  await seedEventType(s)
  await seedEventType(s, 'photo.liked', { channels: ['in-app'], aggregation: { threshold: 9, actor: 'actor' } })
  return s
}

test('what waits is listed by its time, and a window is flushed on request', async (t) => {
  const changes: ManagementChange[] = []
  const recordChange = async (change: ManagementChange) => {
    changes.push(change)
  }
  const s = await started({ recordChange })
  t.after(s.close)
  for (const [n, user_id] of users.entries()) {
    const quiet = { quiet_hours: { start: '22:00', end: `0${5 + n}:00` } }
    await s.call('PUT', `/v1/users/${user_id}/preferences/order.shipped`, quiet)
    await s.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
    await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id, data: {}, channels: ['email'] })
    await s.call('POST', '/v1/notify', { event: 'photo.liked', user_id, data: { order_id: n, actor: 'ann' } })
    s.clock.advance(1_000)
  }
  const list = async (query: string, scopes?: string) => s.call('GET', `/v1/pending?${query}`, undefined, scopes)
  const deferred = (await list('kind=deferred')).body.items
  assert.deepEqual(
    deferred.map((each: { user_id: string; reason_code: string }) => [each.user_id, each.reason_code]),
    users.map((user) => [user, 'quiet_hours']),
  )
  assert.equal(deferred[0].due_at, '2026-06-02T05:00:00.000Z')
  const first = (await list('kind=aggregating&limit=3')).body
  const rest = (await list(`kind=aggregating&limit=3&cursor=${first.next}`)).body
  const windows = [...first.items, ...rest.items]
  assert.deepEqual(
    windows.map((each: { user_id: string; items: number; event: string }) => [each.user_id, each.items, each.event]),
    users.map((user) => [user, 1, 'photo.liked']),
  )
  assert.equal((await list('kind=parked', 'read:settings')).status, 403)
  await s.database.query(
    `INSERT INTO notify.parked (bucket, key, id, user_id, event, place, payload)
     VALUES ($1, 'a', gen_random_uuid(), 'user-0', 'order.shipped', 1, '{}')`,
    [bucketOfUser('user-0', 4)],
  )
  const parked = (await list('kind=parked')).body.items
  assert.deepEqual(parked, [{ kind: 'parked', event: 'order.shipped', items: 1, reason_code: 'event_rate' }])
  assert.equal((await list('kind=deferred&event=photo.liked')).body.items.length, 0)
  assert.equal((await list('kind=aggregating&event=photo.liked')).body.items.length, 5)
  assert.equal((await list('kind=parked&event=photo.liked')).body.items.length, 0)

  changes.length = 0
  const release = (id: string, scopes?: string) => s.call('POST', `/v1/pending/${id}/release`, undefined, scopes)
  assert.equal((await release(windows[0].id, 'read:delivery')).status, 403)
  assert.deepEqual((await release(windows[0].id)).body, { released: true })
  const inbox = () => s.call('GET', '/v1/users/user-0/inbox')
  await eventually(inbox, ({ body }) => body.items.length === 1)
  assert.equal((await list('kind=aggregating')).body.items.length, 4)
  assert.equal((await release(windows[0].id)).status, 404, 'it is flushed')
  assert.equal((await release(deferred[0].id)).status, 409, 'quiet hours are the user’s')
  assert.deepEqual(
    changes.map(({ action, target }) => [action, target.id]),
    [
      ['pending.release', windows[0].id],
      ['pending.release', deferred[0].id],
    ],
  )
})

test('the depth of the queue counts what is due, leased and tried again by channel and priority', async (t) => {
  const s = await started({ work: false, options: { caps: { total: 100, channels: {}, priorities: {} } } })
  t.after(s.close)
  await seedEventType(s, 'alert', { priority: 'critical' })
  const send = (event: string, user_id: string) =>
    s.call('POST', '/v1/notify', { event, user_id, data: { order_id: 1 }, channels: ['in-app'] })
  for (const user of users) await send('order.shipped', user)
  s.clock.advance(1_000)
  await send('alert', 'user-0')
  const buckets = [0, 1, 2, 3]
  const now = s.clock.now()
  const claimed = await claimDue(s.store.deliveries, { channel: 'in-app', now, limit: 3, buckets })
  await s.store.deliveries.release(claimed.slice(0, 1), now + 60_000)
  const { body } = await s.call('GET', '/v1/queue', undefined, 'read:delivery')
  assert.equal(body.complete, true)
  const sum = (name: string) =>
    body.items.reduce((all: number, each: Record<string, number>) => all + (each[name] ?? 0), 0)
  assert.deepEqual([sum('due'), sum('leased'), sum('later')], [3, 2, 1])
  const normal = body.items.find(({ priority }: { priority: string }) => priority === 'normal')
  assert.equal(normal.oldest_due_at, new Date(night).toISOString())
  assert.equal((await s.call('GET', '/v1/queue', undefined, 'write:notifications')).status, 403)
})

test('scheduled notifications are listed for all users and moved until they fire', async (t) => {
  const s = await started({ work: false })
  t.after(s.close)
  const at = (minutes: number) => new Date(night + minutes * 60_000).toISOString()
  const ids: string[] = []
  for (const [n, user_id] of users.entries()) {
    const body = { fire_at: at(n), payload: { event: 'order.shipped', user_id, data: {} } }
    ids.push((await s.call('POST', '/v1/scheduled', body)).body.id)
  }
  const list = async (query: string, scopes?: string) => s.call('GET', `/v1/scheduled?${query}`, undefined, scopes)
  const listed = async (query: string) => (await list(query)).body.items.map(({ id }: { id: string }) => id)
  assert.deepEqual(await listed(''), ids)
  assert.deepEqual(await listed(`from=${at(1)}&to=${at(3)}`), ids.slice(1, 3))
  const { next } = (await list('limit=2')).body
  assert.deepEqual(await listed(`cursor=${next}`), ids.slice(2))
  assert.deepEqual(await listed('user_id=user-3'), ids.slice(3, 4))
  const other = { fire_at: at(2), payload: { event: 'photo.liked', user_id: 'user-9', data: {} } }
  const { id: otherId } = (await s.call('POST', '/v1/scheduled', other)).body
  assert.deepEqual(await listed('event=photo.liked'), [otherId])
  assert.deepEqual(await listed('event=order.shipped'), ids)
  assert.deepEqual(await listed('event=photo.liked&user_id=user-3'), [])
  await s.call('DELETE', `/v1/scheduled/${otherId}`)
  assert.equal((await list('', 'write:notifications')).status, 403)
  assert.equal((await list('', 'read:delivery')).status, 200)
  const move = (id: string | undefined, minutes: number, scopes?: string) =>
    s.call('PATCH', `/v1/scheduled/${id}`, { fire_at: at(minutes) }, scopes)
  assert.equal((await move(ids[0], 9)).body.fire_at, at(9))
  assert.deepEqual(await listed(''), [...ids.slice(1), ids[0]])
  assert.equal((await move(ids[1], 9, 'user:bob write:notifications')).status, 404)
  assert.equal((await move(ids[1], 9, 'read:delivery')).status, 403)
  const claimed = await s.store.waiting.claimScheduled([0, 1, 2, 3], 1, 60_000, night + 60_000)
  assert.equal(claimed[0]?.id, ids[1])
  assert.equal((await move(ids[1], 9)).status, 409, 'it is being sent')
  const late = (await list(`to=${at(2)}`)).body.items
  assert.deepEqual(
    late.map(({ under_way, failures }: { under_way: boolean; failures: number }) => [under_way, failures]),
    [[true, 0]],
  )
  await s.store.schedule.cancel(ids[1] ?? '')
  assert.equal((await move(ids[1], 9)).status, 404)
})

test('parked events of a type are released past its rate, each once, and the others stay', async (t) => {
  const changes: ManagementChange[] = []
  const { topic, deliver } = createManualTopic()
  const s = await started({
    topic,
    options: { caps: { total: 100, channels: {}, priorities: {} } },
    recordChange: async (change) => {
      changes.push(change)
    },
  })
  t.after(s.close)
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: 1, per_seconds: 86_400 } })
  await seedEventType(s, 'photo.shared', { rate_limit: { limit: 1, per_seconds: 86_400 } })
  for (const [n, user_id] of users.entries())
    for (const [m, event] of ['photo.viewed', 'photo.shared'].entries())
      await deliver(2 * n + m + 1, JSON.stringify({ event, user_id, data: { order_id: n }, channels: ['in-app'] }))
  const parked = async () => {
    const { items } = (await s.call('GET', '/v1/pending?kind=parked')).body
    return items.map(({ event, items: count }: { event: string; items: number }) => [event, count])
  }
  assert.deepEqual(await parked(), [
    ['photo.shared', 4],
    ['photo.viewed', 4],
  ])
  changes.length = 0
  const release = (event: string, body: object, scopes?: string) =>
    s.call('POST', `/v1/parked/${event}/release`, body, scopes)
  assert.equal((await release('photo.viewed', {}, 'read:delivery')).status, 403)
  assert.equal((await release('order.shipped', {})).status, 404)
  const [one, two] = await Promise.all([release('photo.viewed', { limit: 3 }), release('photo.viewed', { limit: 3 })])
  assert.equal(one.body.released + two.body.released, 4, 'two who release at once get each event once')
  assert.deepEqual(await parked(), [['photo.shared', 4]])
  const received = async () => {
    const feeds = await Promise.all(users.map((user) => s.call('GET', `/v1/users/${user}/inbox`)))
    return feeds.map(({ body }) => body.items.filter(({ event }: { event: string }) => event === 'photo.viewed').length)
  }
  const counts = await eventually(received, (all) => all.every((count) => count > 0))
  assert.deepEqual(counts, [1, 1, 1, 1, 1])
  assert.ok(changes.every(({ action, target }) => action === 'parked.release' && target.id === 'photo.viewed'))
})
