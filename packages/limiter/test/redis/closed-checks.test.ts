import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { type CounterResult, createLimiter, definePolicy, type Limiter } from '@gatehouse/limiter'
import { type IoredisClient, redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'

const redisTest = (title: string, body: () => Promise<void>): void => testWith('redis-server', title, body)
const alice = { kind: 'user', id: 'alice' }
const hour = 3_600_000
const login = (limit: number) => definePolicy('login', [{ name: 'login', limit, windowMs: hour }], closed)
const closed = { failureMode: 'closed' } as const

async function setup(args: readonly string[] = []) {
  const server = await startRedis({ args })
  const redis = new Redis(server.url)
  // The first reply says what time the server has: it is not to wait for the connection.
  await redis.ping()
  return {
    server,
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      await server.stop()
    },
  }
}

const admitted = async (checks: readonly ReturnType<Limiter['check']>[]) =>
  (await Promise.all(checks)).filter(({ allowed }) => allowed).length

redisTest('checks that timed out on a frozen Redis are not counted when it continues', async () => {
  await using bench = await setup()
  const { server, redis } = bench
  const limiter = createLimiter({ store: redisStore(redis), closedDeadlineMs: 300, breaker: { failures: 100 } })
  const policy = login(2)
  await limiter.peek(policy, alice)
  server.process.kill('SIGSTOP')
  const rejected = await Promise.all([1, 2, 3, 4].map(() => limiter.check(policy, alice)))
  server.process.kill('SIGCONT')
  assert.deepEqual(new Set(rejected.map(({ source }) => source)), new Set(['closed']))
  await redis.ping()
  assert.deepEqual(await redis.keys('rl:login:*'), [], 'nothing was counted')
  assert.equal(await admitted([1, 2, 3].map(() => limiter.check(policy, alice))), 2)
})

/** `allowed` of each result, or the message of its error. */
const outcomesOf = async (results: readonly Promise<CounterResult>[]) =>
  (await Promise.allSettled(results)).map((result) =>
    result.status === 'fulfilled' ? result.value.allowed : (result.reason as Error).message,
  )

redisTest('a check whose time has expired does not fail the checks of its batch', async () => {
  await using bench = await setup()
  const store = redisStore(bench.redis)
  const policy = login(5)
  await store.peek(policy, alice, 0)
  const acquire = (withinMs: number) =>
    Promise.resolve(store.acquire({ policy, identifier: alice, cost: 1, now: 0, withinMs }))
  assert.deepEqual(await outcomesOf([acquire(5_000), acquire(0), acquire(5_000)]), [
    true,
    'the check waited too long for the counter store and was not sent',
    true,
  ])
  assert.deepEqual((await store.peek(policy, alice, 0)).counters, [0, 2])
})

redisTest('a check that reaches Redis too late fails alone in its batch', async () => {
  await using bench = await setup()
  const { server, redis } = bench
  const store = redisStore(redis)
  const policy = login(5)
  await store.peek(policy, alice, 0)
  const acquire = (withinMs: number) =>
    Promise.resolve(store.acquire({ policy, identifier: alice, cost: 1, now: 0, withinMs }))
  server.process.kill('SIGSTOP')
  const outcomes = outcomesOf([acquire(5_000), acquire(150), acquire(300), acquire(5_000)])
  await setTimeout(400)
  server.process.kill('SIGCONT')
  const tooLate = 'the check reached the counter store too late and was not counted'
  assert.deepEqual(await outcomes, [true, tooLate, tooLate, true])
  assert.deepEqual((await store.peek(policy, alice, 0)).counters, [0, 2])
})

redisTest('no check is counted late after a slow reply gave an imprecise clock', async () => {
  await using bench = await setup()
  const { server, redis } = bench
  const store = redisStore(redis)
  const limiter = createLimiter({ store, closedDeadlineMs: 300, breaker: { failures: 100 } })
  const policy = login(2)
  await createLimiter({ store: redisStore(redis), closedDeadlineMs: 5_000 }).check(login(1), {
    kind: 'user',
    id: 'bob',
  })
  await redisStore(redis).peek(policy, alice, 0)
  server.process.kill('SIGSTOP')
  const slow = store.peek(policy, alice, 0)
  assert.equal((await limiter.peek(policy, alice)).source, 'local')
  server.process.kill('SIGCONT')
  await slow
  server.process.kill('SIGSTOP')
  const rejected = await Promise.all([1, 2].map(() => limiter.check(policy, alice)))
  server.process.kill('SIGCONT')
  assert.deepEqual(new Set(rejected.map(({ source }) => source)), new Set(['closed']))
  await redis.ping()
  assert.deepEqual(await redis.keys('rl:login:user:alice*'), [], 'nothing was counted')
  assert.equal(await admitted([1, 2, 3].map(() => limiter.check(policy, alice))), 2)
})

redisTest('a frozen Redis counts late what was served by local counts', async () => {
  await using bench = await setup()
  const { server, redis } = bench
  const limiter = createLimiter({ store: redisStore(redis), deadlineMs: 50, breaker: { failures: 100 } })
  const policy = definePolicy('local', [{ name: 'local', limit: 5, windowMs: hour }])
  await limiter.peek(policy, alice)
  server.process.kill('SIGSTOP')
  assert.equal(await admitted([1, 2].map(() => limiter.check(policy, alice))), 2)
  server.process.kill('SIGCONT')
  await redis.ping()
  assert.equal((await limiter.peek(policy, alice)).remaining, 3)
})

/** A client whose server's clock is `skew.ms` beside the true one, to the scripts and in their answers. */
function skewed(redis: Redis, skew: { ms: number }): { readonly client: IoredisClient; readonly calls: string[] } {
  const calls: string[] = []
  const moved = (script: string) =>
    script.replaceAll(/redis\.call\('TIME'\)|call\('TIME'\)/g, 'moved()').replace(
      /^/,
      `local function moved()
         local time = redis.call('TIME')
         return { time[1] + redis.call('GET', 'skew') / 1000, time[2] }
       end
      `,
    )
  return {
    calls,
    client: {
      evalsha: async () => {
        throw new Error('NOSCRIPT')
      },
      async eval(script, keys, ...rest) {
        await redis.set('skew', skew.ms)
        calls.push('eval')
        return redis.eval(moved(script), keys, ...rest)
      },
    },
  }
}

for (const [what, first, then] of [
  ['far ahead of ours', 3_600_000, 3_600_000],
  ['far behind ours', -3_600_000, -3_600_000],
  ['set forward', 0, 10_000],
  ['set back', 0, -10_000],
] as const)
  redisTest(`the limit holds while the clock of Redis is ${what}`, async () => {
    await using bench = await setup()
    const skew: { ms: number } = { ms: first }
    const { client, calls } = skewed(bench.redis, skew)
    const moves: number[] = []
    const store = redisStore(client, { onClockStep: (milliseconds) => moves.push(milliseconds) })
    const limiter = createLimiter({ store, closedDeadlineMs: 5_000 })
    const policy = definePolicy('login', [{ name: 'login', limit: 3, windowMs: 86_400_000 * 30 }], closed)
    assert.equal(await admitted([limiter.check(policy, alice)]), 1)
    skew.ms = then
    calls.length = 0
    const decisions = [await limiter.check(policy, alice), await limiter.check(policy, alice)]
    assert.deepEqual(
      decisions.map(({ allowed, source }) => [allowed, source]),
      [
        [true, 'store'],
        [true, 'store'],
      ],
    )
    assert.equal((await limiter.check(policy, alice)).allowed, false)
    assert.equal(moves.length, first === then ? 0 : 1, 'a moved clock is reported')
    assert.ok(calls.length <= 4, 'at most one check is sent twice')
  })

redisTest('a check fails alone in its batch if a reply that was late left it too little time', async () => {
  await using bench = await setup()
  const skew: { ms: number } = { ms: 0 }
  const { client } = skewed(bench.redis, skew)
  let late: Promise<unknown> = Promise.resolve()
  const lateClient: IoredisClient = {
    ...client,
    async eval(script, keys, ...rest) {
      const reply = await client.eval(script, keys, ...rest)
      await late
      return reply
    },
  }
  const store = redisStore(lateClient)
  const policy = login(5)
  await store.peek(policy, alice, 0)
  const acquire = (withinMs: number) =>
    Promise.resolve(store.acquire({ policy, identifier: alice, cost: 1, now: 0, withinMs }))
  skew.ms = 10_000
  late = setTimeout(600)
  const outcomes = outcomesOf([acquire(60_000), acquire(1_000), acquire(60_000)])
  assert.deepEqual(await outcomes, [true, 'the check reached the counter store too late and was not counted', true])
  assert.deepEqual((await store.peek(policy, alice, 0)).counters, [0, 2])
})

redisTest('a limit that fails closed is not reset by a Redis that evicts its counter', async () => {
  await using bench = await setup(['--maxmemory-policy', 'allkeys-lru', '--maxmemory-samples', '10'])
  const { redis } = bench
  const restored: number[] = []
  const limiter = createLimiter({
    store: redisStore(redis),
    closedDeadlineMs: 5_000,
    observer: { onCountersRestored: () => restored.push(1) },
  })
  const policy = login(3)
  assert.equal(await admitted([1, 2, 3, 4].map(() => limiter.check(policy, alice))), 3)
  const [counter = ''] = await redis.keys('rl:login:*')
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
  await redis.config('SET', 'maxmemory', String(used + 1_000_000))
  for (let i = 0; (await redis.exists(counter)) === 1; i++) {
    assert.ok(i < 10_000, 'it was never evicted')
    await redis.set(`filler-${i}`, 'x'.repeat(20_000))
  }
  const next = [await limiter.check(policy, alice), await limiter.check(policy, alice)]
  assert.deepEqual(
    next.map(({ allowed }) => allowed),
    [false, false],
  )
  assert.equal(restored.length, 1)
  assert.equal(await redis.get(counter), '3', 'the store has the count again')
})

redisTest('a full Redis without eviction rejects checks that fail closed, and reports it', async () => {
  await using bench = await setup(['--maxmemory-policy', 'noeviction'])
  const { redis } = bench
  const failures: string[] = []
  const limiter = createLimiter({
    store: redisStore(redis),
    closedDeadlineMs: 5_000,
    observer: { onStoreError: (error) => failures.push(String(error)) },
  })
  await redis.config('SET', 'maxmemory', '1')
  const { allowed, source } = await limiter.check(login(3), alice)
  assert.deepEqual([allowed, source], [false, 'closed'])
  assert.match(failures.join(), /OOM/)
})

redisTest('granted units are not taken back by another process that remembers more', async () => {
  await using bench = await setup()
  const [here, there] = [1, 2].map(() => createLimiter({ store: redisStore(bench.redis), closedDeadlineMs: 5_000 }))
  const policy = login(10)
  for (let i = 0; i < 4; i++) await there?.check(policy, alice)
  await here?.grant(policy, alice, 2)
  assert.equal((await there?.check(policy, alice))?.remaining, 7)
  assert.equal((await there?.check(policy, alice))?.remaining, 6)
})
