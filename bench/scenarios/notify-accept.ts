/**
 * Benchmark `notify-accept`: POST /v1/notify, answered 202 once the event is committed, on PostgreSQL with fsync on.
 *
 * There is no peer that does the same; the figure stands against the specification (120,000/s in all) and the target
 * (10,000/s, p99 below 50 ms on 2 cores). The generator (a process of its own, 128 kept-alive connections) and
 * PostgreSQL share the machine's cores with the service. Every request is another event of one of 10,000 users, with a
 * dedup key, on one channel, its text rendered, capped at 1,000 a day so that none is dropped. The bearer check is left
 * out: its benchmark is `bearer`. Workers are off: what delivering costs is in the benchmark `notify`.
 *
 * `p99_ms` is the 99th percentile at half of that load, each request counted from the time when it was due; `p99_full_ms`
 * that at full load; `cpu_us_each_half` and `cpu_us_each` are the processor time of a request at both, PostgreSQL's with
 * it. Also printed: the same at a tenth and at ten times the users, and what Node's own HTTP server reaches here with the
 * same generator when it only parses and answers (`bare_http`): the machine's bound, of which `ratio_bare_http` is our share.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createHttp, type Http, silentLog } from '@gatehouse/kit'
import { startPostgres } from '@gatehouse/testing'
import { type BenchmarkResult, timesAsMuch } from '../benchmark.ts'
import { bareHttp } from '../notify/bare-http.ts'
import { cpuOf } from '../notify/cpu.ts'
import { service } from '../notify/service.ts'

const seconds = 8
const connections = 128
const mainUsers = 10_000
const durable = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_wal_size=4GB']

export async function benchmark(): Promise<BenchmarkResult> {
  const bare = await bareLoad()
  const results: Array<MeasuredLoad & { readonly half: MeasuredLoad }> = []
  for (const users of [mainUsers / 10, mainUsers, mainUsers * 10]) {
    const postgres = await startPostgres({ settings: durable })
    try {
      const notify = await service({ url: postgres.url, users, providers: {}, work: false })
      const http = createHttp({ log: silentLog })
      await http.register((scope) => notify.plugin(scope as Http))
      await http.listen({ port: 0, host: '127.0.0.1' })
      const { port } = http.server.address() as AddressInfo
      await load(port, users, 2)
      const result = await measured(postgres.process.pid, () => load(port, users, seconds))
      console.log(`${String(users).padStart(7)} users: ${Math.round(result.perSecond)}/s, ${row(result)}`)
      if (users !== mainUsers) results.push({ ...result, half: result })
      else {
        const half = await measured(postgres.process.pid, () => load(port, users, seconds, result.perSecond / 2))
        console.log(`at half load: ${row(half)}`)
        results.push({ ...result, half })
      }
      await http.close()
      await notify.stop()
    } finally {
      await postgres.stop()
    }
  }
  const [tenth, main, tenfold] = results
  return {
    bench: 'notify-accept',
    ours: Math.round(main?.perSecond ?? 0),
    peer: 10_000,
    ratio: Math.round((main?.perSecond ?? 0) / 100) / 100,
    unit: 'events/s, the peer being the target',
    ratio_bare_http: timesAsMuch(main?.perSecond ?? 0, bare.perSecond),
    p99_ms: main?.half.p99Ms ?? 0,
    p99_full_ms: main?.p99Ms ?? 0,
    cpu_us_each: cpuOfEach(main),
    cpu_us_each_half: cpuOfEach(main?.half),
    tenth: Math.round(tenth?.perSecond ?? 0),
    tenfold: Math.round(tenfold?.perSecond ?? 0),
    bare_http: Math.round(bare.perSecond),
  }
}

async function bareLoad(): Promise<Load> {
  const server = await bareHttp()
  const { port } = server.address() as AddressInfo
  await load(port, 1, 1)
  const before = process.cpuUsage()
  const result = await load(port, 1, 3)
  const { user, system } = process.cpuUsage(before)
  console.log(
    `bare HTTP server: ${Math.round(result.perSecond)}/s, p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms; ` +
      `${Math.round((user + system) / result.count)} µs each`,
  )
  server.close()
  server.closeAllConnections()
  return result
}

interface Load {
  readonly count: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** A load, and the µs of processor time that each request of it cost. */
interface MeasuredLoad extends Load {
  readonly serviceUs: number
  readonly postgresUs: number
}

async function measured(postgresPid: number | undefined, work: () => Promise<Load>): Promise<MeasuredLoad> {
  const before = { us: process.cpuUsage(), postgres: cpuOf(postgresPid) }
  const result = await work()
  const { user, system } = process.cpuUsage(before.us)
  const each = (us: number) => Math.round(us / result.count)
  return { ...result, serviceUs: each(user + system), postgresUs: each((cpuOf(postgresPid) - before.postgres) * 1_000) }
}

const cpuOfEach = (load: MeasuredLoad | undefined) => (load?.serviceUs ?? 0) + (load?.postgresUs ?? 0)

const row = ({ p50Ms, p99Ms, serviceUs, postgresUs }: MeasuredLoad) =>
  `p50 ${p50Ms} ms, p99 ${p99Ms} ms; µs each: service ${serviceUs}, PostgreSQL ${postgresUs}`

/** Asks from a process of its own, at a rate or as fast as answers come; throws when any answer was not 202. */
async function load(port: number, users: number, forSeconds: number, rate = 0): Promise<Load> {
  const child = fork(join(import.meta.dirname, '../notify/load.ts'), [
    String(port),
    String(users),
    String(connections),
    String(forSeconds),
    String(rate),
  ])
  const [result] = (await once(child, 'message')) as [Load & { failed: number }]
  await once(child, 'exit')
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.count} requests were not answered 202`)
  return result
}
