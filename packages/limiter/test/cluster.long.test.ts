import assert from 'node:assert/strict'
import { createLimiter, definePolicy, tierPolicy } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { type Server, startRedisCluster, testWith } from '@gatehouse/testing'
import { Cluster } from 'ioredis'

/** Three primaries without replicas, and a client that gives up at once where one of them is gone. */
async function startCluster(): Promise<{ servers: readonly Server[]; cluster: Cluster; stop(): Promise<void> }> {
  const { servers, stop } = await startRedisCluster()
  const cluster = new Cluster(
    servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    {
      enableOfflineQueue: false,
      clusterRetryStrategy: () => 50,
      maxRedirections: 3,
      retryDelayOnClusterDown: 0,
      retryDelayOnFailover: 0,
      redisOptions: { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 },
    },
  )
  cluster.on('error', () => {})
  await new Promise((resolve) => cluster.once('ready', resolve))
  return {
    servers,
    cluster,
    async stop() {
      cluster.disconnect()
      await stop()
    },
  }
}

async function until(done: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 30_000
  while (!(await done())) {
    assert(performance.now() < giveUpAt, 'it never came to that')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const users = Array.from({ length: 30 }, (_, i) => ({ kind: 'user', id: `user-${i}` }))

testWith('redis-server', 'on a cluster of three primaries all windows of a user are taken in one step', async () => {
  const { cluster, stop } = await startCluster()
  try {
    const limiter = createLimiter({ store: redisStore(cluster, { keyTag: 'braces' }), deadlineMs: 5_000 })
    const free = tierPolicy('free', { rpm: 5, daily: 1_000 })
    for (const user of users) {
      const decisions = await Promise.all(Array.from({ length: 12 }, () => limiter.check(free, user)))
      assert(decisions.every(({ source }) => source === 'store'))
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 5)
      assert.equal((await limiter.peek(free, user)).rules[1]?.remaining, 995)
    }
  } finally {
    await stop()
  }
})

testWith(
  'redis-server',
  'with one of three primaries killed, its users get the failure mode, the others go on',
  async () => {
    const { cluster, servers, stop } = await startCluster()
    try {
      const limiter = createLimiter({
        store: redisStore(cluster, { keyTag: 'braces' }),
        deadlineMs: 200,
        closedDeadlineMs: 200,
        breaker: { failures: 1_000_000 },
      })
      const rules = [{ name: 'r', limit: 1_000, windowMs: 3_600_000 }]
      const closed = definePolicy('closed', rules, { failureMode: 'closed' })
      for (const user of users) assert.equal((await limiter.check(closed, user)).source, 'store')
      servers[0]?.process.kill('SIGKILL')
      const sources = new Set<string>()
      let settled = 0
      await until(async () => {
        const decisions = await Promise.all(users.map((user) => limiter.check(closed, user)))
        for (const { source } of decisions) sources.add(source)
        settled = decisions.filter(({ source }) => source === 'store').length
        return settled >= 12 && settled < users.length
      })
      assert(sources.has('closed') && sources.has('store'))
    } finally {
      await stop()
    }
  },
)
