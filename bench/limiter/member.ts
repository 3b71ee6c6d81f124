/** One process of the benchmark `limiter-fleet`: checks limits as fast as it can, and reports how many. */
import { createLimiter, hybridStore, tierPolicy } from '@gatehouse/limiter'
import { type RedisClient, redisStore } from '@gatehouse/limiter/redis'
import { Cluster, Redis } from 'ioredis'
import type { Outcome, Start } from './protocol.ts'

const inFlight = 512
/** Quiet keys of hybrid counting wait for ten seconds: only then as much is sent as is spent. */
const warmUpMs = { exact: 2_000, cluster: 2_000, hybrid: 12_000 }
const policy = tierPolicy('roomy', { rpm: 1_000_000, daily: 100_000_000 }, { advisory: true })

process.once('message', (start: Start) => void run(start))

async function run({ mode, ports, instances, users, seconds }: Start): Promise<void> {
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
  const client = mode === 'cluster' ? new Cluster(nodes) : new Redis(ports[0] ?? 0)
  const counters = redisStore(client as RedisClient, { keyTag: mode === 'cluster' ? 'braces' : 'none' })
  const hybrid = mode === 'hybrid' ? hybridStore(counters, { instances, maxKeys: 2 * users }) : undefined
  const store = hybrid ?? counters
  const limiter = createLimiter({ store, deadlineMs: 10_000, breaker: { failures: 1_000_000 } })
  const check = () => limiter.check(policy, { kind: 'user', id: `user-${zipf(users)}` })

  /** Checks until then; returns how many. */
  const checkUntil = async (end: number): Promise<number> => {
    let checks = 0
    const line = async (): Promise<void> => {
      while (performance.now() < end) {
        checks++
        const decision = check()
        if (decision instanceof Promise) await decision
        else if (checks % 256 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await Promise.all(Array.from({ length: inFlight }, line))
    return checks
  }
  const warmUp = await checkUntil(performance.now() + warmUpMs[mode])
  const [begin, cpu] = [performance.now(), process.cpuUsage()]
  const checks = await checkUntil(begin + seconds * 1_000)
  const { user, system } = process.cpuUsage(cpu)
  const outcome: Outcome = {
    checks,
    warmUp,
    seconds: (performance.now() - begin) / 1_000,
    cpuSeconds: (user + system) / 1_000_000,
  }
  // What was spent is sent, and Redis has worked for all of it.
  await hybrid?.close()
  client.disconnect()
  process.send?.(outcome, () => process.exit(0))
}

/** A rank by Zipf's law with exponent 1, nearly: the continuous distribution of the same density. */
function zipf(users: number): number {
  return Math.floor((users + 1) ** Math.random())
}
