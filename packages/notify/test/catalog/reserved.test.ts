import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ManagementChange } from '@gatehouse/kit'
import type { OutgoingMessage, Provider, ReservedDeclarations, ReservedMail } from '../../src/index.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { cases } from '../support/routes.ts'
import { eventually, type Setup, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const event = 'reset_password'
const smsEvent = 'phone_code'
const link = 'https://auth.example/password/reset?token=hush'
const manager = 'admin:notifications write:notifications read:personal-data'
const service = 'write:reserved-mails'

const reserved: ReservedDeclarations = {
  owner: 'identity',
  eventTypes: [
    { event, channels: ['email'] },
    { event: smsEvent, channels: ['sms'] },
  ],
  templates: [
    { templateId: event, channel: 'email', locale: 'en', subject: 'Reset', body: 'Open {{ link }}' },
    { templateId: smsEvent, channel: 'sms', locale: 'en', body: '{{ code }} is your code' },
  ],
}

const mail: ReservedMail = { event, user_id: 'alice', email: 'alice@home.example', data: { link } }

/** Carries mails, but for those to `dead@…`, which it refuses, and to `slow@…`, which it never answers. */
function createMailProvider(channel: 'email' | 'sms' = 'email'): {
  readonly provider: Provider
  readonly sent: OutgoingMessage[]
} {
  const sent: OutgoingMessage[] = []
  return {
    sent,
    provider: {
      name: channel === 'sms' ? 'texter' : 'mailer',
      channel,
      timeoutMs: 1_000,
      async send(messages) {
        if (messages.some(({ target }) => target.address.startsWith('slow@'))) await new Promise(() => {})
        sent.push(...messages)
        return messages.map(({ target }) =>
          target.address.startsWith('dead@')
            ? { kind: 'permanent', code: '550', reason: `no ${link} here` }
            : { kind: 'accepted' },
        )
      },
    },
  }
}

const changes: ManagementChange[] = []
const { provider, sent } = createMailProvider()
const texter = createMailProvider('sms')
const { topic, deliver } = createManualTopic()
let s: Setup
before(async () => {
  s = await setup({
    reserved,
    topic,
    providers: { email: [provider], sms: [texter.provider] },
    options: {
      caps: { total: 0, channels: {}, priorities: {} },
      concurrency: { push: 1, email: 8, sms: 1, 'in-app': 1 },
    },
    recordChange: async (change) => {
      changes.push(change)
    },
  })
})
after(() => s.close())

test('a mistyped event type is answered with those that a producer may send', async () => {
  await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['email'] }, manager)
  const { status, body } = await s.call('POST', '/v1/notify', { event: 'order.shiped', user_id: 'alice', data: {} })
  assert.deepEqual([status, body.known_event_types], [422, ['order.shipped']])
  assert.doesNotMatch(body.detail, /reset_password/)
  await s.call('DELETE', '/v1/event-types/order.shipped', undefined, manager)
})

const addressesOf = (userId: string) =>
  sent.filter((each) => each.userId === userId).map(({ target }) => target.address)

test('a reserved mail goes to the address in its request, not to a stored one', async () => {
  for (const [userId, prepare] of [
    ['unknown', undefined],
    ['moved', () => s.call('PUT', '/v1/recipients/moved', { email: 'mallory@evil.example' }, manager)],
    ['muted', () => s.call('PUT', '/v1/users/muted/preferences/*', { channels: [] }, manager)],
    ['mutedToo', () => s.call('PUT', `/v1/users/mutedToo/preferences/${event}`, { channels: ['sms'] }, manager)],
    ['left', () => s.call('PUT', '/v1/users/left/choices', { unsubscribed: true }, manager)],
  ] as const) {
    await prepare?.()
    const answer = await s.call('POST', '/v1/reserved-mails', { ...mail, user_id: userId }, service)
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    await eventually(
      async () => addressesOf(userId),
      (addresses) => addresses.length > 0,
    )
    assert.deepEqual(addressesOf(userId), ['alice@home.example'])
  }
})

test('a reserved text message goes to the number in its request, by sms alone', async () => {
  await s.call('PUT', '/v1/recipients/texted', { phone_number: '+15550100', email: 'texted@home.example' }, manager)
  const text = { event: smsEvent, user_id: 'texted', phone_number: '+442079460000', data: { code: '012345' } }
  assert.equal((await s.call('POST', '/v1/reserved-mails', text, service)).status, 202)
  const [message] = await eventually(
    async () => texter.sent,
    ({ length }) => length > 0,
  )
  assert.deepEqual([message?.target.address, message?.content.body], ['+442079460000', '012345 is your code'])
  assert.deepEqual(addressesOf('texted'), [])
})

test('a reserved mail from this process has its own address and locale', async () => {
  const result = await s.notify.mail({ ...mail, user_id: 'inside', locale: 'de', dedup_key: 'k' })
  assert.ok('accepted' in result)
  await eventually(
    async () => addressesOf('inside'),
    (addresses) => addresses.length > 0,
  )
  const again = await s.notify.mail({ ...mail, user_id: 'inside', dedup_key: 'k' })
  assert.ok('accepted' in again && again.accepted.deliveries[0]?.outcome === 'duplicate')
})

test('reserved mails are accepted from clients with the service scope only', async () => {
  for (const [scopes, body, status] of [
    [manager, mail, 403],
    [`user:alice ${service}`, mail, 403],
    [service, { ...mail, event: 'order.shipped' }, 422],
    [service, { ...mail, email: 'a@x.example, b@x.example' }, 400],
    [service, { ...mail, email: undefined }, 422],
    [service, { ...mail, phone_number: '+442079460000' }, 422],
    [service, { ...mail, event: smsEvent }, 422],
    [service, { ...mail, event: smsEvent, email: undefined, phone_number: '020 7946' }, 400],
    [service, { ...mail, channels: ['sms'] }, 400],
  ] as const) {
    const answer = await s.call('POST', '/v1/reserved-mails', body, scopes)
    assert.equal(answer.status, status, JSON.stringify([scopes, answer.body]))
  }
})

const request = { event, user_id: 'alice', data: { link: 'https://evil.example' } }
const later = { fire_at: '2090-01-01T00:00:00Z', payload: request }

for (const [what, path, body] of [
  ['notify', '/v1/notify', request],
  ['explain', '/v1/explain', request],
  ['schedule', '/v1/scheduled', later],
] as const)
  test(`an event of a reserved type is rejected by ${what} with the reason`, async () => {
    const answer = await s.call('POST', path, body, manager)
    assert.equal(answer.status, 403, JSON.stringify(answer.body))
    assert.match(answer.body.detail, /reset_password is reserved/)
  })

test('an event of a reserved type in bulk or from the topic is rejected and not sent', async () => {
  const before = sent.length
  const bulk = await s.http.inject({
    method: 'POST',
    url: '/v1/notify/bulk',
    headers: { authorization: `Bearer ${manager}` },
    payload: [request],
  })
  assert.equal(JSON.parse(bulk.body).status, 403)
  assert.equal(await deliver(1, request), 'terminate')
  const { body } = await s.call('GET', '/v1/dead-letters?cause=invalid_message', undefined, manager)
  assert.match(body.items[0].detail, /is reserved/)
  await s.call('POST', `/v1/dead-letters/${body.items[0].id}/replay`, undefined, manager)
  const letters = await eventually(
    () => s.call('GET', '/v1/dead-letters', undefined, manager),
    (answer) => answer.body.items.some(({ cause }: { cause: string }) => cause === 'invalid_schedule'),
  )
  assert.match(JSON.stringify(letters.body), /is reserved/)
  assert.equal(sent.length, before)
})

for (const [method, path, body] of [
  ['PUT', `/v1/event-types/${event}`, { channels: ['sms'] }],
  ['DELETE', `/v1/event-types/${event}`, undefined],
  ['PUT', '/v1/event-types/order.shipped', { channels: ['email'], template_id: event }],
  ['PUT', `/v1/templates/${event}/email/en`, { body: 'See {{ link }}' }],
  ['PUT', `/v1/templates/${event}/email/fr`, { body: 'See {{ link }}' }],
  ['PUT', `/v1/templates/${event}/sms/en`, { body: 'See {{ link }}' }],
  ['DELETE', `/v1/templates/${event}/email/en`, undefined],
  ['POST', `/v1/templates/${event}/email/en/publish`, { version: 1 }],
  ['POST', `/v1/templates/${event}/test`, { channel: 'email', user_id: 'alice', data: { link } }],
] as const)
  test(`${method} ${path} is rejected and leaves no audit event`, async () => {
    changes.length = 0
    const answer = await s.call(method, path, body, `${manager} admin:privacy`)
    assert.equal(answer.status, 403, JSON.stringify(answer.body))
    assert.match(answer.body.detail, /belongs to identity.*templates folder/)
    assert.deepEqual(changes, [])
  })

test('reserved event types and templates are readable as the configuration declares them', async () => {
  const type = await s.call('GET', `/v1/event-types/${event}`, undefined, manager)
  assert.deepEqual([type.body.priority, type.body.channels, type.body.sensitive], ['critical', ['email'], true])
  const texts = await s.call('GET', `/v1/templates/${event}`, undefined, manager)
  assert.deepEqual(
    texts.body.items.map(({ body, published }: { body: string; published: boolean }) => [body, published]),
    [['Open {{ link }}', true]],
  )
})

test('a stored event type with a reserved name does not replace it', async (t) => {
  const database = await notifyDatabase()
  const open = await setup({ database })
  await open.call('PUT', `/v1/templates/${event}/email/en`, {
    subject: 'Reset',
    body: 'https://evil.example/{{ link }}',
  })
  await open.call('PUT', `/v1/event-types/${event}`, { channels: ['sms', 'email'], priority: 'low', tracking: 'on' })
  await open.notify.stop()
  const { provider, sent } = createMailProvider()
  const closed = await setup({ database, reserved, providers: { email: [provider] } })
  t.after(closed.close)
  assert.equal((await closed.call('POST', '/v1/reserved-mails', mail, service)).status, 202)
  await eventually(
    async () => sent.length,
    (count) => count > 0,
  )
  assert.equal(sent[0]?.content.body, `Open ${link}`)
  assert.equal(sent[0]?.critical, true)
})

test('a stored event type that names a reserved template does not send its text', async (t) => {
  const database = await notifyDatabase()
  const open = await setup({ database })
  await open.call('PUT', `/v1/templates/${event}/email/en`, { subject: 'x', body: 'x' })
  const lure = { channels: ['email'], template_id: event }
  assert.equal((await open.call('PUT', '/v1/event-types/lure', lure)).status, 200)
  await open.call('PUT', '/v1/recipients/alice', { email: 'alice@home.example' })
  await open.notify.stop()
  const { provider, sent } = createMailProvider()
  const closed = await setup({ database, reserved, providers: { email: [provider] } })
  t.after(closed.close)
  const answer = await closed.call('POST', '/v1/notify', { ...request, event: 'lure' }, manager)
  assert.equal(answer.status, 403, JSON.stringify(answer.body))
  assert.match(answer.body.detail, /lure names the template of a reserved event type/)
  const other = { channels: ['email'], template_id: 'order.shipped' }
  await closed.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'x', body: 'x' }, manager)
  assert.equal((await closed.call('PUT', '/v1/event-types/lure', other, manager)).status, 200)
  assert.equal((await closed.call('POST', '/v1/notify', { ...request, event: 'lure' }, manager)).status, 202)
  await eventually(
    async () => sent.length,
    (count) => count === 1,
  )
  assert.equal(sent[0]?.content.body, 'x')
})

test('no route shows the link of a queued or dead reserved mail', async () => {
  const waiting = await s.call('POST', '/v1/reserved-mails', { ...mail, email: 'slow@home.example' }, service)
  const dead = await s.call('POST', '/v1/reserved-mails', { ...mail, email: 'dead@home.example' }, service)
  await eventually(
    () => s.call('GET', '/v1/dead-letters?user_id=alice', undefined, manager),
    ({ body }) => body.items.some(({ event: type }: { event: string }) => type === event),
  )
  const { rows } = await s.database.query('SELECT 1 FROM notify.delivery_queue WHERE message::text LIKE $1', ['%hush%'])
  assert.ok(rows.length > 0, 'one waits')
  const person = { email: 'a@x.example', phone: '+14155550100', token: 't', name: 'n', value: 'v', dedupKey: 'd' }
  for (const notificationId of [waiting.body.id, dead.body.id]) {
    const ids = { scheduledId: notificationId, suppressionId: notificationId, ownSuppressionId: notificationId }
    const letters = { deadLetterId: dead.body.deliveries[0].id, invalidLetterId: notificationId }
    const world = { userId: 'alice', person, notificationId, itemId: notificationId, ...ids, ...letters }
    for (const [route, { path, body }] of Object.entries(cases)) {
      if (route.startsWith('DELETE') || route.includes('/replay') || route.includes('/discard')) continue
      const answer = await s.http.inject({
        method: route.split(' ')[0] as 'GET',
        url: path(world),
        headers: { authorization: `Bearer ${manager} admin:privacy read:notifications` },
        ...(body ? { payload: body(world) } : {}),
      })
      assert.doesNotMatch(answer.body, /hush/, route)
    }
  }
})

test('no route shows the link that a later provider report quotes, and its code stays', async () => {
  const { body } = await s.call('POST', '/v1/reserved-mails', { ...mail, user_id: 'bounced' }, service)
  await eventually(
    async () => addressesOf('bounced'),
    (addresses) => addresses.length > 0,
  )
  const about = { provider: 'mailer', deliveryId: body.deliveries[0].id, at: s.clock.now() }
  const reason = `550 5.7.1 blocked for its link ${link}`
  await s.store.deliveries.report(
    [{ ...about, eventId: 'quoting', report: 'bounced', reason, suppressing: { reason: 'bounced' } }],
    s.clock.now(),
  )
  const paths = [`/v1/notifications/${body.id}`, '/v1/suppressions?user_id=bounced', '/v1/users/bounced/data']
  for (const path of paths) {
    const answer = await s.call('GET', path, undefined, `${manager} admin:privacy`)
    assert.equal(answer.status, 200)
    assert.doesNotMatch(JSON.stringify(answer.body), /hush/, path)
    assert.match(JSON.stringify(answer.body), /550 5\.7\.1/, path)
  }
})

test('a user export omits the content of sensitive messages in the development mailbox', async (t) => {
  const dev = await setup({ reserved })
  t.after(dev.close)
  await dev.call('POST', '/v1/reserved-mails', mail, service)
  await eventually(
    () => dev.call('GET', '/dev/mailbox'),
    ({ body }) => body.messages.length === 1,
  )
  const { body } = await dev.call('GET', '/v1/users/alice/data', undefined, 'admin:privacy')
  assert.equal(body.data.mailbox.length, 1)
  assert.doesNotMatch(JSON.stringify(body), /hush/)
})

test('a replayed reserved mail goes to its own address, not to a stored one', async () => {
  await s.call('PUT', '/v1/recipients/carol', { email: 'mallory@evil.example' }, manager)
  const dead = { ...mail, user_id: 'carol', email: 'dead@home.example' }
  const { body } = await s.call('POST', '/v1/reserved-mails', dead, service)
  const id = body.deliveries[0].id
  const isThere = async () => (await s.call('GET', `/v1/dead-letters/${id}`, undefined, manager)).status === 200
  await eventually(isThere, Boolean)
  await s.call('POST', `/v1/dead-letters/${id}/replay`, undefined, manager)
  await eventually(
    async () => addressesOf('carol'),
    (addresses) => addresses.length === 2,
  )
  assert.deepEqual(addressesOf('carol'), ['dead@home.example', 'dead@home.example'])
})

test('a reserved mail whose template failed is not planned again for a stored address', async (t) => {
  const { provider, sent } = createMailProvider()
  const broken = { ...reserved, templates: [] }
  const failing = await setup({ reserved: broken, providers: { email: [provider] } })
  t.after(failing.close)
  await failing.call('PUT', '/v1/recipients/alice', { email: 'mallory@evil.example' }, manager)
  const { body } = await failing.call('POST', '/v1/reserved-mails', mail, service)
  const id = body.deliveries[0].id
  assert.equal(body.deliveries[0].outcome, 'failed')
  assert.equal((await failing.call('POST', `/v1/dead-letters/${id}/replay`, undefined, manager)).status, 200)
  const { body: after } = await eventually(
    () => failing.call('GET', `/v1/notifications/${body.id}`, undefined, manager),
    (answer) => answer.body.timeline.some(({ what }: { what: string }) => what === 'excluded'),
  )
  assert.match(JSON.stringify(after.timeline), /not planned again/)
  assert.deepEqual(sent, [])
})

test('a reserved message is cancelled by the management alone, and that is audited', async () => {
  const { body } = await s.call('POST', '/v1/reserved-mails', { ...mail, user_id: 'waiting' }, service)
  const cancel = (scopes: string) => s.call('POST', `/v1/notifications/${body.id}/cancel`, {}, scopes)
  for (const scopes of ['write:notifications', 'user:waiting write:notifications']) {
    const answer = await cancel(scopes)
    assert.deepEqual([answer.status, /reserved/.test(answer.body.detail)], [403, true], scopes)
  }
  const before = changes.length
  assert.equal((await cancel(manager)).status, 200)
  assert.deepEqual(
    changes.slice(before).map(({ action }) => action),
    ['notifications.cancel'],
  )
})
