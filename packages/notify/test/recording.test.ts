import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import type { Provider } from '../src/index.ts'
import { provider as carrier, shipped, stateOf } from './carrier.ts'
import { eventually, furnish, setup } from './setup.ts'

describe('what became of deliveries is stored beside the calls', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'the next call is made while the outcome of the last can not be stored yet', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const storing = holding(database)
    const called: string[] = []
    const provider: Provider = {
      ...carrier,
      async send(messages, signal) {
        called.push(...messages.map(({ id }) => id))
        if (called.length === 1) await storing.hold()
        else storing.release()
        return carrier.send(messages, signal)
      },
    }
    const s = await setup({
      database,
      providers: { email: [provider] },
      options: { concurrency: { push: 1, email: 1, sms: 1, 'in-app': 1 } },
    })
    try {
      await furnish(s)
      const ids = await Promise.all(
        ['A-1', 'A-2'].map(
          async (order_id) => (await s.call('POST', '/v1/notify', { ...shipped, data: { order_id } })).body.id,
        ),
      )
      for (const id of ids)
        await eventually(
          () => stateOf(s, id),
          (state) => state === 'sent',
        )
      assert.equal(called.length, 2, 'each was handed to the provider once')
    } finally {
      storing.release()
      await s.close()
    }
  })
})

/** Keeps the rows of all queued deliveries locked, so that nothing can be stored of them. */
function holding(database: Database) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  return {
    release,
    async hold() {
      const { promise: isHeld, resolve: held } = Promise.withResolvers<void>()
      database.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM notify.work FOR UPDATE')
        held()
        await released
      })
      await isHeld
    },
  }
}
