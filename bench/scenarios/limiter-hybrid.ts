/**
 * Benchmark `limiter-hybrid`: advisory limits counted in this process and reconciled with a real Redis about every 100 ms,
 * against our memory store on the same traffic in the same run.
 *
 * The work: a minute's and a day's window together. `zipf`: 1,000,000 users, the n-th of whom comes 1/n as often as the
 * first; `uniform`: 100,000 users who come equally often. Every user has been seen before. Every answer is read,
 * reconciling is included, on one thread; redis-server has a core of its own where there is one. The sides take turns.
 * Quiet keys wait up to ten seconds until they are sent, so a turn of hybrid begins to count when the checks before it
 * have filled that queue: as much is left over at its end, and what is left over is sent before the other side's turn.
 * `ratio_memory_…` compares elapsed time, `ratio_memory_…_cpu` the processor time of this process, which also holds on a
 * machine that has other work.
 *
 * The overshoot is that of a simulated fleet of 20 processes which all want twice the limit of one shared key, with
 * round trips of up to 2 ms to the store: the most that was admitted in any window, as a multiple of the limit. In
 * `overshoot_shifting` the traffic goes from one process to another every 100 ms.
 */
import {
  createLimiter,
  type Decision,
  definePolicy,
  type HybridStore,
  hybridStore,
  memoryStore,
  tierPolicy,
} from '@gatehouse/limiter'
import { type FleetOptions, simulateFleet } from '@gatehouse/limiter/conformance'
import { redisStore } from '@gatehouse/limiter/redis'
import { startRedis } from '@gatehouse/testing'
import { Redis } from 'ioredis'
import { type BenchmarkResult, type Pace, paceOf, takeTurns, timesAsMuch } from '../benchmark.ts'

const zipfUsers = 1_000_000
const uniformUsers = 100_000
const checks = 1_000_000
const instances = 20
const maxPending = 512
/** As long as a quiet key waits. */
const rampMs = 10_000
const quietRounds = 100
const mask = (1 << 22) - 1
const roomy = tierPolicy('roomy', { rpm: 1_000_000, daily: 100_000_000 }, { advisory: true })

export async function benchmark(): Promise<BenchmarkResult> {
  const overshootPerSecond = await overshoot(10_000, 1_000, 4)
  const overshootPerMinute = await overshoot(1_000, 60_000, 120)
  const overshootShifting = await overshoot(10_000, 1_000, 4, (i, ms) => Number(i === Math.floor(ms / 100) % instances))
  const server = await startRedis()
  const client = new Redis(server.url)
  try {
    const ids = Array.from({ length: zipfUsers }, (_, i) => `user-${i}`)
    const store = hybridStore(redisStore(client), { instances, maxKeys: 2 * zipfUsers })
    const hybrid = createLimiter({ store, deadlineMs: 10_000 })
    const memory = createLimiter({ store: memoryStore({ maxKeys: 2 * zipfUsers }) })
    for (const limiter of [hybrid, memory]) await checkAll(limiter, ids)
    const zipf = zipfOrder(zipfUsers)
    const uniform = new Uint32Array(mask + 1).map(() => Math.floor(Math.random() * uniformUsers))
    const paces = await takeTurns(5, {
      memoryZipf: () => turn(checker(memory, ids, zipf)),
      zipf: () => hybridTurn(store, checker(hybrid, ids, zipf)),
      memoryUniform: () => turn(checker(memory, ids, uniform)),
      uniform: () => hybridTurn(store, checker(hybrid, ids, uniform)),
    })
    console.log('checks of two windows in a second, counted locally and reconciled with Redis; in our memory store')
    console.log(`  1,000,000 users, Zipf  ${row(paces.zipf)}  ${row(paces.memoryZipf)}, target 0.7 of it`)
    console.log(`  100,000 users, uniform ${row(paces.uniform)}  ${row(paces.memoryUniform)}, target 0.5 of it`)
    console.log(`worst window of a fleet of ${instances}: ${overshootPerSecond} of 10,000 a second, target 1.10`)
    console.log(`  ${overshootPerMinute} of 1,000 a minute, ${overshootShifting} of 10,000 a second that shift`)
    return {
      bench: 'limiter-hybrid',
      ours: Math.round(paces.zipf.perSecond),
      peer: Math.round(paces.memoryZipf.perSecond),
      ratio: timesAsMuch(paces.zipf.perSecond, paces.memoryZipf.perSecond),
      unit: 'checks per second',
      ours_per_core_second: Math.round(paces.zipf.perCoreSecond),
      ...ratios('zipf', paces.zipf, paces.memoryZipf),
      ...ratios('uniform', paces.uniform, paces.memoryUniform),
      overshoot_10000: overshootPerSecond,
      overshoot_1000_per_minute: overshootPerMinute,
      overshoot_shifting: overshootShifting,
    }
  } finally {
    client.disconnect()
    await server.stop()
  }
}

type Limiter = ReturnType<typeof createLimiter>

async function checkAll(limiter: Limiter, ids: readonly string[]): Promise<void> {
  for (let i = 0; i < ids.length; i += 10_000)
    await Promise.all(ids.slice(i, i + 10_000).map((id) => limiter.check(roomy, { kind: 'user', id })))
}

/** Makes so many checks, and continues where it was in the order of users. */
type Checker = (count: number) => Promise<void>

function checker(limiter: Limiter, ids: readonly string[], order: Uint32Array): Checker {
  let at = 0
  return async (count) => {
    let sum = 0
    const pending: Promise<Decision>[] = []
    for (let i = 0; i < count; i++) {
      const decision = limiter.check(roomy, { kind: 'user', id: ids[order[at++ & mask] ?? 0] ?? '' })
      if (decision instanceof Promise) pending.push(decision)
      else sum += decision.remaining
      if (pending.length === maxPending) for (const late of await Promise.all(pending.splice(0))) sum += late.remaining
      if (i % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    for (const late of await Promise.all(pending)) sum += late.remaining
    return void sum
  }
}

/** Both sides begin to count when they have run for as long, with warm caches. */
async function turn(check: Checker): Promise<Pace> {
  const end = performance.now() + rampMs
  while (performance.now() < end) await check(10_000)
  return paceOf(checks, () => check(checks))
}

async function hybridTurn(store: HybridStore, check: Checker): Promise<Pace> {
  const pace = await turn(check)
  for (let round = 0; round < quietRounds; round++) await store.reconcile()
  return pace
}

/** Users drawn by Zipf's law with exponent 1, from the inverse of its distribution; their ids are in no order. */
function zipfOrder(users: number): Uint32Array {
  const sums = new Float64Array(users)
  let sum = 0
  for (let n = 0; n < users; n++) {
    sum += 1 / (n + 1)
    sums[n] = sum
  }
  const names = new Uint32Array(users).map((_, i) => i)
  for (let i = users - 1; i > 0; i--) {
    const other = Math.floor(Math.random() * (i + 1))
    ;[names[i], names[other]] = [names[other] ?? 0, names[i] ?? 0]
  }
  return new Uint32Array(mask + 1).map(() => {
    const drawn = Math.random() * sum
    let [low, high] = [0, users - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < drawn) low = middle + 1
      else high = middle
    }
    return names[low] ?? 0
  })
}

function ratios(name: string, ours: Pace, memory: Pace): Record<string, number> {
  return {
    [`ratio_memory_${name}`]: timesAsMuch(ours.perSecond, memory.perSecond),
    [`ratio_memory_${name}_cpu`]: timesAsMuch(ours.perCoreSecond, memory.perCoreSecond),
  }
}

async function overshoot(
  limit: number,
  windowMs: number,
  seconds: number,
  weight: FleetOptions['weight'] = () => 1,
): Promise<number> {
  const policy = definePolicy('shared', [{ name: 'shared', limit, windowMs }], { advisory: true })
  const offeredPerSecond = (limit / windowMs) * 2_000
  const { worstWindow } = await simulateFleet({ policy, instances, offeredPerSecond, seconds, weight })
  return Math.round(worstWindow * 1_000) / 1_000
}

const row = (pace: Pace): string => `${(pace.perSecond / 1e6).toFixed(2)}M`.padStart(6)
