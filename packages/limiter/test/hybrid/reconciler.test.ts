import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  type CounterStore,
  definePolicy,
  hybridStore,
  memoryStore,
  NotCountedError,
  type Policy,
  tierPolicy,
} from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'

const start = Date.UTC(2026, 0, 1)
const minuteMs = 60_000
const who = { kind: 'user', id: 'alice' }
const busy = definePolicy('busy', [{ name: 'busy', limit: 1_000, windowMs: minuteMs }], { advisory: true })
const tier = tierPolicy('pro', { rpm: 1_000, daily: 100_000 }, { advisory: true })
/** More than the calls that may be unanswered at a time. */
const users = Array.from({ length: 20_000 }, (_, i) => ({ kind: 'user', id: `user-${i}` }))

/** A server whose commands wait while it is `silent`. */
async function startSlowRedis() {
  const server = await startRedis()
  const client = new Redis(server.url)
  let silence = Promise.withResolvers<void>()
  silence.resolve()
  return {
    client: {
      evalsha: async (...call: Parameters<Redis['evalsha']>) => silence.promise.then(() => client.evalsha(...call)),
      eval: async (...call: Parameters<Redis['eval']>) => silence.promise.then(() => client.eval(...call)),
    },
    begin() {
      silence = Promise.withResolvers<void>()
    },
    end: () => silence.resolve(),
    async stop() {
      client.disconnect()
      await server.stop()
    },
  }
}

/** Checks every user once by the store, which counts further checks here from then on. */
async function checkAll(store: CounterStore, now: number): Promise<void> {
  for (let i = 0; i < users.length; i += 16)
    await Promise.all(
      users.slice(i, i + 16).map((identifier) => store.acquire({ policy: tier, identifier, cost: 1, now })),
    )
}

function checkAllHere(store: CounterStore, now: number, cost = 1): void {
  for (const identifier of users)
    assert(!(store.acquire({ policy: tier, identifier, cost, now }) instanceof Promise), 'counted here')
}

/** The counters of all users, each once. */
async function differentCounters(store: CounterStore, now: number): Promise<string[]> {
  const found = new Set<string>()
  for (let i = 0; i < users.length; i += 5_000) {
    const results = await Promise.all(users.slice(i, i + 5_000).map((user) => store.peek(tier, user, now)))
    for (const { counters } of results) found.add(counters.join(' '))
  }
  return [...found]
}

/** Begins a round and lets it run for as long as it may last. */
async function passSecond(context: TestContext, store: { reconcile(): Promise<void> }): Promise<void> {
  const round = store.reconcile()
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
  context.mock.timers.tick(1_000)
  await round
}

testWith('redis-server', 'units of a minute that ends reach Redis, of however many keys', async (context) => {
  const redis = await startSlowRedis()
  try {
    const counters = redisStore(redis.client, { clock: 'limiter' })
    const store = hybridStore(counters, { instances: 1, intervalMs: 0 })
    const last = start + minuteMs - 1_000
    await checkAll(store, last)
    checkAllHere(store, last)
    const next = start + minuteMs + 1_000
    checkAllHere(store, next)
    // The round ends by its answers alone, however slow the machine is.
    context.mock.timers.enable({ apis: ['setTimeout'] })
    await store.close()
    assert.deepEqual(await differentCounters(counters, next), ['2 1 0 3'])
  } finally {
    await redis.stop()
  }
})

testWith('redis-server', 'units wait here while a store is silent, and none is dropped', async (context) => {
  const redis = await startSlowRedis()
  try {
    const counters = redisStore(redis.client, { clock: 'limiter' })
    const store = hybridStore(counters, { instances: 1, intervalMs: 0 })
    await checkAll(store, start)
    redis.begin()
    context.mock.timers.enable({ apis: ['setTimeout'] })
    checkAllHere(store, start, 30)
    for (let second = 0; second < 20; second++) await passSecond(context, store)
    redis.end()
    // Answered after all that was sent before.
    await counters.peek(tier, who, start)
    await store.close()
    assert.deepEqual(await differentCounters(counters, start), ['0 31 0 31'])
  } finally {
    redis.end()
    await redis.stop()
  }
})

/** A store in this process that promises, and fails while it `isBroken`: before it counts, or after. */
function setup() {
  let memory = memoryStore()
  const lose = (): void => {
    memory = memoryStore()
  }
  const state: { isBroken: false | 'before' | 'after' | 'refusing'; stepMs: number; lose(): void } = {
    isBroken: false,
    stepMs: 0,
    lose,
  }
  const counted = (policy: Policy, now: number) => memory.peek(policy, who, now).counters
  const call = async <T>(act: () => T): Promise<T> => {
    if (state.isBroken === 'before') throw new Error('the store is unavailable')
    if (state.isBroken === 'refusing') throw new NotCountedError('READONLY')
    const result = act()
    if (state.isBroken === 'after') throw new Error('no response')
    return result
  }
  const shared: CounterStore = {
    acquire: (request) => call(() => memory.acquire({ ...request, now: request.now + state.stepMs })),
    peek: (...args) => call(() => memory.peek(...args)),
    add: (request) => call(() => memory.add(request)),
    grant: (...args) => call(() => memory.grant(...args)),
    raise: (...args) => call(() => memory.raise(...args)),
    reset: (...args) => call(() => memory.reset(...args)),
  }
  return { shared, counted, state, store: hybridStore(shared, { instances: 2, intervalMs: 0 }) }
}

for (const [what, isBroken, between] of [
  ['that the store has not counted are restored', 'before', 0],
  ['that the store has not counted are restored when more follow', 'before', 20],
  ['that the store has counted are not counted twice', 'after', 20],
] as const)
  test(`units of a call that failed ${what}`, async () => {
    const { counted, state, store } = setup()
    await store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
    state.isBroken = isBroken
    for (let i = 0; i < 10; i++) store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
    await store.reconcile()
    state.isBroken = false
    for (let i = 0; i < between + 1; i++) await store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
    await store.reconcile()
    await store.reconcile()
    assert.deepEqual(counted(busy, start), [0, 12 + between])
  })

for (const [when, laterMs, expected] of [
  ['in the same minute', 0, [0, 22]],
  ['when their minute has ended', 1, [22, 0]],
] as const)
  test(`units that the store has refused are sent again by every process, ${when}`, async () => {
    const { shared, counted, state, store } = setup()
    const stores = [
      store,
      hybridStore(shared, { instances: 2, intervalMs: 0, onUnconfirmed: (units) => assert.fail(`${units} units`) }),
    ]
    const now = start + minuteMs - 1
    for (const one of stores) {
      await one.acquire({ policy: busy, identifier: who, cost: 1, now })
      for (let i = 0; i < 10; i++) one.acquire({ policy: busy, identifier: who, cost: 1, now })
    }
    state.isBroken = 'refusing'
    for (const one of [...stores, ...stores]) await one.reconcile()
    for (const one of stores)
      await assert.rejects(async () => one.acquire({ policy: busy, identifier: who, cost: 900, now: now + laterMs }))
    for (const one of stores) await one.reconcile()
    assert.deepEqual(counted(busy, now), [0, 2])
    state.isBroken = false
    for (const one of stores) await one.reconcile()
    assert.deepEqual(counted(busy, now + laterMs), expected)
  })

test('an operator who resets a key after a call failed is not overruled', async () => {
  const { shared, counted, state, store } = setup()
  await store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  state.isBroken = 'before'
  for (let i = 0; i < 10; i++) store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await store.reconcile()
  state.isBroken = false
  await shared.reset(busy, who, start)
  store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await store.reconcile()
  assert.deepEqual(counted(busy, start), [0, 1])
  assert.deepEqual((await store.acquire({ policy: busy, identifier: who, cost: 1, now: start })).counters, [0, 2])
})

test('a shadow rule that rejects is not raised after a call failed', async () => {
  const { shared, counted, state, store } = setup()
  const shadowed = definePolicy(
    'shadowed',
    [
      { name: 'busy', limit: 1_000, windowMs: minuteMs },
      { name: 'candidate', limit: 40, windowMs: minuteMs, shadow: true },
    ],
    { advisory: true },
  )
  const check = () => store.acquire({ policy: shadowed, identifier: who, cost: 1, now: start })
  await shared.acquire({ policy: shadowed, identifier: who, cost: 40, now: start })
  await check()
  state.isBroken = 'before'
  check()
  await store.reconcile()
  await assert.rejects(async () => store.acquire({ policy: shadowed, identifier: who, cost: 500, now: start }))
  state.isBroken = false
  await store.acquire({ policy: shadowed, identifier: who, cost: 100, now: start })
  await store.reconcile()
  assert.deepEqual(counted(shadowed, start), [0, 142, 0, 40])
})

test('a result of the next minute does not hide units of the last one that are not sent', async () => {
  const { counted, state, store } = setup()
  const now = start + minuteMs - 100
  await store.acquire({ policy: busy, identifier: who, cost: 1, now })
  state.stepMs = 200
  const late = store.acquire({ policy: busy, identifier: who, cost: 50, now })
  assert(late instanceof Promise)
  for (let i = 0; i < 10; i++)
    assert(!(store.acquire({ policy: busy, identifier: who, cost: 1, now }) instanceof Promise))
  await late
  const next = start + minuteMs + 200
  assert.deepEqual((await store.acquire({ policy: busy, identifier: who, cost: 1, now: next })).counters, [11, 51])
  await store.reconcile()
  assert.deepEqual(counted(busy, next), [11, 51])
})

test('counts that were lost as a minute ended are raised without units that are sent afterwards', async () => {
  const { counted, state, store } = setup()
  const now = start + minuteMs - 100
  const spend = (cost: number, at = now) => store.acquire({ policy: tier, identifier: who, cost, now: at })
  await spend(1)
  for (let round = 0; round < 3; round++) {
    await spend(40)
    await store.reconcile()
  }
  state.lose()
  state.stepMs = 200
  const late = spend(60)
  spend(10)
  await late
  state.stepMs = 0
  await spend(1, now + 200)
  await store.reconcile()
  assert.deepEqual(counted(tier, now + 200), [131, 61, 0, 192])
})

test('a late result of the last minute raises only what was counted in that minute', async () => {
  const { shared, counted, state } = setup()
  const raised: (readonly number[])[] = []
  const answer = Promise.withResolvers<void>()
  const store = hybridStore(
    {
      ...shared,
      async acquire(request) {
        const result = await shared.acquire(request)
        if (request.cost === 60) await answer.promise
        return result
      },
      raise(...call) {
        raised.push(call[2])
        return shared.raise(...call)
      },
    },
    { instances: 2, intervalMs: 0 },
  )
  const now = start + minuteMs - 100
  const spend = (cost: number, at = now) => store.acquire({ policy: tier, identifier: who, cost, now: at })
  await spend(1)
  for (let round = 0; round < 3; round++) {
    await spend(40)
    await store.reconcile()
  }
  state.lose()
  const late = spend(60)
  spend(1, now + 200)
  answer.resolve()
  await late
  assert.deepEqual(raised, [[0, 121, 0, 181]])
  assert.deepEqual(counted(tier, now), [0, 121, 0, 181])
})

test('a busy key among very many is sent in the round after its minute has ended', async (context) => {
  const { shared, store } = setup()
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const some = users.slice(0, 4_500)
  const next = start + minuteMs
  for (const identifier of some) {
    for (const cost of [1, 30]) await store.acquire({ policy: busy, identifier, cost, now: next - 100 })
    await store.acquire({ policy: busy, identifier, cost: 1, now: next })
  }
  await store.reconcile()
  const found = new Set<number | undefined>()
  for (const identifier of some) found.add((await shared.peek(busy, identifier, next)).counters[0])
  assert.deepEqual([...found], [31])
})

test('a rejection is not repeated without a call once the clock has gone back', async () => {
  const { store } = setup()
  const check = (cost: number, now: number) => store.acquire({ policy: busy, identifier: who, cost, now })
  await check(1_000, start)
  assert(!(await check(1, start)).allowed)
  assert(!(check(1, start) instanceof Promise))
  assert(check(1, start - 60 * minuteMs) instanceof Promise)
})

test('closing several kinds of identifiers takes no more than five seconds', async (context) => {
  const { shared } = setup()
  const silent: CounterStore = { ...shared, add: () => new Promise(() => {}) }
  const store = hybridStore(silent, { instances: 2, intervalMs: 0 })
  for (const kind of ['user', 'client', 'ip'])
    for (let i = 0; i < 6_000; i++)
      for (let times = 0; times < 2; times++)
        await store.acquire({ policy: busy, identifier: { kind, id: `${i}` }, cost: 1, now: start })
  context.mock.timers.enable({ apis: ['setTimeout'] })
  let isClosed = false
  const closed = store.close().then(() => {
    isClosed = true
  })
  for (let second = 0; second < 5; second++) {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    context.mock.timers.tick(1_000)
  }
  await new Promise((resolve) => setImmediate(resolve))
  assert(isClosed)
  await closed
})

test('closing waits for the round under way', async () => {
  const { shared, counted, store } = setup()
  const some = users.slice(0, 3_000)
  for (const identifier of [who, ...some])
    for (let times = 0; times < 2; times++) await store.acquire({ policy: busy, identifier, cost: 1, now: start })
  void store.reconcile()
  await store.close()
  const counts = await Promise.all(some.map((identifier) => shared.peek(busy, identifier, start)))
  assert.deepEqual([...new Set(counts.map(({ counters }) => counters[1]))], [2])
  assert.deepEqual(counted(busy, start), [0, 2])
})

test('units of a key are sent before more are acquired, however many calls are unanswered', async (context) => {
  const { shared, counted } = setup()
  const silent = new Promise<never>(() => {})
  const store = hybridStore(
    { ...shared, add: (request) => (request.identifier.kind === 'ip' ? silent : shared.add(request)) },
    { instances: 2, intervalMs: 0 },
  )
  for (let i = 0; i < 20_000; i++)
    for (const cost of [1, 30])
      await store.acquire({ policy: busy, identifier: { kind: 'ip', id: `${i}` }, cost, now: start })
  await store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  context.mock.timers.enable({ apis: ['setTimeout'] })
  for (let second = 0; second < 10; second++) await passSecond(context, store)
  for (let i = 0; i < 30; i++) store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  const { counters } = await store.acquire({ policy: busy, identifier: who, cost: 100, now: start })
  assert.deepEqual(counters, [0, 131])
  assert.deepEqual(counted(busy, start), [0, 131])
})

test('units counted while the clock has gone back over the start of a minute are settled', async () => {
  const { counted, store } = setup()
  const next = start + minuteMs
  const check = (cost: number, now: number) => store.acquire({ policy: busy, identifier: who, cost, now })
  await check(1, next + 1)
  for (let i = 0; i < 10; i++) assert(!(check(1, next - 1) instanceof Promise), 'counted here')
  await store.reconcile()
  await check(200, next + 1)
  const result = check(1, next + 1)
  assert(!(result instanceof Promise), 'counted here')
  await store.reconcile()
  assert.deepEqual(result.counters[1], counted(busy, next + 1)[1])
})
