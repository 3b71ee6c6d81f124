import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { purgeBuckets } from '../support/purge.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }

test('a bulk request is answered line by line, and an invalid line does not affect the others', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const lines = [
    JSON.stringify({ ...shipped, channels: ['sms'], dedup_key: 'k' }),
    '{',
    JSON.stringify({ ...shipped, event: 'x' }),
    JSON.stringify({ ...shipped, channels: ['sms'], dedup_key: 'k' }),
  ]
  const answer = await s.http.inject({
    method: 'POST',
    url: '/v1/notify/bulk',
    headers: { authorization: 'Bearer write:notifications', 'content-type': 'application/x-ndjson' },
    payload: lines.join('\n'),
  })
  const answers = answer.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 400, 422, 202],
  )
  assert.equal(answers[3].deliveries[0].outcome, 'duplicate')
  assert.equal(answers[3].id, answers[0].id)
})

test('explain shows what a user would get and why, and sends nothing', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/preferences/order.shipped', { channels: ['email'] })
  const { body } = await s.call('POST', '/v1/explain', shipped)
  assert.deepEqual(body.channels, [
    { channel: 'email', outcome: 'queued', subject: 'Order A-1', body: 'Order A-1 left.', locale: 'en' },
  ])
  assert.equal(body.decisions[1].detail.because, 'preference')
  assert.equal((await s.database.query('SELECT 1 FROM notify.notification')).rowCount, 0)
})

test('template versions are immutable, can be rolled back to, and have drafts with preview', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const path = '/v1/templates/order.shipped/sms/en'
  assert.equal((await s.call('PUT', path, { body: 'Second {{ order_id }} {{ eta }}' })).body.version, 2)
  assert.deepEqual((await s.call('POST', `${path}/publish`, { version: 1 })).body, { version: 1 })
  const { body: versions } = await s.call('GET', '/v1/templates/order.shipped')
  assert.deepEqual(
    versions.items
      .filter((v: { channel: string }) => v.channel === 'sms')
      .map((v: { version: number; published: boolean }) => [v.version, v.published]),
    [
      [2, false],
      [1, true],
    ],
  )
  const draft = { channel: 'sms', locale: 'en', body: '{{ order_id }} comes {{ eta }} 🚲' }
  const request = { channels: ['sms'], data: { order_id: 'A-1' }, draft }
  const { body: preview } = await s.call('POST', '/v1/templates/order.shipped/preview', request)
  const [shown] = preview.items
  assert.deepEqual([shown.body, shown.missing, shown.version], ['A-1 comes  🚲', ['eta'], undefined])
  assert.deepEqual([shown.sms.encoding, shown.sms.segments, shown.sms.outside_gsm], ['UCS-2', 1, ['🚲']])
  assert.equal((await s.call('PUT', path, { body: '{% include "x" %}' })).status, 422)
  const sent = await s.call('POST', '/v1/templates/order.shipped/test', {
    channel: 'sms',
    data: { order_id: 'A-1' },
    user_id: 'alice',
  })
  assert.equal(sent.body.results[0].kind, 'accepted')
})

test('the data of a user is exported and erased', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  await s.call('POST', '/v1/notify', { ...shipped, dedup_key: 'k' })
  await eventually(
    () => s.call('GET', '/dev/mailbox'),
    ({ body }) => body.messages.length === 4,
  )
  const { body } = await eventually(
    () => s.call('GET', '/v1/users/alice/data'),
    (answer) => answer.body.data.inbox,
  )
  for (const table of ['recipient', 'device', 'notification', 'dedup_log', 'delivery', 'inbox', 'mailbox'])
    assert.ok(body.data[table], table)
  assert.ok((await s.call('DELETE', '/v1/users/alice/data')).body.removed > 10)
  assert.deepEqual((await s.call('GET', '/v1/users/alice/data')).body.data, {})
})

test('records of each kind are removed after their own retention', async (t) => {
  const s = await setup({ clock: manualClock(Date.now()) })
  t.after(s.close)
  await seedEventType(s)
  const retention = {
    notificationDays: 90,
    logDays: 30,
    deadLetterDays: 90,
    inboxDays: 365,
    deadDeviceDays: 30,
    linkDays: 365,
    stateChangeDays: 7,
  }
  await s.call('POST', '/v1/notify', { ...shipped, channels: ['sms'], dedup_key: 'k' })
  await eventually(
    () => s.database.query("SELECT 1 FROM notify.delivery WHERE state = 'sent'"),
    ({ rowCount }) => rowCount === 1,
  )
  const leftAfter = async (days: number) => {
    await purgeBuckets(s.store, retention, s.clock.now() + days * 86_400_000)
    const counts = ['dedup_log', 'notification', 'delivery'].map((table) =>
      s.database.query(`SELECT FROM notify.${table}`),
    )
    return (await Promise.all(counts)).map(({ rowCount }) => rowCount)
  }
  assert.deepEqual(await leftAfter(29), [1, 1, 1])
  assert.deepEqual(await leftAfter(31), [0, 1, 1])
  assert.deepEqual(await leftAfter(91), [0, 0, 0])
})

test('users change their own preferences and see their own notifications only', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['in-app'] })
  const mine = 'user:alice write:preferences read:notifications'
  const theirs = 'user:bob write:preferences read:notifications'
  const preference = { channels: ['email'] }
  assert.equal((await s.call('PUT', '/v1/users/alice/preferences/order.shipped', preference, mine)).status, 200)
  assert.equal((await s.call('PUT', '/v1/users/alice/preferences/order.shipped', preference, theirs)).status, 403)
  assert.equal((await s.call('GET', `/v1/notifications/${body.id}`, undefined, mine)).status, 200)
  assert.equal((await s.call('GET', `/v1/notifications/${body.id}`, undefined, theirs)).status, 404)
  assert.equal((await s.call('GET', '/v1/users/alice/inbox', undefined, theirs)).status, 403)
  assert.equal((await s.call('GET', '/v1/dead-letters', undefined, mine)).status, 403)
})

test('recipient fields from identity are merged one by one; an API edit stays until they change', async (t) => {
  const s = await setup()
  t.after(s.close)
  const profile = { userId: 'alice', email: 'alice@old.example', locale: 'en' }
  await s.notify.putRecipient(profile)
  await s.call('PUT', '/v1/recipients/alice', {
    email: 'alice@edited.example',
    phone_number: '+14155550100',
    locale: 'de',
  })
  await s.notify.putRecipient({ ...profile, locale: 'fr' })
  const { body } = await s.call('GET', '/v1/recipients/alice')
  assert.deepEqual(body, {
    user_id: 'alice',
    email: 'alice@edited.example',
    phone_number: '+14155550100',
    locale: 'fr',
  })
  await s.notify.putRecipient({ ...profile, email: 'alice@new.example', locale: 'fr' })
  assert.equal((await s.call('GET', '/v1/recipients/alice')).body.email, 'alice@new.example')
})

test('a template with an unknown filter and an email without a subject are rejected', async (t) => {
  const s = await setup()
  t.after(s.close)
  const filter = await s.call('PUT', '/v1/templates/a/sms/en', { body: '{{ name | shout }}' })
  assert.equal(filter.status, 422)
  assert.match(filter.body.detail, /undefined filter: shout/)
  const email = await s.call('PUT', '/v1/templates/a/email/en', { body: 'Hello' })
  assert.equal(email.status, 422)
  assert.match(email.body.detail, /the subject of an email is missing/)
})

test('a preference for an unknown event type is rejected with the known ones', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const byPath = await s.call('PUT', '/v1/users/alice/preferences/order.lost', { channels: [] })
  const byBody = await s.call('PUT', '/v1/users/alice/preferences', { event_type: 'order.lost', channels: [] })
  for (const { status, body } of [byPath, byBody]) {
    assert.equal(status, 422)
    assert.deepEqual(body.known_event_types, ['order.shipped'])
  }
  assert.equal((await s.call('PUT', '/v1/users/alice/preferences/*', { channels: [] })).status, 200)
})
