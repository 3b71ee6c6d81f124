import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../src/index.ts'
import { bucketOfUser } from '../../src/model/id.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const buckets = 3
const users = Array.from({ length: 8 }, (_, n) => `user-${n}`)
const minute = 60_000

test('deferred, aggregated and parked events of users in many buckets leave every bucket', async (t) => {
  assert.equal(new Set(users.map((user) => bucketOfUser(user, buckets))).size, buckets, 'every bucket has users')
  const sent: string[] = []
  const carry = (name: string, channel: Provider['channel'], works: boolean): Provider => ({
    name,
    channel,
    timeoutMs: 1_000,
    async send(messages) {
      if (works) sent.push(...messages.map(({ userId, event }) => `${event} ${userId} ${channel}`))
      return messages.map(() => (works ? { kind: 'accepted' } : { kind: 'permanent', code: '400', reason: 'bad' }))
    },
  })
  const { topic, deliver, published } = createManualTopic()
  const providers = { email: [carry('post', 'email', true)], push: [carry('radio', 'push', false)] }
  const s = await setup({ topic, tables: { buckets, streaming: true }, providers })
  t.after(s.close)
  s.clock.set(Date.parse('2026-06-01T12:00:00Z'))
  await seedEventType(s)
  await seedEventType(s, 'photo.liked', { channels: ['email'], aggregation: { actor: 'actor', threshold: 1 } })
  await seedEventType(s, 'photo.viewed', { channels: ['email'], rate_limit: { limit: users.length, per_seconds: 60 } })
  await seedEventType(s, 'news.weekly', { channels: ['email'] })
  for (const user of users) {
    await s.call('PUT', `/v1/recipients/${user}`, { email: `${user}@example.com` })
    await s.call('PUT', `/v1/users/${user}/devices/phone`, { token: `token of ${user}` })
    await s.call('PUT', `/v1/users/${user}/preferences/news.weekly`, { quiet_hours: { start: '11:00', end: '12:10' } })
  }
  const event = (name: string, user_id: string, more: object = {}) => ({ event: name, user_id, data: {}, ...more })
  for (const user of users) {
    await s.call('POST', '/v1/notify', event('order.shipped', user, { channels: ['push'] }))
    await s.call('POST', '/v1/notify', event('news.weekly', user))
    for (const actor of ['Ann', 'Bob'])
      await s.call('POST', '/v1/notify', event('photo.liked', user, { data: { actor } }))
  }
  for (let place = 0; place < 2 * users.length; place++)
    assert.equal(await deliver(place, event('photo.viewed', users[place % users.length] ?? '')), 'ack')
  const times = (name: string, count: number) =>
    users.flatMap((user) => Array.from({ length: count }, () => `${name} ${user} email`))
  const early = [...times('order.shipped', 1), ...times('photo.viewed', 1)].toSorted()
  await eventually(
    async () => sent.length,
    (length) => length >= early.length,
  )
  assert.deepEqual(sent.toSorted(), early)
  for (const minutes of [1, 4, 5]) {
    s.clock.advance(minutes * minute)
    await eventually(
      () => s.database.query('SELECT 1 FROM notify.delivery_queue'),
      ({ rowCount }) => rowCount === 0,
    )
  }
  const all = [...early, ...times('photo.viewed', 1), ...times('photo.liked', 1), ...times('news.weekly', 1)].toSorted()
  await eventually(
    async () => sent.length,
    (length) => length >= all.length,
  )
  assert.deepEqual(sent.toSorted(), all)
  await eventually(
    async () => new Set(published.map(({ payload }) => payload.delivery_id)).size,
    (states) => states === all.length,
  )
  for (const table of ['pending_window', 'pending_item', 'deferred', 'parked', 'scheduled', 'outbox', 'delivery_queue'])
    assert.equal((await s.database.query(`SELECT 1 FROM notify.${table}`)).rowCount, 0, table)
})
