/**
 * Benchmark `fleet-model`: compares the model of `npm run simulate:fleet` with a real process on PostgreSQL with fsync on.
 * First the costs of batches of 10 and of 250 events are measured: accepted, and delivered by a provider in this process
 * that answers at once. Then events come at random at several loads; the processor time and the median latency are
 * compared with what the model says by these costs. All of it in one run, so that the noise of the machine is in both.
 *
 * The last line has `measurement`, which `bench/fleet/recorded.json` keeps for the test of the model. `ratio` is the
 * largest of predicted divided by measured processor time.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startPostgres } from '@gatehouse/testing'
import type { BenchmarkResult } from '../benchmark.ts'
import { type Behaviour, compare, type Measurement } from '../fleet/comparison.ts'
import { createRandom } from '../fleet/engine/random.ts'
import type { StepCost } from '../fleet/model/costs.ts'
import { cpuOf } from '../notify/cpu.ts'
import { eventOf } from '../notify/event.ts'
import { instantProvider } from '../notify/instant.ts'
import { service } from '../notify/service.ts'

const users = 10_000
const sizes = [10, 250] as const
const batches = { 10: 80, 250: 16 } as const
const loads = [100, 300, 600]
const [loadMs, tickMs, idleMs] = [8_000, 10, 4_000]

interface Usage {
  readonly process: number
  readonly database: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings: ['fsync=on', 'shared_buffers=512MB', 'max_wal_size=4GB'] })
  try {
    const usage = (): Usage => {
      const { user, system } = process.cpuUsage()
      return { process: user + system, database: cpuOf(postgres.process.pid) * 1_000 }
    }
    const { cost: accept, waitMs } = await costOf(postgres.url, usage, false)
    const { cost: both } = await costOf(postgres.url, usage, true)
    const { idle, behaviours } = await runLoads(postgres.url, usage)
    const measurement: Measurement = {
      machine: '2 shared cores at 2.5 GHz, PostgreSQL 15, fsync on, under the load of others',
      measured: new Date().toISOString().slice(0, 10),
      accept,
      deliver: difference(both, accept),
      waitMs,
      idle,
      behaviours,
    }
    return report(measurement)
  } finally {
    await postgres.stop()
  }
}

function report(measurement: Measurement): BenchmarkResult {
  const ratios: number[] = []
  for (const { measured, predicted, holds } of compare(measurement)) {
    const line = ({ process, database, acceptedP50Ms }: Behaviour) =>
      `process ${process.toFixed(2)}, database ${database.toFixed(2)}, accepted p50 ${acceptedP50Ms.toFixed(1)} ms`
    console.log(`${measured.eventsPerSecond}/s measured:  ${line(measured)}`)
    console.log(`${measured.eventsPerSecond}/s predicted: ${line(predicted)}${holds ? '' : ' (out of tolerance)'}`)
    ratios.push(predicted.process / measured.process, predicted.database / measured.database)
  }
  const ratio = Math.round(Math.max(...ratios) * 100) / 100
  const minRatio = Math.round(Math.min(...ratios) * 100) / 100
  return {
    bench: 'fleet-model',
    ours: ratio,
    peer: 1,
    ratio,
    ratio_min: minRatio,
    unit: 'predicted / measured processor time',
    measurement: JSON.stringify(measurement),
  }
}

/** The cost of a batch and of an event in it, by two sizes of batches, and how long a small one waits beside it. */
async function costOf(url: string, usage: () => Usage, work: boolean) {
  const { provider, waitForAccepted } = instantProvider()
  const notify = await service({ url, users, providers: work ? { email: [provider] } : {}, work })
  let sent = 0
  const run = async (size: number, count: number) => {
    const before = usage()
    const start = performance.now()
    for (let batch = 0; batch < count; batch++) {
      await notify.accept(Array.from({ length: size }, (_, i) => eventOf(`cost-${work}`, sent + i, users)))
      sent += size
      if (work) await waitForAccepted(sent)
    }
    const after = usage()
    return {
      process: (after.process - before.process) / count,
      database: (after.database - before.database) / count,
      elapsedMs: (performance.now() - start) / count,
    }
  }
  // Until the code of both sizes is compiled: what is measured later runs warm too.
  await run(250, 20)
  await run(10, 100)
  const [small, large] = [await run(sizes[0], batches[10]), await run(sizes[1], batches[250])]
  await notify.stop()
  const each = (name: keyof Usage) => Math.max(0, (large[name] - small[name]) / (sizes[1] - sizes[0]))
  const whole = (name: keyof Usage) => Math.max(0, small[name] - sizes[0] * each(name))
  const cost: StepCost = {
    processBatchUs: Math.round(whole('process')),
    processUs: Math.round(each('process')),
    databaseBatchUs: Math.round(whole('database')),
    databaseUs: Math.round(each('database')),
    walBatchBytes: 0,
    walBytes: 0,
  }
  return { cost, waitMs: Math.round(Math.max(0, small.elapsedMs - (small.process + small.database) / 1_000)) }
}

function difference(both: StepCost, accept: StepCost): StepCost {
  const minus = (name: keyof StepCost) => Math.max(0, both[name] - accept[name])
  return {
    processBatchUs: minus('processBatchUs'),
    processUs: minus('processUs'),
    databaseBatchUs: minus('databaseBatchUs'),
    databaseUs: minus('databaseUs'),
    walBatchBytes: 0,
    walBytes: 0,
  }
}

async function runLoads(url: string, usage: () => Usage): Promise<Pick<Measurement, 'idle' | 'behaviours'>> {
  const { provider, waitForAccepted } = instantProvider()
  const notify = await service({ url, users, providers: { email: [provider] }, work: true })
  const random = createRandom(1)
  let sent = 0
  await pause(1_000)
  const observe = async (work: () => Promise<void>): Promise<Usage> => {
    const before = usage()
    const start = performance.now()
    await work()
    const passedUs = (performance.now() - start) * 1_000
    const after = usage()
    const share = (name: keyof Usage) => Math.round(((after[name] - before[name]) / passedUs) * 1_000) / 1_000
    return { process: share('process'), database: share('database') }
  }
  const idle = await observe(() => pause(idleMs))
  const behaviours: Behaviour[] = []
  for (const wanted of loads) {
    const latencies: number[] = []
    const begun = performance.now()
    const pending: Array<Promise<unknown>> = []
    const observed = await observe(async () => {
      const start = performance.now()
      for (let tick = 0; performance.now() - start < loadMs; tick++) {
        const due = random.poisson((wanted * tickMs) / 1_000)
        for (let n = 0; n < due; n++) pending.push(acceptOne(sent++, latencies))
        await pause(Math.max(0, start + (tick + 1) * tickMs - performance.now()))
      }
      await Promise.all(pending)
      await waitForAccepted(sent)
    })
    // A busy machine falls behind: what counts is what came.
    const eventsPerSecond = Math.round((latencies.length * 1_000) / (performance.now() - begun))
    latencies.sort((a, b) => a - b)
    const acceptedP50Ms = Math.round((latencies[Math.floor(latencies.length / 2)] ?? 0) * 10) / 10
    behaviours.push({ eventsPerSecond, ...observed, acceptedP50Ms })
  }
  await notify.stop()
  return { idle, behaviours }

  async function acceptOne(n: number, latencies: number[]): Promise<void> {
    const start = performance.now()
    await notify.accept([eventOf('load', n, users)])
    latencies.push(performance.now() - start)
  }
}
