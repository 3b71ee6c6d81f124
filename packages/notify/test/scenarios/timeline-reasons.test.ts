import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import type { Provider, SendResult } from '../../src/index.ts'
import { createReason } from '../../src/model/notification/reason.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const start = '2026-06-01T12:00:00.000Z'
const tomorrow = '2026-06-02T12:00:00.000Z'
const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }

async function setupSeeded(options: Parameters<typeof setup>[0] = {}): Promise<Setup> {
  const s = await setup({ clock: manualClock(Date.parse(start)), ...options })
  await seedEventType(s)
  return s
}

interface Entry {
  readonly what: string
  readonly channel?: string
  readonly detail?: Readonly<Record<string, unknown>>
}

/** The last timeline entry of a new event for a channel, without ids. */
async function readLastEntry(s: Setup, body: object, channel: string): Promise<unknown> {
  const { body: accepted } = await s.call('POST', '/v1/notify', { ...shipped, channels: [channel], ...body })
  const { body: found } = await s.call('GET', `/v1/notifications/${accepted.id}`)
  const entry = (found.timeline as Entry[]).findLast((each) => each.channel === channel)
  const { delivery_id: _, ...detail } = entry?.detail ?? {}
  return { what: entry?.what, ...detail }
}

async function explain(s: Setup, body: object): Promise<unknown> {
  const { body: answer } = await s.call('POST', '/v1/explain', { ...shipped, ...body })
  return answer.channels.map(({ outcome, reason_code, params, reason, until }: Record<string, unknown>) =>
    withoutUndefined({ outcome, reason_code, params, reason, until }),
  )
}

const withoutUndefined = (members: object) => JSON.parse(JSON.stringify(members))
const template = (id: string) => ({ id, version: 1, locale: 'en' })
const cap = (name: string, limit: number) => createReason('cap_reached', { cap: name, limit })

test('a capped delivery names its cap, the limit and the end of the window', async (t) => {
  const caps = { total: 3, channels: { sms: 1, push: 0 }, priorities: { low: 1 } }
  const s = await setupSeeded({ work: false, options: { caps } })
  t.after(s.close)
  await seedEventType(s, 'news.weekly', { priority: 'low' })
  const entries = []
  for (const [event, channel] of [
    ['order.shipped', 'sms'],
    ['order.shipped', 'sms'],
    ['order.shipped', 'push'],
    ['news.weekly', 'email'],
    ['news.weekly', 'email'],
    ['order.shipped', 'email'],
    ['order.shipped', 'email'],
  ] as const)
    entries.push(await readLastEntry(s, { event }, channel))
  assert.deepEqual(entries, [
    { what: 'queued', template: template('order.shipped') },
    { what: 'capped', ...cap('channel:sms', 1), until: tomorrow },
    { what: 'capped', ...cap('channel:push', 0) },
    { what: 'queued', template: template('news.weekly') },
    { what: 'capped', ...cap('priority:low', 1), until: tomorrow },
    { what: 'queued', template: template('order.shipped') },
    { what: 'capped', ...cap('total', 3), until: tomorrow },
  ])
  assert.deepEqual(await explain(s, { channels: ['email'] }), [
    { outcome: 'capped', ...cap('total', 3), until: tomorrow },
  ])
})

test('an undeliverable channel names a missing address, an exclusion or a missing provider', async (t) => {
  const s = await setupSeeded({ work: false, options: { channelsOff: ['sms'] } })
  t.after(s.close)
  const nobody = { user_id: 'nobody' }
  assert.deepEqual(await readLastEntry(s, nobody, 'email'), {
    what: 'no_recipient',
    ...createReason('no_email_address'),
  })
  assert.deepEqual(await readLastEntry(s, nobody, 'push'), { what: 'no_recipient', ...createReason('no_device') })
  assert.deepEqual(await readLastEntry(s, {}, 'sms'), { what: 'undeliverable', ...createReason('channel_off') })
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', reason: 'unsubscribed' })
  assert.deepEqual(await readLastEntry(s, {}, 'email'), {
    what: 'undeliverable',
    reason_code: 'address_suppressed',
    params: { suppression: 'unsubscribed' },
    reason: 'its address is left out: unsubscribed',
  })
  const { body } = await s.call('POST', '/v1/explain', { ...shipped, channels: ['email', 'sms'] })
  assert.deepEqual(
    body.channels.map(({ reason }: { reason: string }) => reason),
    ['its address is left out: unsubscribed', 'the channel is off'],
  )
})

test('a deferred message that is capped in the morning names the cap', async (t) => {
  const s = await setupSeeded({ options: { caps: { total: 1, channels: {}, priorities: {} } } })
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '11:00', end: '13:00' } })
  const ids: string[] = []
  for (let n = 0; n < 2; n++)
    ids.push((await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })).body.id)
  s.clock.advance(3_600_000)
  const capped = await eventually(
    async () => {
      const found = await Promise.all(ids.map((id) => s.call('GET', `/v1/notifications/${id}`)))
      return found.flatMap(({ body }) => (body.timeline as Entry[]).filter(({ what }) => what === 'capped'))
    },
    (entries) => entries.length > 0,
  )
  assert.deepEqual(
    capped.map(({ detail }) => detail),
    [{ ...cap('total', 1), until: '2026-06-02T13:00:00.000Z' }],
  )
})

const listEntries = ({ body }: { body: { timeline: Entry[] } }) =>
  body.timeline.map(({ what, channel }) => (channel ? `${channel} ${what}` : what))

test('a timeline contains every decision from channels and caps to attempts and states', async (t) => {
  const answers: SendResult[] = [
    { kind: 'transient', reason: 'the post answered 503' },
    { kind: 'accepted', providerMessageId: 'p1' },
  ]
  const post: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => answers.shift() ?? { kind: 'accepted' }),
  }
  const caps = { total: 2, channels: {}, priorities: {} }
  const s = await setupSeeded({ providers: { email: [post] }, options: { caps } })
  t.after(s.close)
  await seedEventType(s, 'photo.liked', { aggregation: { actor: 'actor', threshold: 1 } })
  await s.call('PUT', '/v1/users/alice/preferences/order.shipped', { channels: ['email'] })
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '11:00', end: '13:00' } })
  const event = { ...shipped, dedup_key: 'k' }
  const { body: first } = await s.call('POST', '/v1/notify', event)
  for (let n = 0; n < 3; n++) assert.equal((await s.call('POST', '/v1/notify', event)).body.id, first.id)
  const { body: more } = await s.call('POST', '/v1/notify', { ...event, channels: ['email', 'in-app'] })
  const likes: string[] = []
  for (const actor of ['Ann', 'Bob']) {
    const like = { event: 'photo.liked', user_id: 'alice', data: { actor }, channels: ['email'] }
    likes.push((await s.call('POST', '/v1/notify', like)).body.id)
  }
  s.clock.advance(3_600_000)
  const find = (id: string) => s.call('GET', `/v1/notifications/${id}`)
  const seen = await eventually(
    async () => {
      s.clock.advance(1_000)
      return find(first.id)
    },
    (answer) => listEntries(answer).includes('email sent'),
  )
  const delivered = [{ provider: 'post', eventId: 'e1', deliveryId: first.deliveries[0].id, at: s.clock.now() }]
  for (const report of ['delivered', 'opened'] as const)
    await s.store.deliveries.report(
      delivered.map((each) => ({ ...each, eventId: report, report })),
      s.clock.now(),
    )
  const answer = await find(first.id)
  assert.deepEqual(listEntries(answer), [
    'accepted',
    'channels',
    'quiet_hours',
    'email deferred',
    'duplicate',
    'email queued',
    'email attempt_failed',
    'email sent',
    'email delivered',
    'email opened',
  ])
  const detailOf = (what: string) => (answer.body.timeline as Entry[]).find((each) => each.what === what)?.detail
  assert.equal(detailOf('channels')?.because, 'preference')
  assert.equal(detailOf('quiet_hours')?.until, '2026-06-01T13:00:00.000Z')
  assert.match(JSON.stringify(detailOf('attempt_failed')), /the post answered 503/)
  assert.equal(detailOf('opened')?.state, 'opened')
  assert.equal(seen.body.deliveries[0].state, 'sent')
  assert.ok(listEntries(await find(more.id)).includes('email duplicate'))
  const [like = ''] = likes
  const combined = await eventually(
    () => find(like),
    (answer) => listEntries(answer).includes('combined'),
  )
  assert.deepEqual(listEntries(combined), ['accepted', 'channels', 'email aggregated', 'combined'])
  const { detail } = (combined.body.timeline as Entry[]).at(-1) ?? {}
  const flushed = await find(String(detail?.into))
  assert.ok(listEntries(flushed).some((what) => ['email sent', 'email queued', 'email capped'].includes(what)))
})

test('explain shows a replay, a burst and quiet hours, and changes nothing', async (t) => {
  const s = await setupSeeded({ work: false })
  t.after(s.close)
  await seedEventType(s, 'photo.liked', { aggregation: { actor: 'actor' } })
  const channels = ['email']
  const { body: first } = await s.call('POST', '/v1/notify', { ...shipped, channels, dedup_key: 'k' })
  const kept = async () =>
    (await s.database.query('SELECT (SELECT count(*) FROM notify.notification) AS n, counters FROM notify.cap')).rows
  const before = await kept()
  assert.deepEqual(await explain(s, { channels, dedup_key: 'k' }), [
    { outcome: 'duplicate', ...createReason('dedup_key_used', { notification_id: first.id }) },
  ])
  const flush = { until: '2026-06-01T12:05:00.000Z' }
  assert.deepEqual(await explain(s, { channels, event: 'photo.liked' }), [
    { outcome: 'aggregated', ...createReason('aggregated', flush), ...flush },
  ])
  const end = { until: '2026-06-01T13:00:00.000Z' }
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '11:00', end: '13:00' } })
  assert.deepEqual(await explain(s, { channels }), [
    { outcome: 'deferred', ...createReason('quiet_hours', end), ...end },
  ])
  assert.deepEqual(await explain(s, { channels, at: '2026-06-01T13:00:00Z' }), [{ outcome: 'queued' }])
  assert.deepEqual(await kept(), before)
})

test('a text that is missing or fails has a code, and its fault unless it is sensitive', async (t) => {
  const s = await setupSeeded({ work: false })
  t.after(s.close)
  const params = { template_id: 'order.shipped', channel: 'sms' } as const
  await s.call('DELETE', '/v1/templates/order.shipped/sms/en')
  assert.deepEqual(await readLastEntry(s, {}, 'sms'), { what: 'failed', ...createReason('template_missing', params) })
  await s.call('PUT', '/v1/templates/order.shipped/sms/en', { body: '{% for n in (1..99999999) %}{{ n }}{% endfor %}' })
  const failed = (await readLastEntry(s, {}, 'sms')) as Record<string, unknown>
  assert.deepEqual([failed.what, failed.reason_code, failed.params], ['failed', 'template_failed', params])
  assert.match(String(failed.reason), /^the body does not render: /)
  const [shown] = (await explain(s, { channels: ['sms'] })) as Record<string, unknown>[]
  assert.deepEqual([shown?.reason_code, shown?.reason], ['template_failed', failed.reason])
  await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['sms'], sensitive: true })
  assert.deepEqual(await readLastEntry(s, {}, 'sms'), { what: 'failed', reason_code: 'template_failed', params })
})

test('a queued entry names the version of the text that was rendered, of another template too', async (t) => {
  const s = await setupSeeded({ work: false })
  t.after(s.close)
  await s.call('PUT', '/v1/templates/parcel/sms/en', { body: 'First' })
  await s.call('PUT', '/v1/templates/parcel/sms/en', { body: 'Second' })
  await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['sms'], template_id: 'parcel' })
  const template = { id: 'parcel', version: 2, locale: 'en' }
  assert.deepEqual(await readLastEntry(s, {}, 'sms'), { what: 'queued', template })
})
