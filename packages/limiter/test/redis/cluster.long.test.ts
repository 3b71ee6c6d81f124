import assert from 'node:assert/strict'
import { createLimiter, type Decision, definePolicy, hybridStore, type Policy, tierPolicy } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { askRedis, type Server, startRedisCluster, testWith } from '@gatehouse/testing'
import { Cluster } from 'ioredis'

/** A client that gives up at once where a primary is gone. */
async function connect(servers: readonly Server[]): Promise<Cluster> {
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
  return cluster
}

/** Three primaries without replicas, and a client. */
async function startCluster(): Promise<{ servers: readonly Server[]; cluster: Cluster; stop(): Promise<void> }> {
  const { servers, stop } = await startRedisCluster()
  const cluster = await connect(servers)
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

const isFromStore = ({ source }: Decision) => source === 'store'

const users = Array.from({ length: 30 }, (_, i) => ({ kind: 'user', id: `user-${i}` }))

testWith('redis-server', 'a cluster of three primaries acquires all windows of a user in one step', async () => {
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
      // Connections to all primaries are open once each has answered.
      await until(async () => (await Promise.all(users.map((user) => limiter.check(closed, user)))).every(isFromStore))
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

/** Script calls of all servers since their figures were reset. */
async function scriptCalls(servers: readonly Server[]): Promise<number> {
  const stats = await Promise.all(servers.map(({ port }) => askRedis(port, 'info', 'commandstats')))
  return stats.reduce((sum, text) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? 0), 0)
}

testWith('redis-server', 'checks of many users on a cluster travel together', async () => {
  const { cluster, servers, stop } = await startCluster()
  try {
    const limiter = createLimiter({ store: redisStore(cluster, { keyTag: 'braces' }), deadlineMs: 10_000 })
    const free = tierPolicy('free', { rpm: 5, daily: 1_000 })
    const many = Array.from({ length: 1_200 }, (_, i) => ({ kind: 'user', id: `many-${i}` }))
    // Connections to all primaries are open once each has answered.
    await until(async () => (await Promise.all(users.map((user) => limiter.check(free, user)))).every(isFromStore))
    for (const { port } of servers) await askRedis(port, 'config', 'resetstat')
    const decisions = await Promise.all(many.map((user) => limiter.check(free, user)))
    assert.deepEqual(new Set(decisions.map(({ source, allowed }) => `${source} ${allowed}`)), new Set(['store true']))
    const calls = await scriptCalls(servers)
    assert(calls >= 12 && calls <= 30, `${calls} script calls`)
  } finally {
    await stop()
  }
})

testWith('redis-server', 'with one primary frozen, the store still decides for groups of the others', async () => {
  const { cluster, servers, stop } = await startCluster()
  try {
    const limiter = createLimiter({
      store: redisStore(cluster, { keyTag: 'braces' }),
      deadlineMs: 100,
      breaker: { failures: 1_000_000 },
    })
    const policy = definePolicy('p', [{ name: 'p', limit: 1_000, windowMs: 3_600_000 }])
    await until(async () => (await Promise.all(users.map((user) => limiter.check(policy, user)))).every(isFromStore))
    servers[0]?.process.kill('SIGSTOP')
    const began = performance.now()
    const decisions = await Promise.all(users.map((user) => limiter.check(policy, user)))
    const sources = decisions.map(({ source }) => source)
    assert(performance.now() - began < 5_000)
    assert(sources.filter((source) => source === 'store').length >= 12, `${sources}`)
    assert(sources.includes('local'))
    servers[0]?.process.kill('SIGCONT')
    await until(async () => {
      const after = await Promise.all(users.map((user) => limiter.check(policy, user)))
      return after.every(isFromStore)
    })
  } finally {
    servers[0]?.process.kill('SIGCONT')
    await stop()
  }
})

/** Moves a slot from the server that has it to another, step by step, as resharding does; `during` runs in between. */
async function moveSlot(servers: readonly Server[], key: string, during: () => Promise<void>): Promise<void> {
  const slot = await askRedis(servers[0]?.port ?? 0, 'cluster', 'keyslot', key)
  const ids = await Promise.all(servers.map(({ port }) => askRedis(port, 'cluster', 'myid')))
  const counts = await Promise.all(
    servers.map(async ({ port }) => Number(await askRedis(port, 'cluster', 'countkeysinslot', slot))),
  )
  const from = counts.findIndex((count) => count > 0)
  const to = (from + 1) % servers.length
  const [source, target] = [servers[from], servers[to]]
  assert(source && target)
  await askRedis(target.port, 'cluster', 'setslot', slot, 'importing', ids[from] ?? '')
  await askRedis(source.port, 'cluster', 'setslot', slot, 'migrating', ids[to] ?? '')
  await during()
  for (;;) {
    const keys = (await askRedis(source.port, 'cluster', 'getkeysinslot', slot, '3')).split('\n').filter(Boolean)
    if (keys.length === 0) break
    await askRedis(source.port, 'migrate', '127.0.0.1', String(target.port), '', '0', '5000', 'keys', ...keys)
    await during()
  }
  for (const { port } of servers) await askRedis(port, 'cluster', 'setslot', slot, 'node', ids[to] ?? '')
}

testWith(
  'redis-server',
  'while a slot moves, every check is answered in time and what the store counted stays counted',
  async () => {
    const { cluster, servers, stop } = await startCluster()
    try {
      const deadlineMs = 500
      const options = { deadlineMs, closedDeadlineMs: deadlineMs, breaker: { failures: 1_000_000 } }
      const limiter = createLimiter({ store: redisStore(cluster, { keyTag: 'braces', tags: 3 }), ...options })
      const rules = [{ name: 'r', limit: 1_000_000, windowMs: 366 * 86_400_000 }]
      const closed = definePolicy('closed', rules, { failureMode: 'closed' })
      const counted = new Map<string, number>()
      const sources = new Set<string>()
      const checkAll = async (): Promise<boolean> => {
        const began = performance.now()
        const decisions = await Promise.all(users.map((user) => limiter.check(closed, user)))
        assert(performance.now() - began < deadlineMs + 2_000)
        decisions.forEach(({ source, allowed }, i) => {
          assert.equal(allowed, source === 'store')
          sources.add(source)
          const id = users[i]?.id ?? ''
          if (allowed) counted.set(id, (counted.get(id) ?? 0) + 1)
        })
        return decisions.every(isFromStore)
      }
      await until(checkAll)
      const [key = ''] = (
        await Promise.all(servers.map(({ port }) => askRedis(port, 'keys', 'rl:r:user:user-0{*')))
      ).filter(Boolean)
      await moveSlot(servers, key, async () => void (await checkAll()))
      await until(checkAll)
      for (const user of users) {
        const [rule] = (await limiter.peek(closed, user)).rules
        assert.equal(1_000_000 - (rule?.remaining ?? 0), counted.get(user.id))
      }
      assert([...sources].every((source) => source === 'store' || source === 'closed'))
    } finally {
      await stop()
    }
  },
)

const hour = 3_600_000
const own = definePolicy('own', [{ name: 'own', limit: 40, windowMs: hour }], { failureMode: 'closed' })
const narrow = definePolicy('narrow', [{ name: 'narrow', limit: 130, windowMs: hour }], { shared: true })

testWith(
  'redis-server',
  'two concurrent processes on a cluster admit and charge what every policy allows',
  async () => {
    const { cluster, servers, stop } = await startCluster()
    const other = await connect(servers)
    try {
      const limiters = [cluster, other].map((one) =>
        createLimiter({ store: redisStore(one, { keyTag: 'braces' }), deadlineMs: 20_000, closedDeadlineMs: 20_000 }),
      )
      const wide = definePolicy('wide', [{ name: 'wide', limit: 1_000_000, windowMs: hour }])
      for (const limiter of limiters)
        await until(async () => (await Promise.all(users.map((user) => limiter.check(wide, user)))).every(isFromStore))
      const admitted = new Map<string, number>()
      await Promise.all(
        Array.from({ length: 1_200 }, async (_, i) => {
          const user = users[i % 2 === 0 ? i % 4 : i % users.length] ?? { kind: 'user', id: 'nobody' }
          const decision = await limiters[(i >> 3) % 2]?.check([own, narrow], user)
          assert.equal(decision?.source, 'store')
          if (decision.allowed) admitted.set(user.id, (admitted.get(user.id) ?? 0) + 1)
        }),
      )
      assert(Math.max(...admitted.values()) <= 40)
      assert.equal(
        admitted.values().reduce((sum, one) => sum + one, 0),
        130,
      )
      for (const user of users) {
        const decision = await limiters[0]?.peek(own, user)
        assert.equal(40 - (decision?.remaining ?? 0), admitted.get(user.id) ?? 0, user.id)
      }
    } finally {
      other.disconnect()
      await stop()
    }
  },
)

testWith(
  'redis-server',
  'what a process reserved before it died stays charged until its key expires, and nothing more is admitted',
  async () => {
    const { cluster, servers, stop } = await startCluster()
    const dying = await connect(servers)
    try {
      const room = definePolicy('room', [{ name: 'room', limit: 1_000_000, windowMs: hour }], { shared: true })
      const options = { deadlineMs: 20_000, breaker: { failures: 1_000_000 } }
      const process = (client: Cluster, closedDeadlineMs: number) =>
        createLimiter({ store: redisStore(client, { keyTag: 'braces' }), ...options, closedDeadlineMs })
      const limiter = process(cluster, 20_000)
      const doomed = process(dying, 1_000)
      for (const one of [limiter, doomed])
        await until(async () =>
          (await Promise.all(users.map((user) => one.check([own, room], user)))).every(isFromStore),
        )
      const keys = async (pattern: string) =>
        Promise.all(servers.map(({ port }) => askRedis(port, '--scan', '--pattern', pattern)))
      const holder = (await keys('rl:room:*')).findIndex((found) => found.trim() !== '')
      const ofOwn = await keys('rl:own:user:*')
      const at = ofOwn.findIndex((found, i) => i !== holder && found.trim() !== '')
      const key = ofOwn[at]?.trim().split('\n')[0] ?? ''
      const user = { kind: 'user', id: /user:(user-\d+)\{/.exec(key)?.[1] ?? '' }
      const count = async () => Number(await askRedis(servers[at]?.port ?? 0, 'get', key))
      const before = await count()
      servers[holder]?.process.kill('SIGSTOP')
      const unanswered = doomed.check([own, room], user)
      await until(async () => (await count()) === before + 1)
      assert.equal((await unanswered).allowed, false)
      dying.disconnect()
      servers[holder]?.process.kill('SIGCONT')
      assert.equal(await count(), before + 1)
      assert(Number(await askRedis(servers[at]?.port ?? 0, 'pttl', key)) <= 2 * hour)
      assert.notEqual(await askRedis(servers[at]?.port ?? 0, 'pttl', key), '-1')
      let admitted = 0
      await until(async () => isFromStore(await limiter.peek(room, user)))
      for (let i = 0; i < 60; i++) if ((await limiter.check([own, room], user)).allowed) admitted++
      assert.equal(admitted, 40 - before - 1)
    } finally {
      dying.disconnect()
      for (const server of servers) server.process.kill('SIGCONT')
      await stop()
    }
  },
)

/** The hash tags of all counters. */
async function tagsInUse(servers: readonly Server[]): Promise<Set<string>> {
  const keys = await Promise.all(servers.map(({ port }) => askRedis(port, '--scan', '--pattern', 'rl:*')))
  return new Set(keys.flatMap((found) => found.match(/\{\d+\}/g) ?? []))
}

testWith(
  'redis-server',
  'all processes use as many groups as the cluster says, and take their counts along when it changes',
  async () => {
    const { cluster, servers, stop } = await startCluster()
    const other = await connect(servers)
    try {
      const limiters = [cluster, other].map((client) =>
        createLimiter({ store: redisStore(client, { keyTag: 'braces' }), deadlineMs: 5_000, closedDeadlineMs: 5_000 }),
      )
      const admitted = new Map<string, number>()
      const checkAll = async (): Promise<boolean> => {
        const decisions = await Promise.all(
          limiters.flatMap((limiter) =>
            users.map(async (user) => {
              const decision = await limiter.check(own, user)
              if (decision.allowed) admitted.set(user.id, (admitted.get(user.id) ?? 0) + 1)
              return decision
            }),
          ),
        )
        return decisions.every(({ allowed }) => !allowed)
      }
      for (let i = 0; i < 15; i++) await checkAll()
      assert.equal(await cluster.get('rl:tags'), '12')
      assert((await tagsInUse(servers)).size <= 12)
      await cluster.set('rl:tags', '64')
      await until(checkAll)
      await until(async () => {
        await checkAll()
        return (await tagsInUse(servers)).size > 12
      })
      await until(checkAll)
      assert(Math.min(...admitted.values()) >= 40 - 2 && Math.max(...admitted.values()) <= 40 + 2, `${[...admitted]}`)
    } finally {
      other.disconnect()
      await stop()
    }
  },
)

/** Kills the primary that has the most counters. */
async function killBusiest(servers: readonly Server[]): Promise<void> {
  const sizes = await Promise.all(
    servers.map(async ({ port }) => {
      const isPrimary = (await askRedis(port, 'info', 'replication')).includes('role:master')
      return isPrimary ? Number(await askRedis(port, 'dbsize')) : -1
    }),
  )
  servers[sizes.indexOf(Math.max(...sizes))]?.process.kill('SIGKILL')
}

const processes = 2
const inFlight = 8
const lasting = { limit: 400, windowMs: hour }
const modes: readonly (readonly [title: string, policy: Policy, max: number])[] = [
  // Units that one process admitted last may be unknown to the new primary and to the others.
  ['closed', definePolicy('strict', [{ name: 'strict', ...lasting }], { failureMode: 'closed' }), 400 + 2 * inFlight],
  ['local', definePolicy('exact', [{ name: 'exact', ...lasting }]), 400 * processes],
  ['hybrid', definePolicy('loose', [{ name: 'loose', ...lasting }], { advisory: true }), 440 * processes],
]

for (const [mode, policy, max] of modes)
  testWith(
    'redis-server',
    `with a primary killed under load, ${mode} counting keeps its bound and returns to the store`,
    async () => {
      const { servers, stop } = await startRedisCluster({ replicas: 1 })
      const clients = [await connect(servers), await connect(servers)]
      const stores = clients.map((client) =>
        hybridStore(redisStore(client, { keyTag: 'braces' }), { instances: processes }),
      )
      const limiters = stores.map((store) => createLimiter({ store, deadlineMs: 250, closedDeadlineMs: 250 }))
      const some = users.slice(0, 9)
      const admitted = new Map<string, number>()
      const sources = new Set<string>()
      const checkAll = async (only?: Policy): Promise<boolean> => {
        const decisions = await Promise.all(
          limiters.flatMap((limiter) =>
            some.flatMap((user) =>
              Array.from({ length: inFlight }, async () => {
                const { allowed, source } = await limiter.check(only ?? policy, user)
                if (only === undefined && allowed) admitted.set(user.id, (admitted.get(user.id) ?? 0) + 1)
                if (only === undefined) sources.add(source)
                return source
              }),
            ),
          ),
        )
        return decisions.every((source) => source === 'store')
      }
      const maxAdmitted = () => Math.max(...admitted.values())
      try {
        // Connections to all primaries are open once each has answered.
        const warm = definePolicy('warm', [{ name: 'warm', limit: 1_000_000, windowMs: hour }], {
          failureMode: 'closed',
        })
        await until(() => checkAll(warm))
        while (maxAdmitted() < 150 || admitted.size < some.length) await checkAll()
        await killBusiest(servers)
        await until(async () => {
          await checkAll()
          return [...sources].some((source) => source !== 'store')
        })
        await until(async () => (await checkAll(warm)) && checkAll())
        for (let i = 0; i < 60; i++) await checkAll()
        assert(sources.has(mode === 'closed' ? 'closed' : 'local'), `${[...sources]}`)
        for (const [id, count] of admitted) assert(count <= max && count >= 380, `${id}: ${count} of 400`)
      } finally {
        for (const store of stores) await store.close().catch(() => {})
        for (const client of clients) client.disconnect()
        await stop()
      }
    },
  )
