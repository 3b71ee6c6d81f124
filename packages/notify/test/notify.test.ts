import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, seedEventType, setup } from './support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }

test('an event is accepted with 202, sent on every channel and recorded in its timeline', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const answer = await s.call('POST', '/v1/notify', shipped, 'write:notifications')
  assert.equal(answer.status, 202)
  assert.deepEqual(
    answer.body.deliveries.map((d: { channel: string; outcome: string }) => [d.channel, d.outcome]),
    [
      ['push', 'queued'],
      ['email', 'queued'],
      ['sms', 'queued'],
      ['in-app', 'queued'],
    ],
  )
  const found = await eventually(
    () => s.call('GET', `/v1/notifications/${answer.body.id}`),
    ({ body }) => body.deliveries.every((d: { state: string }) => d.state === 'sent'),
  )
  assert.equal(found.body.user_id, 'alice')
  assert.deepEqual(
    found.body.timeline.slice(0, 2).map((e: { what: string }) => e.what),
    ['accepted', 'channels'],
  )
  assert.equal(found.body.timeline.filter((e: { what: string }) => e.what === 'sent').length, 4)
  const { body } = await s.call('GET', '/dev/mailbox')
  assert.deepEqual(body.messages.map((m: { channel: string }) => m.channel).sort(), ['email', 'in-app', 'push', 'sms'])
  assert.ok(body.messages.every((m: { body: string }) => m.body === 'Order A-1 left.'))
  const feed = await s.call('GET', '/v1/users/alice/inbox')
  assert.equal(feed.body.items[0].body, 'Order A-1 left.')
})

test('a replayed event is a duplicate with the original ids and sends nothing', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const event = { ...shipped, dedup_key: 'A-1' }
  const first = await s.call('POST', '/v1/notify', event)
  const second = await s.call('POST', '/v1/notify', event)
  assert.equal(second.status, 202)
  assert.equal(second.body.id, first.body.id)
  assert.deepEqual(
    second.body.deliveries,
    first.body.deliveries.map((d: object) => ({ ...d, outcome: 'duplicate' })),
  )
})

test('the mailbox responds like a provider, and the state follows its table', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  await eventually(
    () => s.call('GET', '/dev/mailbox'),
    (answer) => answer.body.messages.length === 1,
  )
  const stateOf = async () => (await s.call('GET', `/v1/notifications/${body.id}`)).body.deliveries[0].state
  const answers = ['opened', 'delivered', 'clicked', 'bounced', 'clicked']
  const states: string[] = []
  for (const answer of answers) {
    await s.call('POST', `/dev/mailbox/${body.deliveries[0].id}/${answer}`, {})
    states.push(await stateOf())
  }
  assert.deepEqual(states, ['opened', 'opened', 'clicked', 'bounced', 'bounced'])
  const next = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  assert.equal(next.body.deliveries[0].outcome, 'undeliverable')
})

test('the mailbox page shows states and dead tokens, and rejects posts of other sites', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email', 'push'] })
  const listed = await eventually(
    () => s.call('GET', '/dev/mailbox'),
    (answer) => answer.body.messages.filter(({ state }: { state: string }) => state === 'sent').length === 2,
  )
  const idOn = (channel: string) => listed.body.messages.find((m: { channel: string }) => m.channel === channel).id
  const press = (path: string, headers: Record<string, string>) =>
    s.http.inject({ method: 'POST', url: `/dev/mailbox/${path}`, headers: { host: 'localhost:8080', ...headers } })
  const email = `${body.deliveries.find((d: { channel: string }) => d.channel === 'email').id}/bounced`
  for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
    assert.equal((await press(email, headers)).statusCode, 403)
  const page = async () => (await s.http.inject({ url: '/dev/mailbox', headers: { accept: 'text/html' } })).body
  assert.ok(!(await page()).includes('class="state bounced"'))
  const own = { 'sec-fetch-site': 'same-origin', origin: 'null', accept: 'text/html' }
  assert.equal((await press(email.replace('bounced', 'opened'), own)).statusCode, 303)
  const pressed = await press(email, { origin: 'http://localhost:8080', accept: 'text/html' })
  assert.equal(pressed.statusCode, 303)
  assert.equal(pressed.headers.location, `/dev/mailbox/${encodeURIComponent(idOn('email'))}`)
  assert.ok((await page()).includes('class="state bounced"'))
  assert.equal(
    (await press(`${encodeURIComponent(idOn('push'))}/unregistered`, { accept: 'text/html' })).statusCode,
    303,
  )
  assert.ok((await page()).includes('token dead'))
})

test('concurrent requests are committed together and answered one by one', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      s.call(
        'POST',
        '/v1/notify',
        index === 7
          ? { ...shipped, event: 'order.lost' }
          : { ...shipped, dedup_key: `k${index % 5}`, channels: ['sms'] },
      ),
    ),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map((_, index) => (index === 7 ? 422 : 202)),
  )
  assert.deepEqual(answers[7]?.body.known_event_types, ['order.shipped'])
  const outcomes = answers.flatMap(({ body }) => body.deliveries?.map((d: { outcome: string }) => d.outcome) ?? [])
  assert.equal(outcomes.filter((outcome) => outcome === 'queued').length, 5)
  assert.equal(outcomes.filter((outcome) => outcome === 'duplicate').length, 44)
})

test('a notify request is validated member by member, and every fault is named at once', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const bad = await s.call('POST', '/v1/notify', { event: 3, data: [], channels: ['fax'], colour: 'red' })
  assert.equal(bad.status, 400)
  assert.equal(bad.headers['content-type'], 'application/problem+json')
  assert.deepEqual(bad.body.errors.map((e: { pointer: string }) => e.pointer).sort(), [
    '/channels/0',
    '/colour',
    '/data',
    '/event',
    '/user_id',
  ])
  assert.equal((await s.call('POST', '/v1/notify', { ...shipped, user_id: 'a\u0000' })).status, 400)
  assert.equal((await s.call('POST', '/v1/notify', shipped, 'read:notifications')).status, 403)
  assert.equal((await s.http.inject({ method: 'POST', url: '/v1/notify', payload: shipped })).statusCode, 401)
})

test('an unknown event type and a missing channel are both named, on every intake', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const wrong = { ...shipped, event: 'order.lost', channels: [] }
  const single = await s.call('POST', '/v1/notify', wrong)
  const bulk = await s.call('POST', '/v1/notify/bulk', [wrong])
  const explained = await s.call('POST', '/v1/explain', wrong)
  const later = await s.call('POST', '/v1/scheduled', { fire_at: '2030-01-01T00:00:00Z', payload: wrong })
  const pointers = (problem: { errors: Array<{ pointer: string }> }) => problem.errors.map(({ pointer }) => pointer)
  assert.deepEqual([single.status, bulk.status, explained.status, later.status], [422, 200, 422, 422])
  assert.equal(bulk.body.status, 422)
  for (const { body } of [single, bulk, explained]) assert.deepEqual(pointers(body), ['/event', '/channels'])
  assert.deepEqual(pointers(later.body), ['/payload/event', '/payload/channels'])
  assert.deepEqual(later.body.known_event_types, ['order.shipped'])
  const empty = await s.call('POST', '/v1/notify', { ...shipped, channels: [] })
  assert.deepEqual([empty.status, pointers(empty.body)], [422, ['/channels']])
})

test('a channel without a provider is omitted, and undeliverable if a request names it', async (t) => {
  const s = await setup({ options: { channelsOff: ['sms'] } })
  t.after(s.close)
  await seedEventType(s)
  const outcomes = async (body: object) => {
    const { body: answer } = await s.call('POST', '/v1/notify', body)
    return answer.deliveries.map(
      ({ channel, outcome }: { channel: string; outcome: string }) => `${channel} ${outcome}`,
    )
  }
  assert.deepEqual(await outcomes(shipped), ['push queued', 'email queued', 'in-app queued'])
  assert.deepEqual(await outcomes({ ...shipped, channels: ['sms'] }), ['sms undeliverable'])
})
