import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { seedEventType, setup } from '../support/setup.ts'

test('the standing of a user shows caps, quiet hours, gathered events and what reaches them', async (t) => {
  const now = Date.parse('2026-06-01T21:00:00Z')
  const caps = { total: 5, channels: { sms: 2 }, priorities: { low: 1 } }
  const options = { caps, channelsOff: ['push'] as const, zone: 'UTC' }
  const s = await setup({ work: false, tables: { buckets: 4 }, clock: manualClock(now), options })
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'photo.liked', { channels: ['email'], aggregation: { threshold: 3, actor: 'actor' } })
  const standing = async (user: string, scopes?: string) =>
    s.call('GET', `/v1/users/${user}/standing`, undefined, scopes)
  assert.deepEqual((await standing('nobody')).body, {
    caps: [
      { cap: 'total', limit: 5, used: 0 },
      { cap: 'channel:sms', limit: 2, used: 0 },
      { cap: 'priority:low', limit: 1, used: 0 },
    ],
    quiet_now: false,
    open_windows: [],
    reachable: { push: 'channel_off', email: 'no_email_address', sms: 'no_phone_number', 'in-app': 'reachable' },
  })
  const data = { order_id: 'A-1', actor: 'ann' }
  const sms = { event: 'order.shipped', user_id: 'alice', data, channels: ['sms'] }
  await s.call('POST', '/v1/notify', sms)
  for (const actor of ['ann', 'bob'])
    await s.call('POST', '/v1/notify', { event: 'photo.liked', user_id: 'alice', data: { ...data, actor } })
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'Europe/Berlin' })
  await s.call('PUT', '/v1/users/alice/preferences/*', {
    channels: ['email', 'sms'],
    quiet_hours: { start: '22:00', end: '07:00' },
  })
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', reason: 'bounced' })
  const { body } = await standing('alice')
  const at = (ms: number) => new Date(ms).toISOString()
  assert.deepEqual(body, {
    caps: [
      { cap: 'total', limit: 5, used: 1, resets_at: at(now + 86_400_000) },
      { cap: 'channel:sms', limit: 2, used: 1, resets_at: at(now + 86_400_000) },
      { cap: 'priority:low', limit: 1, used: 0 },
    ],
    quiet_now: true,
    quiet_until: '2026-06-02T05:00:00.000Z',
    open_windows: [{ event: 'photo.liked', items: 2, flush_at: at(now + 300_000) }],
    reachable: { push: 'channel_off', email: 'address_suppressed', sms: 'no_phone_number', 'in-app': 'preference' },
  })
  s.clock.advance(86_400_000)
  assert.deepEqual((await standing('alice')).body.caps[0], { cap: 'total', limit: 5, used: 0 })
  assert.equal((await standing('alice', 'user:alice write:preferences')).status, 200)
  assert.equal((await standing('alice', 'user:bob write:preferences')).status, 403)
  assert.equal((await standing('alice', 'read:delivery')).status, 200)
  assert.equal((await standing('alice', 'write:notifications')).status, 403)
})
