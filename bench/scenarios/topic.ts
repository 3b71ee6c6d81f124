/**
 * Benchmark `topic`: what events cost NATS and a process that reads them, on their way from a producer through JetStream
 * to an acknowledgement. One server with one replica, and a cluster of three with three; one reading process, two that
 * share, and two with 16 partitions each read by one; producers that publish one event at a time ("thin": each waits for
 * its acknowledgement, 16 at once) and in bulk (500 at once). Events are of 1,000 users and 250 bytes. The commit is
 * imaginary: the accept path has its own benchmarks.
 *
 * There is no peer: `ratio` is what NATS spends with one replica divided by what it spends with three. Processor time of
 * all servers is counted, also that of replicating. All share the machine's cores with the producer.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startNats, startNatsCluster } from '@gatehouse/testing'
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { BenchmarkResult } from '../benchmark.ts'
import { cpuOf } from '../notify/cpu.ts'

const [count, users, partitions] = [20_000, 1_000, 16]
const [thin, bulk] = [16, 500]
const program = 'nats-server-2.15'

interface Shape {
  readonly replicas: 1 | 3
  readonly readers: number
  /** Events that a producer has under way at once. */
  readonly atOnce: number
  readonly isDivided: boolean
  /** Whether the producer names the user in the body alone. */
  readonly isMoved?: boolean
}

interface Cost {
  readonly perSecond: number
  readonly natsUs: number
  readonly readerUs: number
  /** Messages in each imaginary commit. */
  readonly batch: number
}

const shapes: readonly Shape[] = ([1, 3] as const).flatMap((replicas) => [
  { replicas, readers: 1, atOnce: bulk, isDivided: false },
  { replicas, readers: 2, atOnce: bulk, isDivided: false },
  { replicas, readers: 1, atOnce: thin, isDivided: false },
  { replicas, readers: 2, atOnce: bulk, isDivided: true },
  { replicas, readers: 2, atOnce: bulk, isDivided: true, isMoved: true },
])

export async function benchmark(): Promise<BenchmarkResult> {
  const costs = new Map<Shape, Cost>()
  for (const shape of shapes) {
    const cost = await measure(shape)
    costs.set(shape, cost)
    const { replicas, readers, atOnce, isDivided, isMoved } = shape
    const how = isMoved ? `${partitions} partitions, moved` : isDivided ? `${partitions} partitions` : 'shared'
    console.log(
      `${replicas} replicas, ${readers} readers, ${how}, ${atOnce} at once: ${Math.round(cost.perSecond)}/s, ` +
        `µs each: NATS ${Math.round(cost.natsUs)}, reader ${Math.round(cost.readerUs)}; ${Math.round(cost.batch)} a commit`,
    )
  }
  const [one, three] = [costs.get(shapes[0] as Shape), costs.get(shapes[shapes.length / 2] as Shape)]
  return {
    bench: 'topic',
    ours: Math.round(three?.natsUs ?? 0),
    peer: Math.round(one?.natsUs ?? 0),
    ratio: Math.round(((one?.natsUs ?? 0) / (three?.natsUs ?? 1)) * 100) / 100,
    unit: 'µs of NATS each, ours with three replicas, the peer with one',
    per_second_one: Math.round(one?.perSecond ?? 0),
    per_second_three: Math.round(three?.perSecond ?? 0),
  }
}

async function measure(shape: Shape): Promise<Cost> {
  const servers = await start(shape)
  const children: ChildProcess[] = []
  const nats = () => servers.pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
  try {
    for (let n = 0; n < shape.readers; n++) children.push(await startReader(servers.url, shape, n))
    const before = { natsMs: nats(), at: performance.now() }
    await publish(servers.url, shape)
    const reports = await drained(children)
    const seconds = (performance.now() - before.at) / 1_000
    const sum = (pick: (report: Report) => number) => reports.reduce((all, report) => all + pick(report), 0)
    return {
      perSecond: count / seconds,
      natsUs: ((nats() - before.natsMs) * 1_000) / count,
      readerUs: sum(({ cpuUs }) => cpuUs) / count,
      batch: count / sum(({ batches }) => batches),
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await servers.stop()
  }
}

interface Servers {
  readonly url: string
  readonly pids: readonly number[]
  stop(): Promise<void>
}

async function start({ replicas }: Shape): Promise<Servers> {
  if (replicas === 1) {
    const { url, process, stop } = await startNats({ program })
    return { url, pids: [process.pid ?? 0], stop }
  }
  const { url, nodes, stop } = await startNatsCluster({ program })
  return { url, pids: nodes.map(({ pid = 0 }) => pid), stop }
}

interface Report {
  readonly read: number
  readonly batches: number
  readonly cpuUs: number
}

async function startReader(url: string, shape: Shape, n: number): Promise<ChildProcess> {
  const streams = { replicas: shape.replicas }
  const options = { intake: streams, changes: streams, partitions: { count: shape.isDivided ? partitions : 1 } }
  const owned = Array.from({ length: partitions }, (_, partition) => partition).filter((p) => p % shape.readers === n)
  const child = fork(join(import.meta.dirname, '../notify/topic-reader.ts'), [
    url,
    JSON.stringify(options),
    shape.isDivided ? owned.join(',') : '',
  ])
  await once(child, 'message')
  return child
}

async function publish(url: string, { atOnce, isMoved }: Shape): Promise<void> {
  const connection = await connect({ servers: url.split(',').map((each) => each.replace('nats://', '')) })
  const client = jetstream(connection, { timeout: 30_000 })
  const filling = 'x'.repeat(150)
  let next = 0
  const produce = async () => {
    for (let n = next++; n < count; n = next++) {
      const userId = `user-${n % users}`
      const subject = isMoved ? 'notifications' : `notifications.user.${userId}`
      await client.publish(subject, JSON.stringify({ event: 'note', user_id: userId, data: { n, filling } }))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, produce))
  await connection.close()
}

/** Asks the readers until they have everything; answers their last reports. */
async function drained(children: readonly ChildProcess[]): Promise<Report[]> {
  for (;;) {
    const reports = await Promise.all(
      children.map(async (child) => {
        const answer = once(child, 'message')
        child.send('report')
        return (await answer)[0] as Report
      }),
    )
    if (reports.reduce((sum, { read }) => sum + read, 0) >= count) return reports
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
