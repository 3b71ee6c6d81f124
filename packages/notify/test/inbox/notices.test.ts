import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { defaultOptions } from '../../src/config/options.ts'
import { deliveryIdOf, newId } from '../../src/model/id.ts'
import { purgeBuckets } from '../support/purge.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'
import { readStream } from '../support/stream-reader.ts'

const { inboxStreams } = defaultOptions
const item = (userId: string) => ({
  id: deliveryIdOf(newId(0), 'in-app'),
  userId,
  event: 'e',
  body: 'b',
  createdAt: Date.UTC(2026, 0, 1),
})

describe('notices of changed inboxes on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    const settings = ['log_statement=all', 'logging_collector=on', 'log_filename=all.log', 'log_line_prefix=|%v|']
    server = await startPostgres({ settings }).catch(() => undefined)
  })
  after(() => server?.stop())
  const fresh = () => postgresDatabase(server ?? assert.fail('PostgreSQL did not start'), 16)

  testWith('postgresql', 'writing transactions send no notices, and a burst of commits sends few', async () => {
    const database = await fresh()
    const s = await setup({ database })
    try {
      await seedEventType(s)
      const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['in-app'] }
      const { body } = await s.call('POST', '/v1/notify', event)
      await eventually(
        () => s.call('GET', `/v1/notifications/${body.id}`),
        (answer) => answer.body.deliveries[0].state === 'sent',
      )
      await s.store.inbox.change('alice', 'read', {}, s.clock.now())
      await purgeBuckets(s.store, { ...defaultOptions.retention, inboxDays: 0 }, s.clock.now() + 1_000)
      const burst = Array.from({ length: 400 }, (_, n) => s.store.inbox.put([item(`user-${n}`)]))
      await Promise.all(burst)
      const notifying = await eventually(
        async () => (await statementsOf(database)).filter(({ text }) => text.includes('pg_notify')),
        (found) => found.length > 0,
      )
      assert.ok(notifying.length < burst.length / 2, `${notifying.length} notifications for ${burst.length} commits`)
      const all = Map.groupBy(await statementsOf(database), ({ transaction }) => transaction)
      for (const { transaction } of notifying)
        assert.deepEqual(
          all.get(transaction)?.filter(({ text }) => !text.includes('pg_notify')),
          [],
          'a notification is alone in its transaction',
        )
    } finally {
      await s.close()
    }
  })

  testWith('postgresql', 'streams send every change by polling when all notices are lost', async () => {
    const database = await fresh()
    const muted: Database = {
      ...database,
      query(query, values) {
        const text = typeof query === 'string' ? query : query.text
        return text.includes('pg_notify') ? new Promise(() => {}) : database.query(query, values)
      },
    }
    const s = await setup({ database: muted, options: { inboxStreams: { ...inboxStreams, pollMs: 20 } } })
    try {
      const address = await s.http.listen({ port: 0, host: '127.0.0.1' })
      const stream = await readStream(`${address}/v1/users/alice/inbox/stream`, 'user:alice read:notifications')
      await stream.until(({ length }) => length === 1)
      for (let count = 2; count <= 4; count++) {
        await s.store.inbox.put([item('alice')])
        await stream.until(({ length }) => length === count)
      }
      stream.cut()
    } finally {
      await s.close()
    }
  })
})

/** What the server was sent in this database, by the virtual transaction it ran in. */
async function statementsOf(database: Database): Promise<Array<{ transaction: string; text: string }>> {
  const { rows } = await database.query<{ content: string }>("SELECT pg_read_file('log/all.log') AS content")
  const entries = rows[0]?.content.split(/^\|/m) ?? []
  return entries.flatMap((entry) => {
    const [, transaction, text] = /^(\d+\/\d+)\|LOG: {2}(?:statement|execute [^:]*): (.*)/s.exec(entry) ?? []
    return transaction && text && !text.includes('pg_read_file') ? [{ transaction, text }] : []
  })
}
