import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../src/index.ts'
import { baseUrl, linkSecret } from '../support/providers/mail-links.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const tokens = /(preferences|unsubscribe)\/v1\./
const [atNoon, atNight] = ['2026-06-01T12:00:00Z', '2026-06-01T23:00:00Z']

const text = {
  subject: 'Order {{ preferences_url }}',
  body: 'Leave: {{ unsubscribe_url }} or {{ preferences_url }}',
}

test('an explanation shows no link with which a user is unsubscribed, now or later', async (t) => {
  const s = await setup({ linkSecret, publicUrl: baseUrl })
  t.after(() => s.close())
  await seedEventType(s, 'order.shipped', { channels: ['email'] })
  await s.call('PUT', '/v1/templates/order.shipped/email/en', text)
  await s.call('PUT', '/v1/users/alice/preferences/order.shipped', { quiet_hours: { start: '22:00', end: '08:00' } })
  const explain = async (at: string) =>
    (await s.call('POST', '/v1/explain', { event: 'order.shipped', user_id: 'alice', data: {}, at })).body
  const [now, night] = [await explain(atNoon), await explain(atNight)]
  assert.equal(now.channels[0].outcome, 'queued', JSON.stringify(now))
  assert.equal(night.channels[0].outcome, 'deferred', JSON.stringify(night))
  const hiddenText = {
    subject: `Order ${baseUrl}/preferences/•••`,
    body: `Leave: ${baseUrl}/unsubscribe/••• or ${baseUrl}/preferences/•••`,
  }
  for (const { subject, body } of [now.channels[0], night.channels[0].later])
    assert.deepEqual({ subject, body }, hiddenText)
  assert.doesNotMatch(JSON.stringify([now, night]), tokens)
})

test('the export of a user has mails without the links with which they are unsubscribed', async (t) => {
  const provider: Provider = {
    name: 'own',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'permanent', code: '550', reason: 'refused' })),
  }
  const s = await setup({ linkSecret, publicUrl: baseUrl, providers: { email: [provider] } })
  t.after(() => s.close())
  await seedEventType(s, 'order.shipped', { channels: ['email'] })
  await s.call('PUT', '/v1/templates/order.shipped/email/en', text)
  await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'alice', data: {} })
  const { data } = await eventually(
    async () => (await s.call('GET', '/v1/users/alice/data')).body,
    ({ data: found }) => found.dead_letter !== undefined,
  )
  assert.match(JSON.stringify(data), /Leave: https:\/\/notify\.example\/unsubscribe\//)
  assert.doesNotMatch(JSON.stringify(data), tokens)
})
