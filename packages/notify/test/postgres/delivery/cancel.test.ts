import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { type Channel, channels } from '../../../src/model/channel.ts'
import {
  type DatabaseServer,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'
import { claimDue } from '../../support/processes/claims.ts'
import { type Setup, seedEventType, setup } from '../../support/setup.ts'

describe('a cancellation and a worker at once', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  const withSetup = (title: string, body: (s: Setup) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      const s = await setup({
        database,
        work: false,
        options: { caps: { total: 1_000, channels: {}, priorities: {} } },
      })
      try {
        await seedEventType(s)
        await body(s)
      } finally {
        await s.close()
      }
    })

  const accept = async ({ call }: Setup, count: number, channel: Channel = 'email'): Promise<string[]> => {
    const events = Array.from({ length: count }, () => ({
      event: 'order.shipped',
      user_id: 'alice',
      data: { order_id: 'A-1' },
      channels: [channel],
    }))
    const answers = await Promise.all(events.map((event) => call('POST', '/v1/notify', event)))
    return answers.map(({ body }) => body.id)
  }

  withSetup('share the deliveries: each is either claimed or cancelled, by one of them', async (s) => {
    const { notifications, deliveries } = s.store
    for (let round = 0; round < 10; round++) {
      const ids = await accept(s, 30)
      const now = s.clock.now()
      const [claimed, again, ...cancelled] = await Promise.all([
        claimDue(deliveries, { channel: 'email', now, limit: 20 }),
        claimDue(deliveries, { channel: 'email', now, limit: 20 }),
        ...[...ids, ...ids].map((id) => notifications.cancel(id, channels, now)),
      ])
      const won = cancelled.flatMap((each, n) => (each?.cancelled.length === 1 ? [ids[n % ids.length]] : []))
      const claimedIds = [...claimed, ...again].map(({ deliveryId }) => deliveryId)
      assert.equal(new Set(won).size, won.length, 'one of two cancellations has it')
      const found = await Promise.all(ids.map((id) => notifications.find(id)))
      for (const each of found) {
        const [delivery] = each?.deliveries ?? []
        const isClaimed = claimedIds.includes(delivery?.id ?? '')
        assert.equal(delivery?.ended === 'cancelled', won.includes(each?.id ?? ''))
        assert.ok(!(isClaimed && delivery?.ended === 'cancelled'), 'nobody sends what is cancelled')
      }
      const left = await claimDue(deliveries, { channel: 'email', now, limit: 100 })
      assert.equal(won.length + claimedIds.length + left.length, ids.length, 'none is lost')
    }
  })

  withSetup('that prevents the fallback of a push do not keep it from being claimed', async (s) => {
    for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
      const [id = ''] = await accept(s, 1, 'push')
      const barrier = createBarrier(place)
      const { notifications } = postgresNotifyStore(withBarrier(barrier, s.database))
      const cancelled = notifications.cancel(id, ['email'], s.clock.now())
      await Promise.race([barrier.reached, cancelled])
      const claimed = await claimDue(s.store.deliveries, { channel: 'push', now: s.clock.now() })
      barrier.lift()
      assert.equal(claimed.length, 1, `the cancellation was stopped before statement ${place}`)
      assert.deepEqual((await cancelled)?.cancelled, ['email'])
      last = barrier.passes
    }
  })

  withSetup('end in one of both when the notification is erased meanwhile', async (s) => {
    const ids = await accept(s, 20)
    const erase = s.store.privacy.eraseUser('alice')
    const results = await Promise.all(ids.map((id) => s.store.notifications.cancel(id, channels, s.clock.now())))
    await erase
    assert.ok(results.every((each) => each === undefined || each.cancelled.length <= 1))
    for (const table of ['timeline_entry', 'delivery', 'delivery_queue', 'notification'])
      assert.equal((await s.database.query(`SELECT FROM notify.${table}`)).rowCount, 0, table)
  })
})
