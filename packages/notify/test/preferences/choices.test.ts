import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { testWith } from '@gatehouse/testing'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../support/engine/engine.ts'
import { seedEventType, setup } from '../support/setup.ts'

const own = 'user:alice write:preferences'

test('a user sees the channels of every event type and the settings that apply', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s, 'order.shipped', { channels: ['email'], title: 'Your order is on its way' })
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

test('a choice is stored as a preference, and choosing a channel lifts its unsubscription', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s)
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

test('a user who unsubscribes from everything gets critical messages only, until resubscribed', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s, 'order.shipped')
  await seedEventType(s, 'security.alert', { channels: ['email'], priority: 'critical' })
  const all = async (unsubscribed: boolean) => s.call('PUT', '/v1/users/alice/choices', { unsubscribed }, own)
  const email = async (event: string) =>
    (await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: {}, channels: ['email'] })).body.deliveries[0]
      .outcome
  assert.equal((await all(true)).body.unsubscribed, true)
  assert.deepEqual([await email('order.shipped'), await email('security.alert')], ['undeliverable', 'queued'])
  assert.equal((await all(false)).body.unsubscribed, false)
  assert.equal(await email('order.shipped'), 'queued')
})

test('one channel is switched and the others stay; setting it both ways at once is rejected', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s)
  const patch = (body: object) => s.call('PATCH', '/v1/users/alice/choices/order.shipped', body, own)
  assert.equal((await patch({ off: ['push'] })).status, 200)
  assert.equal((await patch({ off: ['sms'], on: ['email'] })).status, 200)
  const stored = await s.call('GET', '/v1/users/alice/preferences/order.shipped')
  assert.deepEqual(stored.body.channels, ['email', 'in-app'])
  assert.equal((await patch({ on: ['push'], off: ['push'] })).status, 422)
  assert.equal((await patch({})).status, 400)
  assert.equal((await patch({ on: ['fax'] })).status, 400)
})

describe('choices on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())
  const open = async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    await migrateNotify(database)
    return { database, preferences: postgresNotifyStore(database).preferences }
  }

  testWith('postgresql', 'four windows that switch one channel each at the same time are all stored', async () => {
    const { database, preferences } = await open()
    const otherwise = ['push', 'email'] as const
    for (let n = 0; n < 20; n++) {
      const user = `user-${n}`
      await Promise.all([
        preferences.switchChannels(user, 'e', { on: [], off: ['push'], otherwise }, 0),
        preferences.switchChannels(user, 'e', { on: ['sms'], off: [], otherwise }, 0),
        preferences.switchChannels(user, 'e', { on: [], off: ['email'], otherwise }, 0),
        preferences.switchChannels(user, 'e', { on: ['in-app'], off: [], otherwise }, 0),
      ])
      assert.deepEqual(await preferences.list(user), [{ eventType: 'e', channels: ['sms', 'in-app'] }])
    }
    await database.close()
  })

  testWith(
    'postgresql',
    'quiet hours and channels that are set for all event types at once are both stored',
    async () => {
      const { database, preferences } = await open()
      const quietHours = { start: '22:00', end: '07:00' }
      for (let n = 0; n < 20; n++) {
        const user = `user-${n}`
        await Promise.all([
          preferences.setQuietHours(user, quietHours, 0),
          preferences.switchChannels(user, '*', { on: [], off: ['push'], otherwise: ['push', 'email'] }, 0),
        ])
        assert.deepEqual(await preferences.list(user), [{ eventType: '*', channels: ['email'], quietHours }])
        await Promise.all([
          preferences.setQuietHours(user, undefined, 0),
          preferences.switchChannels(user, '*', { on: ['sms'], off: [], otherwise: [] }, 0),
        ])
        assert.deepEqual(await preferences.list(user), [{ eventType: '*', channels: ['email', 'sms'] }])
      }
      await preferences.setQuietHours('bob', quietHours, 0)
      await preferences.setQuietHours('bob', undefined, 0)
      assert.deepEqual(await preferences.list('bob'), [], 'an entry that says nothing goes')
      await database.close()
    },
  )
})
