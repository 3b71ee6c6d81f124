/**
 * Benchmark `claim-under-snapshot`: what a claim costs while an old snapshot is open (a backup, an analyst), which keeps
 * every index entry of what was delivered since. 200,000 deliveries pass under one open snapshot, on PostgreSQL with fsync
 * on; the peer is the same claim before the snapshot was opened. The ratio is healthy by sick: 0.5 is the target.
 *
 * Deliveries are written to the work table directly, claimed 200 at a time (busy: more wait than are claimed) or ten at a
 * time (calm: all that waits is claimed), and recorded as sent, all with the statements of the service. Buffers and time
 * are PostgreSQL's own count of the claim's statements (pg_stat_statements): the mean of all claims of a phase, those that
 * look back behind their marks among them.
 */
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'
import { startPostgres } from '@gatehouse/testing'
import pg from 'pg'
import { type BenchmarkResult, timesAsMuch } from '../benchmark.ts'
import { claimCosts, type Traffic, traffic } from '../notify/claims.ts'

const settings = [
  'fsync=on',
  'synchronous_commit=on',
  'shared_buffers=512MB',
  'max_wal_size=4GB',
  'shared_preload_libraries=pg_stat_statements',
]
const deliveries = 200_000

const phases = [
  { name: 'busy', deliveries: 60_000, waiting: 2_000, limit: 200 },
  { name: 'calm', deliveries: 6_000, waiting: 10, limit: 200 },
] as const

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings })
  const database = await openPostgres({ url: new Secret(postgres.url), log: silentLog, connections: 4 })
  try {
    await migrateNotify(database)
    await database.query('CREATE EXTENSION pg_stat_statements')
    const passing = traffic(database, postgresNotifyStore(database).deliveries)
    await passing.deliver({ deliveries: 20_000, waiting: 2_000, limit: 200 })
    const healthy = await measure(passing, 'healthy')
    const analyst = new pg.Client({ connectionString: postgres.url })
    await analyst.connect()
    await analyst.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await analyst.query('SELECT count(*) FROM notify.delivery_queue')
    await passing.deliver({ deliveries, waiting: 2_000, limit: 200 })
    const sick = await measure(passing, `after ${deliveries} deliveries under an open snapshot`)
    await analyst.end()
    return {
      bench: 'claim-under-snapshot',
      ours: sick.busy.buffers,
      peer: healthy.busy.buffers,
      ratio: timesAsMuch(healthy.busy.buffers, sick.busy.buffers),
      unit: 'buffers a claim of 200, the peer being the healthy one',
      ms: sick.busy.ms,
      ms_peer: healthy.busy.ms,
      calm: sick.calm.buffers,
      calm_peer: healthy.calm.buffers,
    }
  } finally {
    await database.close()
    await postgres.stop()
  }

  async function measure(passing: Traffic, when: string) {
    const costs = { busy: { buffers: 0, ms: 0 }, calm: { buffers: 0, ms: 0 } }
    for (const { name, ...load } of phases) {
      const before = await claimCosts(database)
      await passing.deliver(load)
      const after = await claimCosts(database)
      const calls = after.calls - before.calls
      const buffers = Math.round((after.buffers - before.buffers) / calls)
      const ms = Math.round(((after.ms - before.ms) / calls) * 100) / 100
      costs[name] = { buffers, ms }
      console.log(`${when}, ${name}: ${calls} claims, on average ${buffers} buffers and ${ms} ms`)
    }
    return costs
  }
}
