import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Breaker,
  type CounterResult,
  type CounterStore,
  createLimiter,
  decisionHeaders,
  definePolicy,
  memoryStore,
} from '@gatehouse/limiter'

const start = Date.UTC(2026, 0, 1)
const alice = { kind: 'user', id: 'alice' }
const bob = { kind: 'user', id: 'bob' }
const limits = [{ name: 'r', limit: 3, windowMs: 60_000 }]
const open = definePolicy('open', limits, { failureMode: 'open' })
const closed = definePolicy('closed', limits, { failureMode: 'closed' })
const local = definePolicy('local', limits, { failureMode: 'local' })

/** A store that answers by promises and can fall silent, fail, or lose its memory. */
function setup() {
  let memory = memoryStore()
  let now = start
  const calls: string[] = []
  const state: { mood: 'well' | 'silent' | 'failing' } = { mood: 'well' }
  const ask = <T>(what: string, answer: () => T): Promise<T> => {
    calls.push(what)
    if (state.mood === 'silent') return new Promise(() => {})
    return state.mood === 'failing' ? Promise.reject(new Error('connection refused')) : Promise.resolve(answer())
  }
  const store: CounterStore & { generation: number } = {
    generation: 1,
    acquire: (request) => ask('acquire', () => memory.acquire(request)),
    peek: (policy, who, at) => ask('peek', () => memory.peek(policy, who, at)),
    add: ({ policy, identifier, amounts, now: at }) =>
      ask('add', () => memory.add({ policy, identifier, amounts, now: at })),
    grant: (policy, who, amount, at) => ask('grant', () => memory.grant(policy, who, amount, at)),
    raise: (policy, who, counters, at) => ask('raise', (): CounterResult => memory.raise(policy, who, counters, at)),
    reset: (policy, who, at) => ask('reset', () => memory.reset(policy, who, at)),
  }
  const states: string[] = []
  const limiter = createLimiter({
    store,
    clock: { now: () => now },
    closedDeadlineMs: 20,
    breaker: { failures: 3, openMs: 1_000, maxOpenMs: 4_000 },
    observer: { onBreakerChange: (breaker, patience) => states.push(`${patience} ${breaker}`) },
  })
  return {
    limiter,
    store,
    state,
    calls,
    states,
    wait(milliseconds: number) {
      now += milliseconds
    },
    loseMemory() {
      memory = memoryStore()
      store.generation++
    },
    result: () => memory.peek(local, alice, now).counters,
  }
}

test('a slow store is replaced by the local count, which continues from the last result', async () => {
  for (const policy of [open, local]) {
    const { limiter, state } = setup()
    await limiter.check(policy, alice)
    state.mood = 'silent'
    const decisions = [await limiter.check(policy, alice), await limiter.check(policy, alice)]
    assert.deepEqual(
      decisions.map(({ allowed, source, remaining }) => [allowed, source, remaining]),
      [
        [true, 'local', 1],
        [true, 'local', 0],
      ],
    )
    assert(!(await limiter.check(policy, alice)).allowed)
  }
})

test('a store that fails is replaced by the failure mode', async () => {
  const { limiter, state } = setup()
  state.mood = 'failing'
  const answer = async (policy: typeof open) => {
    const { allowed, source, retryAfterSeconds } = await limiter.check(policy, alice)
    return [allowed, source, retryAfterSeconds]
  }
  assert.deepEqual(await answer(open), [true, 'open', 0])
  assert.deepEqual(await answer(closed), [false, 'closed', 1])
  assert.deepEqual(await answer(local), [true, 'local', 0])
})

test('a policy that fails closed waits longer, and rejects with Retry-After', async () => {
  const { limiter, state } = setup()
  await limiter.check(closed, alice)
  state.mood = 'silent'
  const { allowed, source, retryAfterSeconds } = await limiter.check(closed, alice)
  assert.deepEqual([allowed, source], [false, 'closed'])
  assert(retryAfterSeconds >= 1)
})

test('a store that stays silent is not called again until a probe succeeds', async () => {
  const { limiter, state, calls, states, wait } = setup()
  state.mood = 'silent'
  for (let i = 0; i < 3; i++) await limiter.check(open, alice)
  assert.deepEqual(states, ['standard open'])
  const before = calls.length
  for (let i = 0; i < 10; i++) assert.equal((await limiter.check(open, alice)).source, 'open')
  assert.equal(calls.length, before)
  wait(2_000)
  const checks = [limiter.check(open, alice), limiter.check(open, alice)]
  assert.equal(calls.length, before + 1)
  await Promise.all(checks)
  assert.deepEqual(states.slice(1), ['standard half-open', 'standard open'])
  state.mood = 'well'
  wait(10_000)
  assert.equal((await limiter.check(open, bob)).source, 'store')
  assert.equal((await limiter.check(open, bob)).source, 'store')
  assert.deepEqual(states.slice(3), ['standard half-open', 'standard closed'])
})

test('an open breaker admits a probe once the clock has gone back', async () => {
  const { limiter, state, calls, states, wait } = setup()
  state.mood = 'silent'
  for (let i = 0; i < 3; i++) await limiter.check(closed, alice)
  assert.deepEqual(states, ['fail_closed open'])
  state.mood = 'well'
  const before = calls.length
  assert.equal((await limiter.check(closed, alice)).source, 'closed')
  assert.equal(calls.length, before)
  wait(-3_600_000)
  assert.equal((await limiter.check(closed, alice)).source, 'store')
  assert.deepEqual(states.slice(1), ['fail_closed half-open', 'fail_closed closed'])
})

test('a breaker stays open no longer than its maximum, wherever the clock goes', () => {
  const breaker = new Breaker({ failures: 1, openMs: 1_000, maxOpenMs: 4_000 })
  breaker.recordFailure(start, 'first')
  for (let now = start, failures = 0; failures < 5; failures++) {
    assert(breaker.waitMs(now) > 0 && breaker.waitMs(now) <= 5_000, `waits ${breaker.waitMs(now)} ms`)
    assert(!breaker.admits(now))
    now -= 3_600_000
    assert.equal(breaker.waitMs(now), 0)
    assert(breaker.admits(now))
    assert(!breaker.admits(now), 'one probe at a time')
    now -= 3_600_000
    assert(breaker.admits(now), 'a probe without an outcome')
    breaker.recordFailure(now, failures)
  }
})

test('checks of one batch that are lost together count as one failure', async () => {
  const { limiter, state, states } = setup()
  state.mood = 'silent'
  await Promise.all(Array.from({ length: 50 }, () => limiter.check(open, alice)))
  assert.deepEqual(states, [])
})

test('policies that fail closed have a circuit breaker of their own', async () => {
  const { limiter, state, states } = setup()
  state.mood = 'silent'
  for (let i = 0; i < 4; i++) await limiter.check(local, alice)
  assert.deepEqual(states, ['standard open'])
  state.mood = 'well'
  assert.equal((await limiter.check(closed, bob)).source, 'store')
})

test('a busy event loop causes no timeout when the response has arrived', async () => {
  const memory = memoryStore()
  const answerLater = <T>(answer: T): Promise<T> =>
    new Promise((resolve) => setImmediate(() => setImmediate(resolve, answer)))
  const store: CounterStore = { ...silent, acquire: (...args) => answerLater(memory.acquire(...args)) }
  const limiter = createLimiter({ store, deadlineMs: 1 })
  for (let i = 0; i < 20; i++) {
    const check = limiter.check(open, { kind: 'user', id: `busy-${i}` })
    setImmediate(() => {
      const until = performance.now() + 5
      while (performance.now() < until);
    })
    assert.equal((await check).source, 'store')
  }
})

test('lost counts are raised to what this process remembers, and counted once', async () => {
  const { limiter, result, loseMemory } = setup()
  await limiter.check(local, alice)
  await limiter.check(local, alice)
  loseMemory()
  await limiter.check(local, bob)
  const third = await limiter.check(local, alice)
  assert.deepEqual([third.allowed, third.remaining], [true, 0])
  assert.deepEqual(result(), [0, 3])
  assert(!(await limiter.check(local, alice)).allowed)
})

test('grants and resets of other processes are respected after an outage', async () => {
  const { limiter, store, state, wait } = setup()
  const elsewhere = createLimiter({ store, clock: { now: () => start } })
  for (const give of [() => elsewhere.reset(local, alice), () => elsewhere.grant(local, alice, 3)]) {
    while ((await limiter.check(local, alice)).allowed);
    state.mood = 'failing'
    await limiter.check(local, bob)
    state.mood = 'well'
    await give()
    wait(1)
    const first = await limiter.check(local, alice)
    assert.deepEqual([first.allowed, first.source, first.remaining], [true, 'store', 2])
    assert.equal((await limiter.check(local, alice)).remaining, 1)
  }
})

test('headers show at most the limit as remaining, however much was granted', async () => {
  const { limiter } = setup()
  await limiter.grant(local, alice, 50)
  const headers = decisionHeaders(await limiter.check(local, alice), { ietf: 'draft-11' })
  assert.equal(headers['X-RateLimit-Remaining'], headers['X-RateLimit-Limit'])
  assert.match(headers.RateLimit ?? '', /;r=3;/)
})

test('a lost bucket is lowered to the remembered tokens, refilled since', async () => {
  const { limiter, loseMemory, wait } = setup()
  const bucket = definePolicy('bucket', [{ name: 'b', algorithm: 'token-bucket', limit: 5, refillPerSecond: 1 }])
  const burst = async (attempts: number) => {
    const decisions = []
    for (let i = 0; i < attempts; i++) decisions.push((await limiter.check(bucket, alice)).allowed)
    return decisions.filter(Boolean).length
  }
  assert.equal(await burst(5), 5)
  loseMemory()
  await limiter.check(local, bob)
  wait(2_000)
  assert.equal(await burst(5), 2)
  wait(1_000)
  assert.equal(await burst(5), 1)
})

test('local counts of an outage are restored once when the store is back', async () => {
  const { limiter, state, result, wait } = setup()
  await limiter.check(local, alice)
  state.mood = 'silent'
  await limiter.check(local, alice)
  state.mood = 'well'
  wait(1)
  assert.equal((await limiter.check(local, alice)).remaining, 0)
  assert.deepEqual(result(), [0, 3])
  assert(!(await limiter.check(local, alice)).allowed)
})

test('a reset is not undone by the counts that this process remembers', async () => {
  const { limiter } = setup()
  for (let i = 0; i < 3; i++) await limiter.check(local, alice)
  await limiter.reset(local, alice)
  assert.equal((await limiter.check(local, alice)).remaining, 2)
  await limiter.grant(local, alice, 1)
  assert.equal((await limiter.check(local, alice)).remaining, 2)
})

test('grant and reset reject when the store is unavailable', async () => {
  const { limiter, state } = setup()
  state.mood = 'silent'
  await assert.rejects(limiter.reset(local, alice), /did not respond in time/)
  state.mood = 'failing'
  await assert.rejects(limiter.grant(local, alice, 1), /connection refused/)
})

test('regional quotas are counted in the regional store, global ones in the global store', async () => {
  const [global, regional] = [memoryStore(), memoryStore()]
  const limiter = createLimiter({ store: global, regionalStore: regional, clock: { now: () => start } })
  const here = definePolicy('here', limits, { quota: 'regional' })
  await limiter.check(here, alice)
  await limiter.check(closed, alice)
  await limiter.check(closed, alice)
  assert.deepEqual(regional.peek(here, alice, start).counters, [0, 1])
  assert.deepEqual(global.peek(closed, alice, start).counters, [0, 2])
})

const never = (): never => {
  throw new Error('not called in this test')
}
const silent: CounterStore = { acquire: never, peek: never, add: never, grant: never, raise: never, reset: never }

test('an invalid identifier is thrown at once, and is no failure of the store', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  let late = 0
  const memory = memoryStore()
  const store: CounterStore = Object.assign(Object.create(memory), {
    acquireAtOnce: undefined,
    startAcquire: () => {
      throw new RangeError('an id must have 1 to 512 characters')
    },
  })
  const limiter = createLimiter({ store, observer: { onStoreTimeout: () => late++ } })
  assert.throws(() => limiter.check(local, { kind: 'user', id: '' }), RangeError)
  for (let i = 0; i < 3; i++) context.mock.timers.tick(1_000)
  assert.equal(late, 0)
})
