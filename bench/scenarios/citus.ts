/**
 * Benchmark `citus`: what a notification costs on Citus, one coordinator and two workers on this machine with 32 buckets,
 * divided by what it costs on plain PostgreSQL with one bucket. Events of 10,000 users, one mail each, 500 of them under
 * way at any time, one by one as producers send them; a provider in this process that answers at once; fsync on. Equal on
 * both sides: the program, its connections, the durability of every node. Not equal: a commit on Citus goes from the
 * coordinator to a worker, and there are three servers, whose processor time is added up.
 *
 * Costs are processor time, since other work on the machine reaches both sides alike.
 */
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { distributeNotify } from '@gatehouse/notify/postgres'
import { createCitusDatabase, startCitus, startPostgres } from '@gatehouse/testing'
import { type BenchmarkResult, timesAsMuch } from '../benchmark.ts'
import { cpuOf } from '../notify/cpu.ts'
import { eventOf } from '../notify/event.ts'
import { instantProvider } from '../notify/instant.ts'
import { service } from '../notify/service.ts'

const [warm, events, underWay, users] = [3_000, 10_000, 500, 10_000]
const settings = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=256MB', 'max_wal_size=4GB']

/** Processor time of an event, in microseconds. */
interface Cost {
  readonly process: number
  readonly servers: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const peer = await costOnPostgres()
  const ours = await costOnCitus(32)
  const sum = ({ process, servers }: Cost) => process + servers
  for (const [name, cost] of Object.entries({ 'plain, 1 bucket': peer, 'Citus, 32 buckets': ours }))
    console.log(`${name.padEnd(18)} ${cost.process} µs of the process, ${cost.servers} µs of the servers`)
  return {
    bench: 'citus',
    ours: sum(ours),
    peer: sum(peer),
    ratio: timesAsMuch(sum(ours), sum(peer)),
    unit: 'µs of processor time each, accepted and delivered; less is better',
    ours_process: ours.process,
    peer_process: peer.process,
  }
}

async function costOnPostgres(): Promise<Cost> {
  const postgres = await startPostgres({ settings })
  try {
    return await costOf(postgres.url, 1, [postgres.process.pid])
  } finally {
    await postgres.stop()
  }
}

async function costOnCitus(buckets: number): Promise<Cost> {
  const citus = await startCitus({ settings })
  try {
    const url = await createCitusDatabase(citus.nodes)
    const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
    await distributeNotify(database, { buckets })
    await database.close()
    return await costOf(
      url,
      buckets,
      [citus.coordinator, ...citus.workers].map((node) => node.process.pid),
    )
  } finally {
    await citus.stop()
  }
}

/** Accepts and delivers events, so many under way at any time, and measures once everything runs as it will. */
async function costOf(url: string, buckets: number, servers: readonly (number | undefined)[]): Promise<Cost> {
  const { provider, waitForAccepted } = instantProvider()
  const running = await service({ url, users, buckets, providers: { email: [provider] }, work: true })
  const send = async (run: string, count: number) => {
    let next = 0
    const one = async () => {
      while (next < count) await running.accept([eventOf(run, next++, users)])
    }
    await Promise.all(Array.from({ length: underWay }, one))
  }
  const cpuOfServers = () => servers.map(cpuOf).reduce((sum, each) => sum + each, 0)
  await send('warm', warm)
  await waitForAccepted(warm)
  const before = { process: process.cpuUsage(), servers: cpuOfServers() }
  await send('run', events)
  await waitForAccepted(warm + events)
  const { user, system } = process.cpuUsage(before.process)
  const cost = {
    process: Math.round((user + system) / events),
    servers: Math.round(((cpuOfServers() - before.servers) * 1_000) / events),
  }
  await running.stop()
  return cost
}
