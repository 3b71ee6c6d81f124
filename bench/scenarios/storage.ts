/**
 * Benchmark `storage`: what a million notifications take on disk, table by table, indexes and TOAST included. Events of
 * 100,000 users are accepted, delivered by email and reported as delivered by the provider; each has a dedup key, as
 * short texts as those of `notify`, and no digest. Tables are vacuumed and checkpointed before they are measured.
 */
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { startPostgres } from '@gatehouse/testing'
import type { BenchmarkResult } from '../benchmark.ts'
import { eventOf } from '../notify/event.ts'
import { instantProvider, reportAll } from '../notify/instant.ts'
import { service } from '../notify/service.ts'

const [events, batch, users, million] = [100_000, 500, 100_000, 1_000_000]
/** Tables with less for each event are left out. */
const minBytes = 16

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings: ['shared_buffers=256MB'] })
  const database = await openPostgres({ url: new Secret(postgres.url), log: silentLog, connections: 4 })
  try {
    await deliver(postgres.url)
    await reportAll(database, batch)
    await database.query({ text: 'VACUUM ANALYZE', timeoutMs: 600_000 })
    const { rows } = await database.query<{ name: string; count: number; bytes: number }>(
      `SELECT relname AS name, reltuples::bigint AS count, pg_total_relation_size(oid) AS bytes FROM pg_class
        WHERE relnamespace = 'notify'::regnamespace AND relkind = 'r' AND pg_total_relation_size(oid) >= $1 ORDER BY 3 DESC`,
      [events * minBytes],
    )
    for (const { name, count, bytes } of rows)
      console.log(
        `${name.padEnd(16)} ${Math.round((bytes / events) * (million / 1e6))} MB, ${(count / events).toFixed(1)} rows each`,
      )
    const aging = rows.filter(({ name }) => !['cap', 'recipient', 'outbox'].includes(name))
    const sum = Math.round(aging.reduce((all, { bytes }) => all + bytes, 0) / events)
    return { bench: 'storage', ours: sum, peer: 0, ratio: 0, unit: 'MB per million notifications' }
  } finally {
    await database.close()
    await postgres.stop()
  }
}

async function deliver(url: string): Promise<void> {
  const { provider, waitForAccepted } = instantProvider()
  const notify = await service({ url, users, providers: { email: [provider] }, work: true })
  for (let n = 0; n < events; n += batch)
    await notify.accept(Array.from({ length: batch }, (_, i) => eventOf('storage', n + i, users)))
  await waitForAccepted(events)
  await notify.stop()
}
