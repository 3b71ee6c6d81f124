import assert from 'node:assert/strict'
import { test } from 'node:test'
import { furnish, setup } from './setup.ts'

const own = 'user:alice write:preferences'

test('a user is shown the channels of every event type, and what holds for each', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await furnish(s, 'order.shipped', { channels: ['email'], title: 'Your order is on its way' })
  await s.call('PUT', '/v1/event-types/account.reset', { channels: ['email'], sensitive: true })
  await s.call('PUT', '/v1/users/alice/preferences/*', { channels: ['push'] })
  const answer = await s.call('GET', '/v1/users/alice/choices', undefined, own)
  assert.deepEqual(answer.body, {
    unsubscribed: false,
    event_types: [
      {
        event: 'order.shipped',
        title: 'Your order is on its way',
        critical: false,
        channels: [
          { channel: 'push', on: true },
          { channel: 'email', on: false },
          { channel: 'sms', on: false },
          { channel: 'in-app', on: false },
        ],
      },
    ],
  })
  assert.equal(
    (await s.call('GET', '/v1/users/alice/choices', undefined, 'user:mallory write:preferences')).status,
    403,
  )
})

test('a choice is a preference, and taking a channel back lifts what was unsubscribed from', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await furnish(s)
  await s.call('PUT', '/v1/users/alice/preferences/order.shipped', { quiet_hours: { start: '10:00', end: '11:00' } })
  const choose = async (channels: string[]) => s.call('PUT', '/v1/users/alice/choices/order.shipped', { channels }, own)
  const suppressed = { user_id: 'alice', channel: 'email', scope: 'order.shipped', reason: 'unsubscribed' }
  await s.call('POST', '/v1/suppressions', suppressed)
  const send = async () =>
    (await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'alice', data: {} })).body.deliveries.map(
      ({ channel, outcome }: { channel: string; outcome: string }) => `${channel} ${outcome}`,
    )
  assert.ok((await send()).includes('email undeliverable'))
  await choose(['email', 'in-app'])
  assert.deepEqual(await send(), ['email queued', 'in-app queued'])
  const stored = await s.call('GET', '/v1/users/alice/preferences/order.shipped')
  assert.deepEqual(stored.body.quiet_hours, { start: '10:00', end: '11:00' }, 'quiet hours stay')
  assert.equal((await s.call('PUT', '/v1/users/alice/choices/unknown', { channels: [] }, own)).status, 422)
})

test('whoever unsubscribes from everything gets what is critical alone, until they subscribe again', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await furnish(s, 'order.shipped')
  await furnish(s, 'security.alert', { channels: ['email'], priority: 'critical' })
  const all = async (unsubscribed: boolean) => s.call('PUT', '/v1/users/alice/choices', { unsubscribed }, own)
  const email = async (event: string) =>
    (await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: {}, channels: ['email'] })).body.deliveries[0]
      .outcome
  assert.equal((await all(true)).body.unsubscribed, true)
  assert.deepEqual([await email('order.shipped'), await email('security.alert')], ['undeliverable', 'queued'])
  assert.equal((await all(false)).body.unsubscribed, false)
  assert.equal(await email('order.shipped'), 'queued')
})
