import assert from 'node:assert/strict'
import { startRedis, testWith } from '@gatehouse/testing'
import { type Program, started } from '../support/program.ts'

async function gatewaysSeenBy({ metricsUrl }: Program): Promise<number> {
  const metrics = await (await fetch(metricsUrl)).text()
  return Number(/^rate_limit_gateways (\d+)$/m.exec(metrics)?.[1])
}

async function until(expected: number, program: Program): Promise<void> {
  const giveUpAt = performance.now() + 30_000
  while ((await gatewaysSeenBy(program)) !== expected) {
    assert.ok(performance.now() < giveUpAt, `${expected} gateways were never seen`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

testWith(
  'redis-server',
  'gateways count one another: a new one joins, one that stops leaves, one that is killed is missed',
  async () => {
    const redis = await startRedis()
    const env = { REDIS_URL: redis.url, SERVICES: 'gateway' }
    const first = await started({ env, metrics: true })
    try {
      await until(1, first)
      const [second, third] = [await started({ env }), await started({ env })]
      await until(3, first)
      await second.stop()
      await until(2, first)
      await third.stop('SIGKILL')
      await until(1, first)
    } finally {
      await first.stop()
      await redis.stop()
    }
  },
)
