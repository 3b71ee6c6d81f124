/**
 * Benchmark `lifetime`: what PostgreSQL spends on the whole life of a notification, stage by stage: accepted and sent by one
 * process, numbered in the log of state changes, reported as delivered by its provider, and removed for its age. Events of
 * 10,000 users, one mail each, handed over 500 at a time; a provider in this process that answers at once; fsync on. There
 * is no peer; the targets are 120 µs of processor time and 3.5 kB of write-ahead log in all.
 *
 * Before that, the same where one process accepts and another sends later, which must claim what it sends: it is printed,
 * and not in the sum.
 *
 * The log is counted after a first part of the run, so that pages that are written whole after a checkpoint don't count
 * twice; the checkpoints themselves are not in it. Vacuuming what was removed is printed, but not in the sum.
 */
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { defaultOptions } from '@gatehouse/notify'
import { postgresNotifyStore } from '@gatehouse/notify/postgres'
import { startPostgres } from '@gatehouse/testing'
import type { BenchmarkResult } from '../benchmark.ts'
import { cpuOf } from '../notify/cpu.ts'
import { eventOf } from '../notify/event.ts'
import { instantProvider, numberStateChanges, reportAll } from '../notify/instant.ts'
import { service } from '../notify/service.ts'

const [warm, events, batch, users] = [5_000, 20_000, 500, 10_000]
const settings = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_wal_size=8GB', 'autovacuum=off']
const yearMs = 365 * 86_400_000

interface Cost {
  readonly us: number
  readonly walBytes: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings })
  const database = await openPostgres({ url: new Secret(postgres.url), log: silentLog, connections: 4 })
  const meter = await createMeter(database, postgres.process.pid)
  try {
    await live(postgres.url, database, warm, async (_, work) => work())
    await liveApart(postgres.url, database, async (stage, work) => print(stage, await meter(work)))
    const costs = new Map<string, Cost>()
    await live(postgres.url, database, events, async (stage, work) => {
      costs.set(stage, await meter(work))
    })
    for (const [stage, cost] of costs) print(stage, cost)
    const vacuum = costs.get('vacuum')
    const life = [...costs].flatMap(([stage, cost]) => (stage === 'vacuum' ? [] : [cost]))
    const sum = (pick: (cost: Cost) => number) => life.reduce((all, cost) => all + pick(cost), 0)
    const us = sum((cost) => cost.us)
    return {
      bench: 'lifetime',
      ours: us,
      peer: 120,
      ratio: Math.round((us / 120) * 100) / 100,
      unit: 'µs of PostgreSQL each, the peer being the target; less is better',
      wal_bytes: sum((cost) => cost.walBytes),
      vacuum_us: vacuum?.us ?? 0,
      vacuum_wal_bytes: vacuum?.walBytes ?? 0,
    }
  } finally {
    await database.close()
    await postgres.stop()
  }
}

type Stage = (name: string, work: () => Promise<void>) => Promise<void>

function print(stage: string, { us, walBytes }: Cost): void {
  console.log(`${stage.padEnd(24)} ${us} µs, ${walBytes} bytes of log`)
}

async function accept(to: Awaited<ReturnType<typeof service>>, run: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += batch)
    await to.accept(Array.from({ length: batch }, (_, i) => eventOf(run, n + i, users)))
}

/** Accepted by one process, then sent by another, and removed. */
async function liveApart(url: string, database: Database, stage: Stage): Promise<void> {
  const accepting = await service({ url, users, providers: {}, work: false })
  await stage('accept alone', () => accept(accepting, 'apart', events))
  await accepting.stop()
  const { provider, waitForAccepted } = instantProvider()
  await stage('claim and send', async () => {
    const working = await service({ url, users: 0, providers: { email: [provider] }, work: true })
    await waitForAccepted(events)
    await working.stop()
  })
  await numberStateChanges(database)
  await remove(database)
}

/** Lets notifications live, one stage after the other. */
async function live(url: string, database: Database, count: number, stage: Stage): Promise<void> {
  const { provider, waitForAccepted } = instantProvider()
  const working = await service({ url, users, providers: { email: [provider] }, work: true })
  await stage('accept and send', async () => {
    await accept(working, `life-${count}`, count)
    await waitForAccepted(count)
    await working.stop()
  })
  await stage('number', () => numberStateChanges(database))
  await stage('report', () => reportAll(database, batch))
  await database.query({ text: 'VACUUM ANALYZE', timeoutMs: 600_000 })
  await stage('remove', () => remove(database))
  await stage('vacuum', async () => {
    await database.query({ text: 'VACUUM', timeoutMs: 600_000 })
  })
}

/** Removes all notifications for their age. */
async function remove(database: Database): Promise<void> {
  const { privacy, stateChanges } = postgresNotifyStore(database)
  const later = Date.now() + yearMs
  while ((await privacy.purge(0, defaultOptions.retention, later)) > 0);
  while ((await stateChanges.purge(later, false, 1_000)) > 0);
}

/** Measures what some work on all of the events costs the server, for each of them. */
async function createMeter(
  database: Database,
  server: number | undefined,
): Promise<(work: () => Promise<void>) => Promise<Cost>> {
  const log = async () => {
    const { rows } = await database.query<{ bytes: number }>("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes")
    return Number(rows[0]?.bytes ?? 0)
  }
  return async (work) => {
    const before = { cpuMs: cpuOf(server), log: await log() }
    await work()
    return {
      us: Math.round(((cpuOf(server) - before.cpuMs) * 1_000) / events),
      walBytes: Math.round(((await log()) - before.log) / events),
    }
  }
}
