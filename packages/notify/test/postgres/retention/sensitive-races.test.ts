import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { ClaimedDelivery } from '../../../src/store/store.ts'
import { type DatabaseServer, postgresDatabase, startDatabaseServer } from '../../support/engine/engine.ts'
import { claimDue } from '../../support/processes/claims.ts'
import { seedEventType, setup } from '../../support/setup.ts'

const rounds = 30

describe('data of sensitive notifications on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'two deliveries of a sensitive event that end at once leave no data behind', async (t) => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const s = await setup({ database, work: false })
    t.after(s.close)
    await seedEventType(s, 'password.reset', { sensitive: true, priority: 'critical' })
    const at = s.clock.now()
    const record = (claimed: readonly ClaimedDelivery[]) =>
      s.store.deliveries.record(
        claimed.map((each) => ({
          claimed: each,
          at,
          what: 'sent',
          detail: {},
          deadTokens: [],
          acknowledged: { provider: 'test' },
          next: { kind: 'done' },
        })),
      )
    const event = { event: 'password.reset', user_id: 'alice', data: { order_id: 'hush' } }
    for (let round = 0; round < rounds; round++) {
      assert.equal((await s.call('POST', '/v1/notify', { ...event, channels: ['email', 'sms'] })).status, 202)
      const claimed = [
        await claimDue(s.store.deliveries, { channel: 'email', now: at }),
        await claimDue(s.store.deliveries, { channel: 'sms', now: at }),
      ]
      assert.deepEqual(
        claimed.map(({ length }) => length),
        [1, 1],
      )
      await Promise.all(claimed.map(record))
    }
    const { rows } = await database.query('SELECT id FROM notify.notification WHERE data IS NOT NULL')
    assert.deepEqual(rows, [])
  })
})
