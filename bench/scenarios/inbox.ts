/**
 * Benchmark `inbox`: open streams of in-app feeds on one process, on PostgreSQL. There is no peer; the figures are memory per
 * stream and the time from the commit of an item to its arrival at a reader.
 *
 * 1,000 users with one stream each; the readers are a process of their own on the same cores. Memory is what the service
 * grew by, after a collection, so sockets' buffers in the kernel are not in it. Every item goes to another user.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createHttp, createMetrics, type Http, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { createNotify } from '@gatehouse/notify'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'
import { startPostgres } from '@gatehouse/testing'
import type { BenchmarkResult } from '../benchmark.ts'

const streams = 1_000
const items = 2_000

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings: ['fsync=on'] })
  const database = await openPostgres({ url: new Secret(postgres.url), log: silentLog })
  await migrateNotify(database)
  const store = postgresNotifyStore(database)
  const notify = await createNotify({
    store,
    providers: {},
    work: false,
    authenticate: (request) => ({
      subject: request.headers.authorization ?? '',
      kind: 'user',
      roles: [],
      scopes: new Set(['read:notifications']),
    }),
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  })
  const http = createHttp({ log: silentLog })
  await http.register((scope) => notify.plugin(scope as Http))
  await http.listen({ port: 0, host: '127.0.0.1' })
  const { port } = http.server.address() as AddressInfo
  const readers = fork(join(import.meta.dirname, '../notify/stream-readers.ts'), [
    String(port),
    String(streams),
    String(items),
  ])
  try {
    const before = memory()
    const opened = once(readers, 'message')
    readers.send('open')
    await opened
    const perStream = (memory() - before) / streams
    const done = once(readers, 'message')
    const cpu = process.cpuUsage()
    for (let n = 0; n < items; n += 10) {
      const at = Date.now()
      await store.inbox.put(
        Array.from({ length: 10 }, (_, i) => {
          const hex = (n + i).toString(16).padStart(12, '0')
          return {
            id: `01980000-0000-7000-8000-${hex}`,
            userId: `u${(n + i) % streams}`,
            event: 'e',
            body: String(at),
            createdAt: at,
          }
        }),
      )
    }
    const [{ p50, p99 }] = (await done) as [{ p50: number; p99: number }]
    const { user, system } = process.cpuUsage(cpu)
    console.log(
      `${streams} streams: ${(perStream / 1024).toFixed(1)} KiB each; an item arrives after p50 ${p50} ms, p99 ${p99} ms`,
    )
    return {
      bench: 'inbox',
      ours: Math.round(perStream),
      peer: 0,
      ratio: 0,
      unit: 'bytes of memory per open stream; no peer',
      p50_ms: p50,
      p99_ms: p99,
      cpu_us_each: Math.round((user + system) / items),
    }
  } finally {
    readers.kill()
    await http.close()
    await notify.stop()
    await database.close()
    await postgres.stop()
  }
}

/** What the process holds once everything that is garbage has gone, in bytes. */
function memory(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
