import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFcm, startTwilio } from '@gatehouse/fakes'
import { newLinkId } from '../../src/links/short-links.ts'
import { baseUrl, linkSecret, pathOf, reader } from '../support/providers/mail-links.ts'
import { buildProvider, createPresentClock } from '../support/providers/providers.ts'
import { purgeBuckets } from '../support/purge.ts'
import { eventually, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const accountSid = `AC${'0'.repeat(32)}`
const authToken = 'a-token-of-the-account'
const dayMs = 86_400_000
const target = 'https://shop.example/orders/A-1?a=1&b=%C3%BC'
const text = `It left: ${target} Reply STOP to end.`

/** The service with alice reachable everywhere, and texts with a link on every channel. */
async function setupShop(
  t: { after(end: () => Promise<void>): void },
  settings: object = {},
  options: SetupOptions = {},
) {
  const s = await setup({ linkSecret, publicUrl: baseUrl, ...options })
  t.after(() => s.close())
  await seedEventType(s, 'order.shipped', settings)
  for (const channel of ['push', 'sms', 'in-app'])
    await s.call('PUT', `/v1/templates/order.shipped/${channel}/en`, { subject: 'Order', body: text })
  const send = async (channel: string, more: object = {}) =>
    (
      await s.call('POST', '/v1/notify', {
        event: 'order.shipped',
        user_id: 'alice',
        data: {},
        channels: [channel],
        ...more,
      })
    ).body as { id: string; deliveries: [{ id: string; outcome: string }] }
  const record = async (id: string) => {
    const { deliveries, timeline } = (await s.call('GET', `/v1/notifications/${id}`)).body
    const clicks = timeline
      .filter(({ what }: { what: string }) => what === 'clicked')
      .map(({ detail }: { detail: object }) => detail)
    return { state: deliveries[0].state as string, clicks: clicks as object[] }
  }
  const follow = (url: string, more: object = {}) => s.http.inject({ url, headers: reader, ...more })
  const rows = async () => (await s.database.query('SELECT 1 FROM notify.short_link')).rowCount
  return { ...s, send, record, follow, rows }
}

/** Sends over a channel and answers what went out. */
async function sentText(s: Awaited<ReturnType<typeof setupShop>>, channel: string) {
  const { id, deliveries } = await s.send(channel)
  const messages = async () => (await s.call('GET', '/dev/mailbox')).body.messages
  const all = await eventually(messages, (list) =>
    list.some((each: { delivery_id: string }) => each.delivery_id === deliveries[0].id),
  )
  await eventually(
    () => s.record(id),
    ({ state }) => state === 'sent',
  )
  const found = all.find((each: { delivery_id: string }) => each.delivery_id === deliveries[0].id)
  return { id, body: found.body as string }
}

for (const channel of ['push', 'sms', 'in-app'])
  test(`a link of ${channel} redirects to its address and its click is recorded with the link`, async (t) => {
    const s = await setupShop(t, { tracking: 'clicks' })
    const { id, body } = await sentText(s, channel)
    const path = pathOf(body, '/l/')
    assert.equal(body, `It left: ${baseUrl}${path} Reply STOP to end.`)
    const answer = await s.follow(path)
    assert.deepEqual([answer.statusCode, answer.headers.location, answer.body], [302, target, ''])
    assert.deepEqual([answer.headers['cache-control'], answer.headers['referrer-policy']], ['no-store', 'no-referrer'])
    await s.follow(path)
    const { clicks } = await eventually(
      () => s.record(id),
      ({ state }) => state === 'clicked',
    )
    assert.deepEqual(clicks, [{ state: 'clicked', provider: 'tracking', link: target }])
  })

test('a short link is followed whatever the bucket of its user', async (t) => {
  const s = await setupShop(t, { tracking: 'on' }, { tables: { buckets: 4 } })
  const users = ['alice', 'bob', 'carol', 'dave', 'erin', 'frank']
  for (const user_id of users) await s.send('in-app', { user_id })
  const items = await eventually(
    async () => {
      const feeds = users.map((user) =>
        s.call('GET', `/v1/users/${user}/inbox`, undefined, `user:${user} read:notifications`),
      )
      return (await Promise.all(feeds)).flatMap(({ body }) => body.items)
    },
    ({ length }) => length === users.length,
  )
  for (const { body } of items) assert.equal((await s.follow(pathOf(body, '/l/'))).headers.location, target)
})

test('only addresses on hosts of the template or the settings become links, not words of users', async (t) => {
  const s = await setupShop(t, { tracking: 'on' }, { options: { trackedHosts: ['pay.example'] } })
  await s.call('PUT', '/v1/templates/order.shipped/sms/en', {
    body: '{{ words }} https://shop.example/c/{{ id }} {{ pay }} https://{{ host }}/x https://shop{{ rest }}',
  })
  const words = 'https://evil.example/login https://shop.example.evil.example https://shop.example@evil.example/'
  const more = { id: 7, pay: 'https://pay.example/7', host: 'evil.example', rest: '.evil.example/' }
  await s.send('sms', { data: { words, ...more } })
  const [message] = await eventually(
    async () => (await s.call('GET', '/dev/mailbox')).body.messages as { body: string }[],
    ({ length }) => length === 1,
  )
  const link = `${baseUrl}/l/•`
  const rest = 'https://evil.example/x https://shop.evil.example/'
  assert.equal(message?.body.replaceAll(/\/l\/\w{12}/g, '/l/•'), `${words} ${link} ${link} ${rest}`)
  const { rows } = await s.database.query<{ target: string }>('SELECT target FROM notify.short_link ORDER BY target')
  assert.deepEqual(rows, [{ target: more.pay }, { target: 'https://shop.example/c/7' }])
})

test('texts without tracking stay unchanged and store no link', async (t) => {
  const s = await setupShop(t)
  for (const channel of ['push', 'sms', 'in-app']) assert.equal((await sentText(s, channel)).body, text)
  assert.equal(await s.rows(), 0)
})

test('only sent messages store links: no duplicates, capped, deferred or sensitive ones', async (t) => {
  const caps = { total: 1, channels: {}, priorities: {} }
  const s = await setupShop(t, { tracking: 'on' }, { options: { caps } })
  const { deliveries } = await s.send('sms', { dedup_key: 'k' })
  assert.equal(deliveries[0].outcome, 'queued')
  assert.equal((await s.send('sms', { dedup_key: 'k' })).deliveries[0].outcome, 'duplicate')
  assert.equal((await s.send('sms')).deliveries[0].outcome, 'capped')
  const explained = { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['sms'] }
  assert.equal((await s.call('POST', '/v1/explain', explained)).status, 200)
  assert.equal(await s.rows(), 1)
  await s.call('PUT', '/v1/event-types/order.shipped', {
    channels: [],
    tracking: 'on',
    sensitive: true,
    priority: 'critical',
  })
  assert.equal((await s.send('sms')).deliveries[0].outcome, 'queued')
  assert.equal(await s.rows(), 1)
})

test('machines that follow a short link are redirected and recorded apart from readers', async (t) => {
  const s = await setupShop(t, { tracking: 'on' })
  const { id, body } = await sentText(s, 'sms')
  const path = pathOf(body, '/l/')
  const asks = [
    { method: 'HEAD' },
    { headers: { 'user-agent': 'WhatsApp/2.23' } },
    { headers: { ...reader, purpose: 'prefetch' } },
  ]
  for (const ask of asks) assert.equal((await s.follow(path, ask)).headers.location, target)
  const entries = await eventually(
    () => s.record(id),
    ({ clicks }) => clicks.length > 0,
  )
  assert.deepEqual(entries, {
    state: 'sent',
    clicks: [{ provider: 'tracking', machine: true, reason: 'HEAD', link: target }],
  })
  await s.follow(path)
  await eventually(
    () => s.record(id),
    ({ state }) => state === 'clicked',
  )
})

test('an unknown link id leads nowhere, whatever its form', async (t) => {
  const s = await setupShop(t, { tracking: 'on' })
  const path = pathOf((await sentText(s, 'sms')).body, '/l/')
  const ids = [
    newLinkId(0),
    'https%3A%2F%2Fevil.example',
    '%2F%2Fevil.example',
    "'%20OR%201=1--",
    'a%0d%0aLocation:%20https:%2F%2Fevil.example',
    'x'.repeat(1_000),
  ]
  for (const url of [
    ...ids.map((id) => `/l/${id}`),
    `${path}A`,
    path.slice(0, -1),
    path.toUpperCase().replace('/L/', '/l/'),
  ]) {
    const answer = await s.follow(url, { headers: { ...reader, 'accept-language': 'de' } })
    assert.deepEqual([answer.statusCode, answer.headers.location], [404, undefined], url)
    assert.match(answer.body, /Dieser Link funktioniert nicht/)
  }
  const query = await s.follow(`${path}?target=https://evil.example&url=//evil.example`)
  assert.equal(query.headers.location, target)
})

test('a short link is purged when it expires or its user is erased', async (t) => {
  const retention = {
    notificationDays: 1,
    logDays: 1,
    deadLetterDays: 1,
    inboxDays: 1,
    deadDeviceDays: 1,
    linkDays: 10,
    stateChangeDays: 10,
  }
  const s = await setupShop(t, { tracking: 'on' }, { options: { retention } })
  const path = pathOf((await sentText(s, 'sms')).body, '/l/')
  const erased = pathOf((await sentText(s, 'sms')).body, '/l/')
  s.clock.advance(9 * dayMs)
  await purgeBuckets(s.store, retention, s.clock.now())
  assert.equal((await s.follow(path)).statusCode, 302)
  s.clock.advance(2 * dayMs)
  assert.equal((await s.follow(path)).statusCode, 404)
  assert.equal(await s.rows(), 2)
  await purgeBuckets(s.store, retention, s.clock.now())
  assert.equal(await s.rows(), 0)
  const later = pathOf((await sentText(s, 'sms')).body, '/l/')
  assert.ok(JSON.stringify((await s.call('GET', '/v1/users/alice/data')).body).includes(target), 'it is handed out')
  await s.call('DELETE', '/v1/users/alice/data')
  assert.equal(await s.rows(), 0)
  for (const url of [erased, later]) assert.equal((await s.follow(url)).statusCode, 404)
})

test('an SMS over Twilio has one short link at all attempts, and its click changes the state', async (t) => {
  const fake = await startTwilio({ accountSid, authToken })
  const keys = { account_sid: accountSid, auth_token: authToken }
  const provider = buildProvider({ provider: 'twilio', ...keys, from: '+14155550199', url: fake.url })
  const backoff = { baseMs: 1, factor: 1, maxMs: 1 }
  const clock = createPresentClock()
  const s = await setupShop(
    t,
    { tracking: { sms: 'clicks' } },
    { clock, providers: { sms: [provider] }, options: { backoff } },
  )
  t.after(() => fake.stop())
  fake.answerNext('drop')
  const { id } = await s.send('sms')
  await eventually(
    async () => {
      clock.advance(1_000)
      return s.record(id)
    },
    ({ state }) => state === 'sent',
  )
  const [sms, ...more] = fake.requests
  assert.equal(more.length, 0, 'it was found at Twilio by its text')
  assert.equal((await s.follow(pathOf(sms?.body ?? '', '/l/'))).headers.location, target)
  await eventually(
    () => s.record(id),
    ({ state }) => state === 'clicked',
  )
})

test('a push over FCM has one short link for all devices', async (t) => {
  const fake = await startFcm()
  const provider = buildProvider(
    { provider: 'fcm', service_account: fake.serviceAccount, url: fake.url },
    { channel: 'push' },
  )
  const s = await setupShop(t, { tracking: 'on' }, { clock: createPresentClock(), providers: { push: [provider] } })
  t.after(() => fake.stop())
  await s.call('PUT', '/v1/users/alice/devices/tablet', { token: 'another-token' })
  const { id } = await s.send('push')
  await eventually(
    async () => fake.requests,
    ({ length }) => length === 2,
  )
  const [one, other] = fake.requests.map(({ notification }) => pathOf(notification?.body ?? '', '/l/'))
  assert.equal(one, other)
  await s.follow(one ?? '')
  await eventually(
    () => s.record(id),
    ({ state }) => state === 'clicked',
  )
})

test('the preview of an SMS counts the segments of the text with short links', async (t) => {
  const s = await setupShop(t)
  const body = `${'x'.repeat(100)} https://shop.example/${'y'.repeat(200)}`
  const request = { channels: ['sms'], data: {}, draft: { channel: 'sms', locale: 'en', body } }
  const preview = async () => (await s.call('POST', '/v1/templates/order.shipped/preview', request)).body.items[0]
  assert.equal((await preview()).sms.segments, 3)
  await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['sms'], tracking: { sms: 'clicks' } })
  const { sms, body: shown } = await preview()
  assert.deepEqual([sms.segments, shown], [1, body])
})

test('an event type returns its tracking by channel as set, and rejects invalid tracking', async (t) => {
  const s = await setupShop(t)
  const put = (tracking: unknown) => s.call('PUT', '/v1/event-types/order.shipped', { channels: ['sms'], tracking })
  for (const tracking of ['on', 'off', { sms: 'clicks', email: 'on' }]) {
    assert.deepEqual((await put(tracking)).body.tracking, tracking)
    assert.deepEqual((await s.call('GET', '/v1/event-types/order.shipped')).body.tracking, tracking)
  }
  for (const tracking of ['all', true, { fax: 'on' }, { sms: 'sometimes' }, [], null])
    assert.equal((await put(tracking)).status, 400, JSON.stringify(tracking))
})
