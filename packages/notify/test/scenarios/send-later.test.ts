import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { type Answer, eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }
const minute = 60_000
const outcomesOf = ({ body }: Answer) => body.deliveries.map((d: { outcome: string }) => d.outcome)
const mailCount = async (s: Setup) => (await s.call('GET', '/dev/mailbox')).body.messages.length

test('a notification waits for the end of quiet hours unless it is critical', async (t) => {
  const s = await setup({ clock: manualClock(Date.parse('2026-06-01T21:30:00Z')) })
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'security.alert', { priority: 'critical' })
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'Europe/Berlin' })
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  const answer = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  assert.deepEqual(outcomesOf(answer), ['deferred'])
  const alert = await s.call('POST', '/v1/notify', { ...shipped, event: 'security.alert', channels: ['email'] })
  assert.deepEqual(outcomesOf(alert), ['queued'])
  await eventually(
    () => mailCount(s),
    (count) => count === 1,
  )
  await s.call('PUT', '/v1/templates/order.shipped/email/en', {
    subject: 'New',
    body: 'Order {{ order_id }} has left.',
  })
  s.clock.set(Date.parse('2026-06-02T06:00:00Z'))
  await eventually(
    () => mailCount(s),
    (count) => count === 2,
  )
  const { body } = await s.call('GET', '/dev/mailbox')
  assert.equal(body.messages[0].body, 'Order A-1 has left.', 'the text is rendered again when it wakes')
  const found = await eventually(
    () => s.call('GET', `/v1/notifications/${answer.body.id}`),
    ({ body: b }) => b.deliveries[0].state === 'sent',
  )
  const whats = found.body.timeline.map((e: { what: string }) => e.what)
  assert.deepEqual(whats, ['accepted', 'channels', 'quiet_hours', 'deferred', 'queued', 'sent'])
})

test('a deferred notification follows changed quiet hours and removed channels', async (t) => {
  const s = await setup({ clock: manualClock(Date.parse('2026-06-01T23:30:00Z')) })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  const answer = await s.call('POST', '/v1/notify', shipped)
  assert.deepEqual(outcomesOf(answer), ['deferred', 'deferred', 'deferred', 'deferred'])
  await s.call('PUT', '/v1/users/alice/preferences/*', {
    quiet_hours: { start: '22:00', end: '10:00' },
    channels: ['sms', 'email'],
  })
  s.clock.set(Date.parse('2026-06-02T08:00:01Z'))
  await eventually(
    () => s.call('GET', `/v1/notifications/${answer.body.id}`),
    ({ body }) => body.deliveries[0].ended === 'excluded',
  )
  assert.equal(await mailCount(s), 0)
  s.clock.set(Date.parse('2026-06-02T10:00:01Z'))
  await eventually(
    () => mailCount(s),
    (count) => count === 2,
  )
})

test('a scheduled notification fires once at its time unless it is cancelled', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const fire_at = new Date(s.clock.now() + 10 * minute).toISOString()
  const payload = { ...shipped, channels: ['sms'] }
  const first = await s.call('POST', '/v1/scheduled', { fire_at, payload })
  assert.equal(first.status, 201)
  assert.deepEqual(first.body, { id: first.body.id, fire_at, payload, failures: 0, under_way: false })
  const second = await s.call('POST', '/v1/scheduled', { fire_at, payload })
  assert.equal((await s.call('DELETE', `/v1/scheduled/${second.body.id}`)).status, 204)
  assert.equal((await s.call('GET', '/v1/scheduled?user_id=alice')).body.items.length, 1)
  s.clock.advance(9 * minute)
  assert.equal(await mailCount(s), 0)
  s.clock.advance(minute)
  await eventually(
    () => mailCount(s),
    (count) => count === 1,
  )
  assert.equal((await s.call('GET', `/v1/scheduled/${first.body.id}`)).status, 404)
  assert.equal((await s.call('POST', '/v1/scheduled', { fire_at, payload: { ...payload, event: 'x' } })).status, 422)
})

const createLike = (actor: string, extra: object = {}) => ({
  event: 'photo.liked',
  user_id: 'alice',
  data: { actor, photo: 'the sea' },
  ...extra,
})

async function setupAggregation(options: Parameters<typeof setup>[0] = {}): Promise<Setup> {
  const s = await setup(options)
  await seedEventType(s, 'photo.liked', { channels: ['push'], aggregation: { threshold: 3, actor: 'actor' } })
  const body =
    '{% if actor_count > 1 %}{{ actors | names: 2 }} like {{ photo }}{% else %}{{ actor }} likes {{ photo }}{% endif %}'
  await s.call('PUT', '/v1/templates/photo.liked/push/en', { subject: 'Likes', body })
  return s
}

test('likes of more actors than the threshold become one notification after five minutes', async (t) => {
  const s = await setupAggregation()
  t.after(s.close)
  const answers: Answer[] = []
  for (const actor of ['Ann', 'Bob', 'Ann', 'Chidi', 'Dana', 'Emre']) {
    answers.push(await s.call('POST', '/v1/notify', createLike(actor)))
    s.clock.advance(10_000)
  }
  assert.deepEqual(answers[0]?.body.deliveries, [{ channel: 'push', outcome: 'aggregated' }])
  s.clock.advance(5 * minute - 60_001)
  assert.equal(await mailCount(s), 0)
  s.clock.advance(1)
  await eventually(
    () => mailCount(s),
    (count) => count === 1,
  )
  const { body } = await s.call('GET', '/dev/mailbox')
  assert.equal(body.messages[0].body, 'Ann, Bob and 3 others like the sea')
  const { body: found } = await s.call('GET', `/v1/notifications/${answers[1]?.body.id}`)
  const combined = found.timeline.find((e: { what: string }) => e.what === 'combined')
  const one = await s.call('GET', `/v1/notifications/${combined.detail.into}`)
  assert.equal(one.body.deliveries[0].outcome, 'queued')
})

test('a few likes become one notification each, and a later replay is a duplicate', async (t) => {
  const s = await setupAggregation()
  t.after(s.close)
  const answers = await Promise.all(
    ['Ann', 'Bob', 'Chidi'].map((actor) => s.call('POST', '/v1/notify', createLike(actor, { dedup_key: actor }))),
  )
  s.clock.advance(5 * minute)
  await eventually(
    () => mailCount(s),
    (count) => count === 3,
  )
  const replay = await s.call('POST', '/v1/notify', createLike('Ann', { dedup_key: 'Ann' }))
  assert.equal(replay.body.id, answers[0]?.body.id)
  assert.deepEqual(outcomesOf(replay), ['duplicate'])
  const found = await eventually(
    () => s.call('GET', `/v1/notifications/${answers[0]?.body.id}`),
    ({ body }) => body.deliveries[0].state === 'sent',
  )
  assert.deepEqual(outcomesOf(found), ['queued'])
})

test('a combined notification counts once against the cap, with preferences of its flush', async (t) => {
  const s = await setupAggregation({ options: { caps: { total: 1, channels: {}, priorities: {} } } })
  t.after(s.close)
  for (const actor of ['Ann', 'Bob', 'Chidi', 'Dana']) await s.call('POST', '/v1/notify', createLike(actor))
  s.clock.advance(5 * minute)
  await eventually(
    () => mailCount(s),
    (count) => count === 1,
  )
  const kept = await Promise.all(['Ann', 'Bob'].map((actor) => s.call('POST', '/v1/notify', createLike(actor))))
  await s.call('PUT', '/v1/users/alice/preferences/photo.liked', { channels: [] })
  s.clock.advance(5 * minute)
  const found = await eventually(
    () => s.call('GET', `/v1/notifications/${kept[0]?.body.id}`),
    ({ body }) => body.timeline.length > 3,
  )
  assert.equal(found.body.timeline.at(-1).what, 'excluded')
  assert.equal(await mailCount(s), 1)
})

test('deferred notifications of one morning are spread after the end of quiet hours', async (t) => {
  const spreadMs = 120_000
  const s = await setup({
    clock: manualClock(Date.parse('2026-06-01T23:30:00Z')),
    options: { morningSpreadMs: spreadMs, caps: { total: 99, channels: {}, priorities: {} } },
  })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  await Promise.all(Array.from({ length: 40 }, () => s.call('POST', '/v1/notify', { ...shipped, channels: ['sms'] })))
  const morning = Date.parse('2026-06-02T08:00:00Z')
  const { rows } = await s.database.query<{ resume_at: number }>('SELECT resume_at FROM notify.deferred')
  const afterMs = rows.map(({ resume_at }) => resume_at - morning)
  assert.equal(afterMs.length, 40)
  assert.ok(afterMs.every((ms) => ms >= 0 && ms < spreadMs))
  assert.ok(new Set(afterMs.map((ms) => Math.floor(ms / (spreadMs / 4)))).size > 1, 'not all in one quarter of it')
  s.clock.set(morning + spreadMs)
  await eventually(
    () => mailCount(s),
    (count) => count === 40,
  )
})
