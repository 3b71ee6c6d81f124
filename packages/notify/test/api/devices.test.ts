import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startApns, startWebPush } from '@gatehouse/fakes'
import { type Database, type Log, type ManagementChange, silentLog } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { defaultOptions, type Provider } from '../../src/index.ts'
import type { NotifyStore } from '../../src/store/store.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../support/engine/engine.ts'
import { buildProvider } from '../support/providers/providers.ts'
import { purgeBuckets } from '../support/purge.ts'
import { type Setup, setup } from '../support/setup.ts'

const dayMs = 86_400_000

function recordingLog() {
  const lines: Array<Record<string, unknown>> = []
  const info = (line: Record<string, unknown>) => lines.push(line)
  return { lines, log: { ...silentLog, info, child: () => silentLog } as unknown as Log }
}

const devicesOf = async ({ call }: Pick<Setup, 'call'>, userId: string) =>
  (await call('GET', `/v1/users/${userId}/devices`)).body.items as Array<Record<string, string>>

test('the list of devices shows since when and why one is dead, until it is registered again', async (t) => {
  const s = await setup()
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'a' })
  const at = s.clock.now() + 5
  await s.store.devices.markDead('alice', 'a', at, 'Unregistered')
  const [device] = await devicesOf(s, 'alice')
  assert.deepEqual([device?.dead_at, device?.dead_reason], [new Date(at).toISOString(), 'Unregistered'])
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'a' })
  const [again] = await devicesOf(s, 'alice')
  assert.deepEqual([again?.dead_at, again?.dead_reason], [undefined, undefined])
})

test('a push token belongs to the user and device that registered it last', async (t) => {
  const s = await setup()
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'shared' })
  await s.call('PUT', '/v1/users/bob/devices/phone', { token: 'shared' })
  assert.deepEqual(await devicesOf(s, 'alice'), [])
  await s.call('PUT', '/v1/users/bob/devices/reinstalled', { token: 'shared' })
  assert.deepEqual(
    (await devicesOf(s, 'bob')).map(({ device_id }) => device_id),
    ['reinstalled'],
  )
  await s.call('PUT', '/v1/users/bob/devices/reinstalled', { token: 'fresh' })
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'shared' })
  assert.equal((await devicesOf(s, 'bob')).length, 1, 'bob no longer had it')
  const { rows } = await s.database.query<{ former_user_id: string | null }>(
    'SELECT former_user_id FROM notify.push_token',
  )
  assert.deepEqual(
    rows.map(({ former_user_id }) => former_user_id),
    [null, null],
    'the owner is not revealed',
  )
})

test('a removed device and an erased user leave no push tokens behind', async (t) => {
  const s = await setup()
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'a' })
  await s.call('PUT', '/v1/users/bob/devices/phone', { token: 'b' })
  await s.call('DELETE', '/v1/users/alice/devices/phone')
  await s.store.privacy.eraseUser('bob')
  assert.equal((await s.database.query('SELECT 1 FROM notify.push_token')).rowCount, 0)
})

test('dead devices are purged with their tokens after the configured days', async (t) => {
  const s = await setup()
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/devices/old', { token: 'a' })
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'b' })
  await s.store.devices.markDead('alice', 'a', s.clock.now(), 'Unregistered')
  const purgeAfter = (days: number) =>
    purgeBuckets(s.store, { ...defaultOptions.retention, deadDeviceDays: 30 }, s.clock.now() + days * dayMs)
  assert.equal(await purgeAfter(29), 0)
  assert.equal(await purgeAfter(31), 1)
  assert.deepEqual(
    (await devicesOf(s, 'alice')).map(({ device_id }) => device_id),
    ['phone'],
  )
  assert.equal((await s.database.query('SELECT 1 FROM notify.push_token')).rowCount, 1)
})

test('a device beyond the limit removes the device unseen for the longest time and names it', async (t) => {
  const log = recordingLog()
  const s = await setup({ log: log.log, options: { devicesPerUser: 2 } })
  t.after(s.close)
  const put = (device: string) => s.call('PUT', `/v1/users/alice/devices/${device}`, { token: `token of ${device}` })
  const named = async () => (await devicesOf(s, 'alice')).map(({ device_id }) => device_id)
  await put('phone')
  s.clock.advance(1_000)
  await put('tablet')
  s.clock.advance(1_000)
  assert.equal((await put('phone')).body.dropped_devices, undefined, 'its token is registered again: no device more')
  s.clock.advance(1_000)
  assert.deepEqual((await put('watch')).body.dropped_devices, ['tablet'])
  assert.deepEqual(await named(), ['watch', 'phone'])
  assert.deepEqual(
    log.lines.flatMap(({ user, devices, limit }) => (devices ? [{ user, devices, limit }] : [])),
    [{ user: 'alice', devices: ['tablet'], limit: 2 }],
  )
  assert.equal((await s.database.query('SELECT 1 FROM notify.push_token')).rowCount, 2)
  assert.equal((await s.database.query('SELECT 1 FROM notify.cap')).rowCount, 0, 'the lock leaves nothing behind')
})

test('a dead device is removed before a live one', async (t) => {
  const s = await setup({ options: { devicesPerUser: 2 } })
  t.after(s.close)
  const put = (device: string) => s.call('PUT', `/v1/users/alice/devices/${device}`, { token: `token of ${device}` })
  await put('phone')
  s.clock.advance(1_000)
  await put('tablet')
  await s.store.devices.markDead('alice', 'token of tablet', s.clock.now(), 'Unregistered')
  assert.deepEqual((await put('watch')).body.dropped_devices, ['tablet'])
})

test('a device that the management removes by registering another one is in the audit trail', async (t) => {
  const changes: ManagementChange[] = []
  const recordChange = async (change: ManagementChange) => void changes.push(change)
  const s = await setup({ recordChange, options: { devicesPerUser: 1 } })
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/devices/phone', { token: 'a' })
  await s.call('PUT', '/v1/users/alice/devices/tablet', { token: 'b', service: 'apns' })
  assert.deepEqual(changes.map(({ action, target, before }) => [action, target.id, before]).at(-1), [
    'devices.drop',
    'alice/phone',
    { service: 'fcm' },
  ])
})

test('a token that no provider of its service can send to is rejected at registration', async (t) => {
  const fake = await startWebPush()
  const { publicKey: public_key, privateKey: private_key } = fake
  const keys = { public_key, private_key, subject: 'mailto:ops@example.com' }
  const web = buildProvider({ provider: 'web-push', ...keys, hosts: ['127.0.0.1'], allow_private: true })
  const anything: Provider = {
    ...web,
    name: 'other',
    supports: ({ service }) => service === 'huawei',
    checkToken: () => undefined,
  }
  const s = await setup({ providers: { push: [web, anything] } })
  t.after(async () => {
    await s.close()
    await fake.stop()
  })
  const put = (body: object) => s.call('PUT', '/v1/users/alice/devices/browser', body)
  const refused = await put({ service: 'web', token: 'not a subscription' })
  assert.equal(refused.status, 400)
  assert.equal(refused.body.errors[0].pointer, '/token')
  assert.match(refused.body.detail, /Web Push subscription as JSON/)
  assert.equal((await put({ service: 'web', token: fake.subscribe() })).status, 200)
  assert.equal((await put({ service: 'huawei', token: 'whatever' })).status, 200)
})

test('declared devices are validated like registered ones', async (t) => {
  const fake = await startApns()
  const database = await notifyDatabase()
  const { key, keyId: key_id, teamId: team_id, topic, url } = fake
  const apns = buildProvider({ provider: 'apns', key, key_id, team_id, topic, url })
  t.after(async () => {
    await apns.close?.()
    await fake.stop()
    await database.close()
  })
  const declare = (token: string) => {
    const devices = [
      { device_id: 'phone', token, service: 'apns' },
      { device_id: 'other', token: 'anything', service: 'huawei' },
    ]
    const declared = { recipients: [{ user_id: 'alice', devices }] }
    return setup({ database, providers: { push: [apns] }, declared })
  }
  await assert.rejects(declare('not hexadecimal'), (error: Error) => {
    assert.ok(error instanceof RangeError)
    assert.equal(
      error.message,
      "recipients, alice: the token of the device phone must be Apple's device token in hexadecimal digits",
    )
    return true
  })
  const s = await declare('ab'.repeat(32))
  assert.equal((await devicesOf(s, 'alice')).length, 2)
  await s.http.close()
  await s.notify.stop()
})

describe('devices on one PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  const withStores = (
    title: string,
    body: (context: { stores: readonly [NotifyStore, NotifyStore]; database: Database }) => Promise<void>,
  ) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database, { buckets: 4 })
      const stores = [
        postgresNotifyStore(database, { buckets: 4 }),
        postgresNotifyStore(database, { buckets: 4 }),
      ] as const
      try {
        await body({ stores, database })
      } finally {
        await database.close()
      }
    })

  const holdersOf = async (store: NotifyStore, users: readonly string[], token: string) => {
    const lists = await Promise.all(users.map((user) => store.devices.list(user)))
    return users.filter((_, index) => lists[index]?.some((device) => device.token === token))
  }

  withStores('of twenty who register one push token at once exactly one keeps it', async ({ stores }) => {
    const users = Array.from({ length: 20 }, (_, index) => `user-${index}`)
    for (let round = 0; round < 5; round++) {
      const token = `shared-${round}`
      const device = { deviceId: 'phone', token, service: 'fcm' }
      await Promise.all(users.map((user, index) => stores[index % 2 === 0 ? 0 : 1].devices.put(user, device, 1_000)))
      assert.equal((await holdersOf(stores[0], users, token)).length, 1)
    }
  })

  withStores('of fifty devices that a user registers at once as many stay as allowed', async ({ stores, database }) => {
    const limit = 5
    for (let round = 0; round < 3; round++) {
      const user = `user-${round}`
      const put = (index: number, of: string) =>
        stores[index % 2 === 0 ? 0 : 1].devices.put(
          of,
          { deviceId: `device-${index}`, token: `token-${round}-${index % 40}`, service: 'fcm' },
          1_000 + index,
          limit,
        )
      const dropped = await Promise.all(
        Array.from({ length: 50 }, (_, index) => put(index, index % 10 === 9 ? `other-${round}` : user)),
      )
      for (const each of [user, `other-${round}`]) {
        const kept = await stores[0].devices.list(each)
        assert.ok(kept.length <= limit, `${each} has ${kept.length}`)
      }
      assert.ok(dropped.flat().length >= 30)
    }
    const placesIn = async (table: string, hash: string) => {
      const { rows } = await database.query<{ place: string }>(
        `SELECT concat_ws(' ', ${hash}, user_id, device_id) AS place FROM notify.${table} ORDER BY 1`,
      )
      return rows.map(({ place }) => place)
    }
    const devices = await placesIn('device', "encode(sha256(convert_to(token, 'UTF8')), 'hex')")
    assert.deepEqual(await placesIn('push_token', 'token_hash'), devices, 'every token is where its device is')
    assert.equal((await database.query('SELECT 1 FROM notify.cap')).rowCount, 0)
  })

  withStores('two devices that swap their push tokens at once each end with the other one', async ({ stores }) => {
    const put = (index: 0 | 1, user: string, token: string) =>
      stores[index].devices.put(user, { deviceId: 'phone', token, service: 'fcm' }, 1_000)
    for (let round = 0; round < 20; round++) {
      await put(0, 'alice', 'one')
      await put(0, 'bob', 'two')
      await Promise.all([put(0, 'alice', 'two'), put(1, 'bob', 'one')])
      for (const token of ['one', 'two'])
        assert.equal((await holdersOf(stores[0], ['alice', 'bob'], token)).length, 1, token)
    }
  })

  withStores(
    'a device that registers again while it is called gone stays alive, whichever comes first',
    async ({ stores }) => {
      const device = { deviceId: 'phone', token: 'a', service: 'fcm' }
      for (let round = 0; round < 50; round++) {
        const user = `user-${round}`
        await stores[0].devices.put(user, device, 1_000)
        await Promise.all([
          stores[0].devices.markDead(user, 'a', 2_000, 'Unregistered'),
          stores[1].devices.put(user, device, 3_000),
        ])
        const [kept] = await stores[0].devices.list(user)
        assert.equal(kept?.deadAt, undefined)
      }
    },
  )

  withStores(
    'a device that was registered after it was called gone stays alive; one from before is dead',
    async ({ stores }) => {
      const [{ devices }] = stores
      await devices.put('alice', { deviceId: 'phone', token: 'a', service: 'apns' }, 5_000)
      assert.equal(await devices.markDead('alice', 'a', 4_999, 'Unregistered'), false)
      assert.equal(await devices.markDead('alice', 'b', 9_000, 'Unregistered'), false, 'that token is gone already')
      assert.equal(await devices.markDead('alice', 'a', 5_000, 'Unregistered'), true)
      assert.equal(await devices.markDead('alice', 'a', 6_000, 'Unregistered'), false, 'it was dead before')
    },
  )

  withStores('of a user who is erased while they register no push token is left', async ({ stores, database }) => {
    for (let round = 0; round < 20; round++) {
      const devices = [0, 1, 2].map((n) => ({ deviceId: `${n}`, token: `token-${round}-${n}`, service: 'fcm' }))
      await Promise.all([
        ...devices.map((device) => stores[0].devices.put('alice', device, 1_000)),
        stores[1].privacy.eraseUser('alice'),
        stores[1].privacy.eraseUser('alice'),
      ])
      const kept = await stores[0].devices.list('alice')
      const { rowCount: tokens } = await database.query("SELECT FROM notify.push_token WHERE user_id = 'alice'")
      assert.equal(tokens, kept.length, 'every token is that of a device')
    }
  })

  withStores(
    'a dead device that registers again while it is purged is there afterwards',
    async ({ stores, database }) => {
      const device = { deviceId: 'phone', token: 'a', service: 'fcm' }
      const at = Date.UTC(2026, 0, 1)
      const retention = { ...defaultOptions.retention, deadDeviceDays: 1 }
      for (let round = 0; round < 20; round++) {
        await stores[0].devices.put('alice', device, at)
        await stores[0].devices.markDead('alice', 'a', at, 'Unregistered')
        const { rows } = await database.query<{ bucket: number }>('SELECT bucket FROM notify.device')
        await Promise.all([
          stores[0].privacy.purge(rows[0]?.bucket ?? 0, retention, at + 3 * dayMs),
          stores[1].devices.put('alice', device, at + 3 * dayMs),
        ])
        const [kept] = await stores[0].devices.list('alice')
        assert.equal(kept?.deadAt, undefined)
        assert.ok(kept)
        assert.equal((await database.query('SELECT 1 FROM notify.push_token')).rowCount, 1)
      }
    },
  )
})
