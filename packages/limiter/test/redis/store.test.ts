import assert from 'node:assert/strict'
import { createLimiter, definePolicy, shardedStore, tierPolicy } from '@gatehouse/limiter'
import { storeConformance } from '@gatehouse/limiter/conformance'
import { type RedisClient, redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const start = Date.UTC(2026, 0, 1)
const redisTest = (title: string, body: () => Promise<void>): void => testWith('redis-server', title, body)

async function withIoredis(url: string): Promise<{ client: RedisClient; end(): void }> {
  const client = new Redis(url)
  return { client, end: () => client.disconnect() }
}

async function withNodeRedis(url: string): Promise<{ client: RedisClient; end(): void }> {
  const client = createClient({ url })
  await client.connect()
  return { client, end: () => client.destroy() }
}

for (const [name, program, connect] of [
  ['Redis by ioredis', 'redis-server', withIoredis],
  ['Redis by node-redis', 'redis-server', withNodeRedis],
  ['Valkey by ioredis', 'valkey-server', withIoredis],
] as const)
  storeConformance({
    name,
    test: (title, body) => testWith(program, title, body),
    async setup() {
      const server = await startRedis({ server: program })
      const { client, end } = await connect(server.url)
      return {
        store: redisStore(client, { clock: 'limiter' }),
        async close() {
          end()
          await server.stop()
        },
      }
    },
  })

storeConformance({
  name: 'Redis behind sub-counters',
  test: redisTest,
  async setup() {
    const server = await startRedis()
    const { client, end } = await withIoredis(server.url)
    return {
      store: shardedStore(redisStore(client, { clock: 'limiter' })),
      async close() {
        end()
        await server.stop()
      },
    }
  },
})

async function setup() {
  const server = await startRedis()
  const redis = new Redis(server.url)
  const limiter = createLimiter({
    store: redisStore(redis, { clock: 'limiter' }),
    clock: { now: () => start },
    deadlineMs: 5_000,
  })
  return {
    redis,
    limiter,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      await server.stop()
    },
  }
}

redisTest('keys and expiries are exactly those of the specification', async () => {
  await using bench = await setup()
  const { limiter, redis } = bench
  const minute = start / 60_000
  const day = start / 86_400_000
  await limiter.check(tierPolicy('free', { rpm: 10, daily: 1_000 }), { kind: 'user', id: 'alice' })
  await limiter.check(tierPolicy('free', { rpm: 10 }), { kind: 'ip', id: '2001:db8::1' })
  await limiter.check(
    definePolicy('login', [
      { name: 'log in', algorithm: 'fixed-window', limit: 5, windowMs: 60_000 },
      { name: 'burst', algorithm: 'token-bucket', limit: 5, refillPerSecond: 1 },
      { name: 'slow', algorithm: 'token-bucket', limit: 500, refillPerSecond: 1 },
    ]),
    { kind: 'user', id: 'alice' },
  )
  const expected: Record<string, number> = {
    [`rl:user:alice:${minute}`]: 120,
    [`rl:user:alice:${day}`]: 172_800,
    [`rl:ip:2001%3Adb8%3A%3A1:${minute}`]: 120,
    [`rl:log%20in:user:alice:${minute}`]: 120,
    'rl:burst:user:alice:bucket': 60,
    'rl:slow:user:alice:bucket': 500,
  }
  assert.deepEqual((await redis.keys('*')).sort(), Object.keys(expected).sort())
  for (const [key, seconds] of Object.entries(expected)) {
    const left = (await redis.pttl(key)) / 1000
    assert(left > seconds - 5 && left <= seconds, `${key} expires in ${left} s`)
  }
  assert.deepEqual(await redis.hgetall('rl:burst:user:alice:bucket'), { tokens: '4', ts: String(start) })
})

redisTest(
  'what was spent in a window that has ended is counted in that window, also by the clock of Redis',
  async () => {
    await using bench = await setup()
    const { redis } = bench
    const store = redisStore(redis)
    const policy = definePolicy('added', [{ name: 'added', limit: 100, windowMs: 60_000 }])
    const user = { kind: 'user', id: 'alice' }
    await store.acquire({ policy, identifier: user, cost: 1, now: start })
    const then = (store.time?.(start) ?? start) - 60_000
    await store.add({ policy, identifier: user, amounts: [7], now: start, countedAt: then })
    assert.equal(await redis.get(`rl:added:user:alice:${Math.floor(then / 60_000)}`), '7')
  },
)

redisTest('counts are raised in the windows of their time, also by the clock of Redis', async () => {
  await using bench = await setup()
  const { redis } = bench
  const store = redisStore(redis)
  const policy = definePolicy('raised', [{ name: 'raised', limit: 100, windowMs: 60_000 }])
  const user = { kind: 'user', id: 'alice' }
  const { now } = await store.acquire({ policy, identifier: user, cost: 1, now: start })
  const then = (store.time?.(now) ?? now) - 60_000
  const index = Math.floor(then / 60_000)
  const { counters } = await store.raise(policy, user, [3, 7], then)
  assert.deepEqual(counters, [3, 7])
  const keys = [index - 1, index].map((window) => `rl:raised:user:alice:${window}`)
  assert.deepEqual(await redis.mget(keys), ['3', '7'])
})

redisTest('checks of one turn of the event loop travel in one script call', async () => {
  await using bench = await setup()
  const { limiter, redis } = bench
  const policy = tierPolicy('free', { rpm: 10, daily: 1_000 })
  await limiter.check(policy, { kind: 'user', id: 'first' })
  await redis.config('RESETSTAT')
  await Promise.all(Array.from({ length: 100 }, (_, i) => limiter.check(policy, { kind: 'user', id: `user-${i}` })))
  assert.match(await redis.info('commandstats'), /cmdstat_evalsha:calls=1,/)
})

redisTest('a cost that no counter can hold does not fail the checks of its batch', async () => {
  await using bench = await setup()
  const { limiter } = bench
  const rule = { name: 'candidate', algorithm: 'fixed-window', limit: 5, windowMs: 60_000, shadow: true } as const
  const candidate = definePolicy('candidate', [rule])
  const check = async (id: string, cost: number) => limiter.check(candidate, { kind: 'user', id }, { cost })
  const outcomes = await Promise.allSettled([check('alice', 1e21), check('alice', 1e21), check('bob', 2 ** 31 - 1)])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.source : String(outcome.reason))),
    [...Array(2).fill('RangeError: cost must be at most 2147483647, got 1e+21'), 'store'],
  )
  assert.equal((await check('alice', 1)).source, 'store')
})

redisTest('sub-counters together admit exactly the limit, and say how long to wait', async () => {
  await using bench = await setup()
  const { redis } = bench
  let now = start
  const store = shardedStore(redisStore(redis, { clock: 'limiter' }))
  const limiter = createLimiter({ store, clock: { now: () => now }, deadlineMs: 5_000 })
  const hot = definePolicy('hot', [{ name: 'hot', limit: 40, windowMs: 60_000 }], { shards: 4 })
  const route = { kind: 'route', id: '/hot' }
  const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.check(hot, route)))
  assert.equal(decisions.filter(({ allowed }) => allowed).length, 40)
  const index = start / 60_000
  assert.deepEqual(
    (await redis.keys('*')).sort(),
    [0, 1, 2, 3].map((i) => `rl:hot:route:%2Fhot%23${i}:${index}`),
  )
  const rejected = await limiter.check(hot, route)
  now += rejected.retryAfterSeconds * 1000
  assert((await limiter.check(hot, route)).allowed)
})

const minuteMs = 60_000
const bucket = definePolicy('bucket', [
  { name: 'bucket', algorithm: 'token-bucket', limit: 10, refillPerSecond: 10 / 60 },
])

redisTest('a clock that goes back an hour limits nobody until it catches up: bucket', async () => {
  await using bench = await setup()
  const allows = takesAt(bench.redis)
  assert.ok(await allows(1, 60 * minuteMs))
  for (let i = 0; i < 116; i++) assert.ok(await allows(1, (i * minuteMs) / 2), `request ${i}`)
})

redisTest('a clock that goes back an hour unblocks nobody at once: bucket', async () => {
  await using bench = await setup()
  const allows = takesAt(bench.redis)
  assert.ok(await allows(10, 60 * minuteMs))
  for (const elapsedMs of [0, 100, 1_000]) assert.ok(!(await allows(1, elapsedMs)))
  assert.ok(await allows(10, 2 * minuteMs))
})

redisTest('processes whose clocks differ by 15 ms admit no more of a bucket that fills sooner', async () => {
  await using bench = await setup()
  const fast = definePolicy('fast', [{ name: 'fast', algorithm: 'token-bucket', limit: 10, refillPerSecond: 1_000 }])
  const allows = takesAt(bench.redis, fast)
  let admitted = 0
  for (let elapsedMs = 0; elapsedMs < 200; elapsedMs++)
    for (const aheadMs of [0, 15]) if (await allows(1, elapsedMs + aheadMs)) admitted++
  assert.ok(admitted <= 10 + 200 + 15, `${admitted} were admitted`)
})

redisTest('a rejected check ends what a key keeps of a clock that was years ahead', async () => {
  await using bench = await setup()
  const allows = takesAt(bench.redis)
  assert.ok(await allows(10, 3 * 365 * 86_400_000))
  assert.ok(!(await allows(1, 0)))
  const [key = ''] = await bench.redis.keys('*bucket*')
  assert.equal(await bench.redis.hget(key, 'ts'), String(start))
})

/** Whether the bucket has so many units, so long after the start. */
function takesAt(redis: Redis, policy = bucket) {
  const store = redisStore(redis, { clock: 'limiter' })
  return async (cost: number, elapsedMs: number) => {
    const request = { policy, identifier: { kind: 'user', id: 'alice' }, cost, now: start + elapsedMs }
    return (await store.acquire(request)).allowed
  }
}
