/**
 * Benchmark `limiter-memory`: check a limit in this process. `@gatehouse/limiter` against `rate-limiter-flexible`.
 *
 * The work: 100,000 users in random order, a minute's and a day's window together; whoever is refused by one window
 * uses up nothing of the other.
 *
 * Equal on both sides: the same users in the same order, the same limits (100 a minute, 100,000 a day), the answer and
 * what remains are read. The sides take turns, and the median of the rounds counts. Also printed: ours at a tenth and
 * at ten times the users, and bytes of heap and buffers a user.
 *
 * Not equal, in our favour: ours answers at once, the peer by a promise, which is the only way it answers.
 * Not equal, in the peer's favour: ours slides, the peer's windows are fixed; the peer's union of two windows takes from
 * one although the other refuses. `ratio_one_window` sets our two windows against the peer's one.
 *
 * `ratio_limit` sets ours against a bare `Map`, which reads and writes a number for the same users in the same order: no
 * store that is looked up by a string is faster.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible'
import { type BenchmarkResult, type Pace, paceOf, takeTurns, timesAsMuch } from '../benchmark.ts'

const users = 100_000
const rounds = 5
const ourChecks = 2_000_000
const theirChecks = 300_000
const pro = tierPolicy('pro', { rpm: 100, daily: 100_000 })

export async function benchmark(): Promise<BenchmarkResult> {
  const [rpm, daily] = [peer('rpm', 100, 60), peer('daily', 100_000, 86_400)]
  const union = new RateLimiterUnion(rpm, daily)
  const lone = peer('lone', 100, 60)
  const ids = idsOf(users)
  const order = randomOrder(users)
  const ours = ourSide(ids, order)
  const paces = await takeTurns(rounds, {
    ours,
    map: mapSide(ids, order),
    union: () => theirSide(ids, async (id) => (await union.consume(id)).rpm?.remainingPoints ?? 0),
    lone: () => theirSide(ids, async (id) => (await lone.consume(id)).remainingPoints),
  })
  const scale = await takeTurns(rounds, { tenth: sideOf(users / 10), tenfold: sideOf(users * 10) })
  const bytesPerKey = await bytesPerUser()
  console.log('checks of two windows in a second')
  console.log(
    `  ours              ${row(paces.ours)}  (${row(scale.tenth)} at 10,000 users, ${row(scale.tenfold)} at 1,000,000)`,
  )
  console.log(
    `  peer, two windows ${row(paces.union)}  ours is ${timesAsMuch(paces.ours.perSecond, paces.union.perSecond)} ×, target 6`,
  )
  console.log(
    `  peer, one window  ${row(paces.lone)}  ours is ${timesAsMuch(paces.ours.perSecond, paces.lone.perSecond)} ×, target 2`,
  )
  console.log(
    `  bare Map          ${row(paces.map)}  ours is ${timesAsMuch(paces.ours.perSecond, paces.map.perSecond)} ×, target 0.4`,
  )
  console.log(`  ours keeps ${bytesPerKey} bytes a user, the id itself not counted`)
  return {
    bench: 'limiter-memory',
    ours: Math.round(paces.ours.perSecond),
    peer: Math.round(paces.union.perSecond),
    ratio: timesAsMuch(paces.ours.perSecond, paces.union.perSecond),
    unit: 'checks per second',
    peer_one_window: Math.round(paces.lone.perSecond),
    ratio_one_window: timesAsMuch(paces.ours.perSecond, paces.lone.perSecond),
    ratio_limit: timesAsMuch(paces.ours.perSecond, paces.map.perSecond),
    ours_tenth_of_keys: Math.round(scale.tenth.perSecond),
    ours_ten_times_keys: Math.round(scale.tenfold.perSecond),
    bytes_per_key: bytesPerKey,
  }
}

const sideOf = (count: number): (() => Promise<Pace>) => ourSide(idsOf(count), randomOrder(count))

function ourSide(ids: readonly string[], order: Uint32Array): () => Promise<Pace> {
  const limiter = createLimiter()
  let sum = 0
  return () =>
    paceOf(ourChecks, async () => {
      for (let i = 0; i < ourChecks; i++) {
        const decision = limiter.check(pro, { kind: 'user', id: ids[order[i & mask] ?? 0] ?? '' })
        if (decision instanceof Promise) throw new Error('the memory store answers at once')
        if (decision.allowed) sum += decision.remaining
        if (i % 1_000 === 0) await yielded()
      }
      return void sum
    })
}

function mapSide(ids: readonly string[], order: Uint32Array): () => Promise<Pace> {
  const counts = new Map<string, number>()
  return () =>
    paceOf(ourChecks, async () => {
      for (let i = 0; i < ourChecks; i++) {
        const id = ids[order[i & mask] ?? 0] ?? ''
        counts.set(id, (counts.get(id) ?? 0) + 1)
        if (i % 1_000 === 0) await yielded()
      }
    })
}

function theirSide(ids: readonly string[], consume: (id: string) => Promise<number>): Promise<Pace> {
  const order = randomOrder(ids.length)
  let sum = 0
  return paceOf(theirChecks, async () => {
    for (let i = 0; i < theirChecks; i++) {
      try {
        sum += await consume(ids[order[i & mask] ?? 0] ?? '')
      } catch (refused) {
        if (refused instanceof Error) throw refused
      }
      if (i % 1_000 === 0) await yielded()
    }
    return void sum
  })
}

async function bytesPerUser(): Promise<number> {
  const ids = idsOf(users)
  const limiter = createLimiter()
  const before = await memoryInUse()
  for (const id of ids) await limiter.check(pro, { kind: 'user', id })
  const after = await memoryInUse()
  await limiter.peek(pro, { kind: 'user', id: ids[0] ?? '' })
  return Math.round((after - before) / users)
}

async function memoryInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  for (let i = 0; i < 3; i++) {
    await yielded()
    collectGarbage()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const mask = (1 << 20) - 1

function randomOrder(count: number): Uint32Array {
  return new Uint32Array(mask + 1).map(() => Math.floor(Math.random() * count))
}

const idsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `user-${i}`)
const peer = (keyPrefix: string, points: number, duration: number): RateLimiterMemory =>
  new RateLimiterMemory({ keyPrefix, points, duration })
const yielded = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const row = (pace: Pace): string => `${(pace.perSecond / 1e6).toFixed(2)}M`.padStart(6)
