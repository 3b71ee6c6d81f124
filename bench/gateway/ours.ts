/** Gatehouse's gateway before the upstream. */
import { createHistogram, performance } from 'node:perf_hooks'
import { createBearer, type Jwk } from '@gatehouse/bearer'
import { createGateway } from '@gatehouse/gateway'
import { createHttp, createMetrics, silentLog, systemClock } from '@gatehouse/kit'
import { createLimiter, type Limiter } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { Redis } from 'ioredis'
import { report, startOf } from './protocol.ts'

const { upstream, issuer, audience, jwk, redis } = startOf()
const checks = createHistogram()

const gateway = createGateway({
  limiter: redis === undefined ? createLimiter() : timed(createLimiter({ store: redisStore(client(redis)) })),
  bearer: createBearer({ issuer, audience, keys: [jwk as Jwk] }),
  planOf: async () => ({ plan: 'pro' }),
  tiers: { pro: { rpm: 1_000_000, daily: 100_000_000 } },
  routes: [{ path: '/orders/*', upstream: 'orders' }],
  upstreams: { orders: { url: upstream } },
  metrics: createMetrics(),
  log: silentLog,
  clock: systemClock,
})
const http = createHttp({ log: silentLog })
await http.register(gateway.plugin)
report(await http.listen({ port: 0, host: '127.0.0.1' }), () => {
  const p99 = checks.percentile(99) / 1_000_000
  checks.reset()
  return p99
})

function client(url: string): Redis {
  const options = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }
  return new Redis(url, options).on('error', () => {})
}

/** A limiter whose checks are timed, from the question to the answer. */
function timed(limiter: Limiter): Limiter {
  return {
    ...limiter,
    async check(policy, identifier, options) {
      const start = performance.now()
      const decision = await limiter.check(policy, identifier, options)
      checks.record(Math.max(1, Math.round((performance.now() - start) * 1_000_000)))
      return decision
    },
  }
}
