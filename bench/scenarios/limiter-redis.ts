/**
 * Benchmark `limiter-redis`: check limits that several processes share, exactly. `@gatehouse/limiter` against
 * `rate-limiter-flexible`, both on `ioredis` and one redis-server that the benchmark starts.
 *
 * The work: 100,000 users in random order, a minute's and a day's window together; whoever is refused by one window
 * uses up nothing of the other. 512 checks are under way at any time.
 *
 * Equal on both sides: the same server, emptied before, users, order and limits (100 a minute, 100,000 a day), a
 * connection each; the answer and what remains are read. The sides take turns, and the median of the rounds counts.
 *
 * Not equal, in our favour: nothing that we know of; checks that arrive together travel together, which the peer does by
 * ioredis's auto-pipelining.
 * Not equal, in the peer's favour: ours slides, which reads two counters a window, the peer's windows are fixed; the
 * peer's union takes from one window although the other refuses; ours keeps a local copy to fall back upon, a deadline
 * and a breaker. `ratio_one_window` sets our two windows against the peer's one.
 */
import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { startRedis } from '@gatehouse/testing'
import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible'
import { type BenchmarkResult, type Pace, paceOf, takeTurns, timesAsMuch } from '../benchmark.ts'

const users = 100_000
const rounds = 3
const checks = 100_000
const inFlight = 512
const pro = tierPolicy('pro', { rpm: 100, daily: 100_000 })

export async function benchmark(): Promise<BenchmarkResult> {
  const server = await startRedis()
  const [ourClient, theirClient] = [new Redis(server.url), new Redis(server.url, { enableAutoPipelining: true })]
  try {
    const peer = (keyPrefix: string, points: number, duration: number): RateLimiterRedis =>
      new RateLimiterRedis({ storeClient: theirClient, keyPrefix, points, duration })
    const union = new RateLimiterUnion(peer('rpm', 100, 60), peer('daily', 100_000, 86_400))
    const lone = peer('lone', 100, 60)
    const ours = ourSide(ourClient)
    const paces = await takeTurns(rounds, {
      ours: () => pace(users, ours),
      union: () => pace(users, async (id) => (await union.consume(id)).rpm?.remainingPoints ?? 0),
      lone: () => pace(users, async (id) => (await lone.consume(id)).remainingPoints),
    })
    const scale = await takeTurns(3, { tenth: () => pace(users / 10, ours), tenfold: () => pace(users * 10, ours) })
    const ratio = timesAsMuch(paces.ours.perSecond, paces.union.perSecond)
    const ratioOneWindow = timesAsMuch(paces.ours.perSecond, paces.lone.perSecond)
    console.log(`checks of two windows in a second, ${inFlight} under way, one redis-server`)
    console.log(
      `  ours              ${row(paces.ours)}  (${row(scale.tenth)} at 10,000 users, ${row(scale.tenfold)} at 1,000,000)`,
    )
    console.log(`  peer, two windows ${row(paces.union)}  ours is ${ratio} ×, target 4`)
    console.log(`  peer, one window  ${row(paces.lone)}  ours is ${ratioOneWindow} ×, target 2`)
    return {
      bench: 'limiter-redis',
      ours: Math.round(paces.ours.perSecond),
      peer: Math.round(paces.union.perSecond),
      ratio,
      unit: 'checks per second',
      peer_one_window: Math.round(paces.lone.perSecond),
      ratio_one_window: ratioOneWindow,
      ours_tenth_of_keys: Math.round(scale.tenth.perSecond),
      ours_ten_times_keys: Math.round(scale.tenfold.perSecond),
    }
  } finally {
    ourClient.disconnect()
    theirClient.disconnect()
    await server.stop()
  }
}

/** Every answer has to come from Redis: a fallback would measure nothing. */
function ourSide(client: Redis): (id: string) => Promise<number> {
  const limiter = createLimiter({ store: redisStore(client), deadlineMs: 10_000 })
  return async (id) => {
    const decision = await limiter.check(pro, { kind: 'user', id })
    if (decision.source !== 'store') throw new Error(`a check was answered by ${decision.source}`)
    return decision.remaining
  }
}

function pace(count: number, check: (id: string) => Promise<number>): Promise<Pace> {
  let started = 0
  let sum = 0
  const line = async (): Promise<void> => {
    while (started++ < checks) {
      try {
        sum += await check(`user-${Math.floor(Math.random() * count)}`)
      } catch (refused) {
        if (refused instanceof Error) throw refused
      }
    }
  }
  return paceOf(checks, async () => {
    await Promise.all(Array.from({ length: inFlight }, line))
    return void sum
  })
}

const row = (pace: Pace): string => `${Math.round(pace.perSecond / 1000)}k`.padStart(6)
