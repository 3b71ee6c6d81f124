import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createMetrics, type Database, silentLog, systemClock } from '@gatehouse/kit'
import { postgresDatabase, startPostgres, testWith } from '@gatehouse/testing'
import { channels, createNotify, type Provider } from '../../../src/index.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'

const maxPerSecond = 20
const measuredMs = 20_000

/** Providers that are never called. */
const providers = Object.fromEntries(
  channels.map((channel) => {
    const provider: Provider = { name: channel, channel, timeoutMs: 1_000, send: async () => assert.fail('a call') }
    return [channel, [provider]]
  }),
)

async function readTransactions(database: Database): Promise<number> {
  // What a connection has done is published at most once a second.
  await pause(2_000)
  const { rows } = await database.query<{ count: number }>(
    'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()',
  )
  return rows[0]?.count ?? 0
}

// At the same time, on servers of their own: each is measured for 20 seconds.
describe('an idle process', { concurrency: 2 }, () => {
  for (const buckets of [1, 256])
    testWith('postgresql', `with ${buckets} buckets makes few transactions`, async (t) => {
      const server = await startPostgres()
      const database = await postgresDatabase(server)
      const tables = await migrateNotify(database, { buckets })
      const notify = await createNotify({
        store: postgresNotifyStore(database, tables),
        providers,
        authenticate: () => assert.fail('nobody asks'),
        clock: systemClock,
        log: silentLog,
        metrics: createMetrics(),
      })
      t.after(async () => {
        await notify.stop()
        await database.close()
        await server.stop()
      })
      await pause(5_000)
      const before = await readTransactions(database)
      const begun = performance.now()
      await pause(measuredMs)
      const transactions = (await readTransactions(database)) - before
      const perSecond = transactions / ((performance.now() - begun) / 1_000)
      console.log(`${buckets} buckets: ${perSecond.toFixed(1)} transactions a second, those of the test included`)
      assert.ok(perSecond <= maxPerSecond, `${perSecond} transactions a second`)
    })
})
