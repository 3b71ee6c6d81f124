import assert from 'node:assert/strict'
import { createLimiter, definePolicy, tierPolicy } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { freePort, type Server, startRedis, testWith } from '@gatehouse/testing'
import { Cluster, Redis } from 'ioredis'

const slots = [
  [0, 5_460],
  [5_461, 10_922],
  [10_923, 16_383],
] as const

/** Three primaries without replicas, which serve what they have when one of them is gone. */
async function startCluster(): Promise<{ servers: Server[]; cluster: Cluster; stop(): Promise<void> }> {
  const nodes = await Promise.all(
    slots.map(async (range) => {
      const busPort = await freePort()
      const args = [
        '--cluster-enabled',
        'yes',
        '--cluster-require-full-coverage',
        'no',
        '--cluster-node-timeout',
        '500',
      ]
      const server = await startRedis({ args: [...args, '--cluster-port', String(busPort)] })
      return { server, busPort, range, admin: new Redis(server.url) }
    }),
  )
  for (const { admin, range } of nodes) await admin.call('CLUSTER', 'ADDSLOTSRANGE', ...range)
  const [first] = nodes
  assert(first)
  for (const { server, busPort } of nodes.slice(1))
    await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', server.port, busPort)
  for (const { admin } of nodes)
    await until(async () => {
      const info = String(await admin.call('CLUSTER', 'INFO'))
      return (
        info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3') && info.includes('slots_ok:16384')
      )
    })
  for (const { admin } of nodes) admin.disconnect()
  const cluster = new Cluster(
    nodes.map(({ server }) => ({ host: '127.0.0.1', port: server.port })),
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
    servers: nodes.map(({ server }) => server),
    cluster,
    async stop() {
      cluster.disconnect()
      for (const { server } of nodes) await server.stop()
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
