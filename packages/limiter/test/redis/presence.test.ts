import assert from 'node:assert/strict'
import { createLimiter, definePolicy, hybridStore } from '@gatehouse/limiter'
import { redisPresence, redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'

const redisTest = (title: string, body: () => Promise<void>): void => testWith('redis-server', title, body)
const alice = { kind: 'user', id: 'alice' }
const rarely = 600_000

async function setup() {
  const server = await startRedis()
  const redis = new Redis(server.url)
  return {
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      await server.stop()
    },
  }
}

redisTest('processes that share a store count one another until they leave', async () => {
  await using bench = await setup()
  const fleet = [1, 2, 3].map(() => redisPresence(bench.redis, { everyMs: rarely }))
  const [first, second] = fleet
  assert.equal(first?.instances, undefined)
  for (const presence of [...fleet, ...fleet]) await presence.beat()
  assert.deepEqual(
    fleet.map(({ instances }) => instances),
    [3, 3, 3],
  )
  await second?.close()
  await first?.beat()
  assert.equal(first?.instances, 2)
  assert.ok((await bench.redis.pttl('rl:instances')) > 0)
  for (const presence of fleet) await presence.close()
})

redisTest('a process that died is removed after three missed heartbeats, also after a clock step', async () => {
  await using bench = await setup()
  const [living, dead] = [
    redisPresence(bench.redis, { everyMs: rarely }),
    redisPresence(bench.redis, { everyMs: rarely }),
  ]
  await dead.beat()
  const [died = ''] = await bench.redis.zrange('rl:instances', '0', '-1')
  await living.beat()
  assert.equal(living.instances, 2)
  for (const lastBeat of [1, Date.now() + 3_600_000]) {
    await bench.redis.zadd('rl:instances', lastBeat, died)
    await living.beat()
    assert.equal(living.instances, 1, `a last heartbeat at ${lastBeat}`)
  }
  for (const presence of [living, dead]) await presence.close()
})

redisTest('windows and buckets of a flushed server are restored at the next heartbeat', async () => {
  await using bench = await setup()
  const store = redisStore(bench.redis)
  const limiter = createLimiter({ store, deadlineMs: 10_000 })
  const presence = redisPresence(bench.redis, { everyMs: rarely, onLoss: () => store.suspectLoss() })
  const policy = definePolicy('both', [
    { name: 'hour', limit: 8, windowMs: 3_600_000 },
    { name: 'bucket', algorithm: 'token-bucket', limit: 10, refillPerSecond: 0.0001 },
  ])
  const admitted = async (attempts: number) => {
    const decisions = []
    for (let i = 0; i < attempts; i++) decisions.push((await limiter.check(policy, alice)).allowed)
    return decisions.filter(Boolean).length
  }
  await presence.beat()
  assert.equal(await admitted(6), 6)
  await bench.redis.flushall()
  await presence.beat()
  assert.equal(await admitted(5), 2)
  assert.deepEqual(
    (await limiter.peek(policy, alice)).rules.map(({ name, remaining }) => [name, remaining]),
    [
      ['hour', 0],
      ['bucket', 2],
    ],
  )
  await presence.close()
})

redisTest('the share that hybrid counting spends follows the number of processes', async () => {
  await using bench = await setup()
  let instances = 1
  const hybrid = hybridStore(redisStore(bench.redis), { instances: () => instances, intervalMs: 0 })
  const limiter = createLimiter({ store: hybrid, deadlineMs: 10_000 })
  const policy = definePolicy('route', [{ name: 'route', limit: 400, windowMs: 3_600_000 }], { advisory: true })
  await limiter.check(policy, alice)
  const spentUnasked = async (): Promise<number> => {
    for (let spent = 0; ; spent++) {
      const decision = limiter.check(policy, alice)
      if (!(decision instanceof Promise)) continue
      await decision
      return spent
    }
  }
  assert.equal(await spentUnasked(), 39, 'a tenth of what is left')
  instances = 10
  await limiter.check(policy, alice)
  await hybrid.reconcile()
  assert.equal(await spentUnasked(), 3, 'a tenth of what is left, shared by ten')
  instances = 101
  await hybrid.reconcile()
  assert.ok(limiter.check(policy, alice) instanceof Promise, 'too small a share: counted exactly')
  instances = 1
  await limiter.check(policy, alice)
  await limiter.check(policy, alice)
  assert.ok(!(limiter.check(policy, alice) instanceof Promise), 'alone again: counted here')
  await hybrid.close()
})
