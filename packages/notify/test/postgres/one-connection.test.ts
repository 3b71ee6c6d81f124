import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { eventually, seedEventType, setup } from '../support/setup.ts'

describe('a pool of one connection to PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith(
    'postgresql',
    'is enough for everything at once: bursts, likes, what is scheduled, and erasure',
    async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'), 1)
      const s = await setup({ database, options: { caps: { total: 1_000, channels: {}, priorities: {} } } })
      try {
        await seedEventType(s, 'order.shipped')
        await seedEventType(s, 'photo.liked', { channels: ['push'], aggregation: { threshold: 2, actor: 'actor' } })
        const order = (n: number) => ({ event: 'order.shipped', user_id: 'alice', data: { order_id: `A-${n}` } })
        const answers = await Promise.all([
          ...Array.from({ length: 20 }, (_, n) => s.call('POST', '/v1/notify', order(n))),
          ...['Ann', 'Bob', 'Chidi'].map((actor) =>
            s.call('POST', '/v1/notify', { event: 'photo.liked', user_id: 'alice', data: { actor, order_id: actor } }),
          ),
        ])
        assert.ok(answers.every(({ status }) => status === 202))
        const fire_at = new Date(s.clock.now() + 1_000).toISOString()
        assert.equal((await s.call('POST', '/v1/scheduled', { fire_at, payload: order(20) })).status, 201)
        s.clock.advance(300_000)
        const messages = async () => (await s.call('GET', '/dev/mailbox')).body.messages.length
        await eventually(messages, (count) => count === 21 * 4 + 1)
        assert.equal((await s.call('DELETE', '/v1/users/alice/data')).status, 200)
      } finally {
        await s.close()
      }
    },
  )
})
