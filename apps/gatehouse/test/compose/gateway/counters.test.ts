import assert from 'node:assert/strict'
import { createMetrics, Secret, silentLog } from '@gatehouse/kit'
import { createLimiter, tierPolicy } from '@gatehouse/limiter'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'
import { openCounters } from '../../../src/compose/gateway/counters.ts'
import type { Config } from '../../../src/config/config.ts'

testWith(
  'redis-server',
  'hybrid, split and regional policies reach their Redis, and a stop reports local counts',
  async () => {
    const [shared, region] = await Promise.all([startRedis(), startRedis()])
    const engines = { redis_regional_url: region.url, gateways: 1 }
    const config = {
      settings: { redisUrl: new Secret(shared.url), services: new Set(['gateway']) },
      file: { engines },
    } as unknown as Config
    const counters = await openCounters(config, undefined, silentLog, createMetrics())
    try {
      while (!(await counters.ping?.().catch(() => undefined))) await new Promise((resolve) => setImmediate(resolve))
      const { store, regionalStore } = counters
      assert.ok(regionalStore)
      const limiter = createLimiter({ store, regionalStore, deadlineMs: 10_000 })
      const limits = { daily: 100_000 }
      await limiter.check(tierPolicy('hybrid', limits, { advisory: true }), { kind: 'user', id: 'hybrid' })
      await limiter.check(tierPolicy('split', limits, { shards: 4 }), { kind: 'user', id: 'split' })
      await limiter.check(tierPolicy('regional', limits, { quota: 'regional' }), { kind: 'user', id: 'regional' })
      await counters.close()
      const [here, there] = [await keysOf(shared.url), await keysOf(region.url)]
      assert.ok(
        here.some((key) => key.startsWith('rl:user:hybrid:')),
        here.join(),
      )
      assert.ok(
        here.some((key) => /^rl:user:split(?:#|%23)\d:/.test(key)),
        here.join(),
      )
      assert.ok(there.every((key) => key.startsWith('rl:user:regional:')) && there.length > 0, there.join())
    } finally {
      await counters.close()
      await Promise.all([shared.stop(), region.stop()])
    }
  },
)

async function keysOf(url: string): Promise<string[]> {
  const client = new Redis(url)
  const keys = await client.keys('*')
  client.disconnect()
  return keys
}
