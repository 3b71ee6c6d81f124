import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CounterStore,
  combinePolicies,
  createLimiter,
  definePolicy,
  type HybridStore,
  hybridStore,
  type Identifier,
  type MemoryStore,
  memoryStore,
  tierPolicy,
} from '@gatehouse/limiter'

const start = Date.UTC(2026, 0, 1)
const who = { kind: 'user', id: 'alice' }
const busy = definePolicy('busy', [{ name: 'busy', limit: 1_000, windowMs: 60_000 }], { advisory: true })

function setup(instances = 2) {
  let memory = memoryStore()
  let calls = 0
  /** Algorithms of the counts that were sent. */
  const read: string[] = []
  const shared: CounterStore = {
    acquire: async (request) => {
      calls++
      return memory.acquire(request)
    },
    peek: async (...args) => memory.peek(...args),
    add: async (request) => {
      read.push(...request.policy.rules.map(({ algorithm }) => algorithm))
      return memory.add(request)
    },
    grant: async (...args) => memory.grant(...args),
    raise: async (...args) => memory.raise(...args),
    reset: async (...args) => memory.reset(...args),
  }
  const members = Array.from({ length: instances }, () => hybridStore(shared, { instances, intervalMs: 0 }))
  const [one, two] = members
  assert(one && two)
  return {
    one,
    two,
    calls: () => calls,
    read,
    shared,
    memory: () => memory,
    counted: (now = start) => memory.peek(busy, who, now).counters,
    loseMemory() {
      memory = memoryStore()
    },
  }
}

test('an advisory limit is counted locally after the first result, and then reconciled', async () => {
  const { one, calls, counted } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (let i = 0; i < 40; i++)
    assert(!(one.acquire({ policy: busy, identifier: who, cost: 1, now: start }) instanceof Promise))
  assert.equal(calls(), 1)
  assert.deepEqual(counted(), [0, 1])
  await one.reconcile()
  assert.deepEqual(counted(), [0, 41])
})

test('processes learn by reconciliation what the others have spent', async () => {
  const { one, two } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (let i = 0; i < 150; i++) one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await one.reconcile()
  two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await two.reconcile()
  assert.deepEqual((await two.acquire({ policy: busy, identifier: who, cost: 1, now: start })).counters, [0, 154])
})

test('a process spends its share of a tenth of what remains before it calls the store', async () => {
  const { one, calls } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  let local = 0
  while (!(one.acquire({ policy: busy, identifier: who, cost: 1, now: start }) instanceof Promise)) local++
  assert.equal(local, Math.floor(99.9 / 2))
  assert.equal(calls(), 2)
})

test('processes that do not reconcile admit all of a limit, and little more', async () => {
  const { one, two } = setup()
  let admitted = 0
  for (let i = 0; i < 1_500; i++)
    if ((await (i % 3 ? one : two).acquire({ policy: busy, identifier: who, cost: 1, now: start })).allowed) admitted++
  assert(admitted >= 1_000 && admitted <= 1_030, `${admitted} of 1,000`)
})

test('with many calls under way, a share of a hundredth of the limit is spent locally', async () => {
  const { one, counted } = setup()
  const large = definePolicy('busy', [{ name: 'busy', limit: 4_000, windowMs: 60_000 }], { advisory: true })
  const pending = Array.from({ length: 16 }, (_, i) =>
    one.acquire({ policy: large, identifier: { kind: 'user', id: `user-${i}` }, cost: 1, now: start }),
  )
  assert(pending.every((result) => result instanceof Promise))
  let local = 0
  while (!(one.acquire({ policy: large, identifier: who, cost: 1, now: start }) instanceof Promise)) local++
  assert.equal(local, 4_000 / 100 / 2)
  await Promise.all(pending)
  await one.reconcile()
  assert.deepEqual(counted(), [0, local + 1])
})

test('a hundredth is spent from counts of the last window, and nothing from older ones', async () => {
  const { one, counted } = setup()
  const large = definePolicy('busy', [{ name: 'busy', limit: 4_000, windowMs: 60_000 }], { advisory: true })
  const spendFrom = (now: number): number => {
    let local = 0
    while (!(one.acquire({ policy: large, identifier: who, cost: 1, now }) instanceof Promise)) local++
    return local
  }
  assert.equal(spendFrom(start), 0)
  await one.reconcile()
  assert.equal(spendFrom(start + 5_001), Math.floor(3_999 / 100 / 2))
  await one.reconcile()
  assert.deepEqual(counted(), [0, 21])
  assert.equal(spendFrom(start + 120_000), 0)
})

test('a granted or reset key calls the store first, however many calls are under way', async () => {
  const { one } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (let i = 0; i < 16; i++)
    void one.acquire({ policy: busy, identifier: { kind: 'user', id: `user-${i}` }, cost: 1, now: start })
  await one.reset(busy, who, start)
  for (let i = 0; i < 16; i++)
    void one.acquire({ policy: busy, identifier: { kind: 'user', id: `other-${i}` }, cost: 1, now: start })
  const result = one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  assert(result instanceof Promise)
  assert.deepEqual((await result).counters, [0, 1])
})

test('the previous window is read until all processes have reconciled it, and no longer', async () => {
  const { one, two, read } = setup()
  for (const store of [one, two]) await store.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (let i = 0; i < 10; i++) two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  const prev: (number | undefined)[] = []
  for (const seconds of [60, 61, 62, 63, 64, 68, 72, 73, 74, 75, 76]) {
    if (seconds === 62) {
      await two.acquire({ policy: busy, identifier: { kind: 'user', id: 'bob' }, cost: 1, now: start + 62_000 })
      await two.reconcile()
    }
    await one.acquire({ policy: busy, identifier: who, cost: 1, now: start + seconds * 1_000 })
    await one.reconcile()
    prev.push((await one.acquire({ policy: busy, identifier: who, cost: 1, now: start + seconds * 1_000 })).counters[0])
  }
  assert.deepEqual(prev, [2, 2, ...new Array<number>(9).fill(12)])
  assert.deepEqual(read.slice(-4), ['sliding-window', 'fixed-window', 'fixed-window', 'fixed-window'])
})

test('a rejection is repeated for a moment without calling the store', async () => {
  const { one, two, calls } = setup()
  for (let i = 0; i < 1_001; i++) await two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await two.reconcile()
  assert(!(await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })).allowed)
  const before = calls()
  for (let i = 0; i < 50; i++) {
    const result = one.acquire({ policy: busy, identifier: who, cost: 1, now: start + i })
    assert(!(result instanceof Promise) && !result.allowed)
  }
  assert.equal(calls(), before)
})

test('limits that are small, not advisory, or fail closed are counted exactly', async () => {
  const { one, calls } = setup()
  const small = tierPolicy('free', { rpm: 7, daily: 1_000 }, { advisory: true })
  const exact = tierPolicy('pro', { rpm: 1_000, daily: 100_000 })
  const login = definePolicy('login', [{ name: 'login', limit: 1_000, windowMs: 60_000 }], { failureMode: 'closed' })
  for (const policy of [small, exact, login])
    for (let i = 0; i < 3; i++) await one.acquire({ policy, identifier: who, cost: 1, now: start })
  assert.equal(calls(), 9)
})

test('quiet keys among very many are sent within a sixth of a minute, days within five', async () => {
  const { one, memory } = setup()
  const tier = tierPolicy('pro', { rpm: 1_000, daily: 100_000 }, { advisory: true })
  const users = Array.from({ length: 10_000 }, (_, i) => ({ kind: 'user', id: `user-${i}` }))
  const now = start + 30_000
  const rare = new Set(users.slice(0, 1_000))
  const isRare = (user: Identifier) => rare.has(user)
  for (const user of users)
    for (let times = isRare(user) ? 3 : 0; times < 5; times++)
      await one.acquire({ policy: tier, identifier: user, cost: 1, now })
  const sent = (user: Identifier) => memory().peek(tier, user, now).counters
  const countSent = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) await one.reconcile()
    return [1, 3].map((at) => users.filter((user) => sent(user)[at] === (isRare(user) ? 2 : 5)).length)
  }
  const [early = 0] = await countSent(10)
  assert(early <= 2_000, `${early} minutes were sent already`)
  const [minutes = 0, days = 0] = await countSent(90)
  assert.equal(minutes, 10_000)
  assert(days <= 3_500, `${days} days were sent already`)
  assert(
    [...rare].every((user) => sent(user)[3] === 2),
    'keys that are checked rarely are sent as a whole',
  )
  assert.deepEqual(await countSent(400), [10_000, 10_000])
})

test('identifiers beyond the maximum are counted exactly, and no count is lost', async () => {
  const { shared, calls, memory } = setup()
  const store = hybridStore(shared, { instances: 2, intervalMs: 0, maxKeys: 4 })
  const spend = async (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      await store.acquire({ policy: busy, identifier: { kind: 'user', id: `user-${i}` }, cost: 1, now: start })
      await store.acquire({ policy: busy, identifier: { kind: 'user', id: `user-${i}` }, cost: 1, now: start })
    }
  }
  await spend(0, 4)
  assert.equal(calls(), 4)
  await spend(4, 40)
  assert.equal(calls(), 4 + 2 * 36, 'slots with unsent counts are not evicted')
  await store.reconcile()
  await spend(40, 44)
  assert.equal(calls(), 4 + 2 * 36 + 4, 'slots without unsent counts are evicted')
  await store.reconcile()
  for (let i = 0; i < 44; i++)
    assert.deepEqual(memory().peek(busy, { kind: 'user', id: `user-${i}` }, start).counters, [0, 2], `user-${i}`)
})

test('units of a window that has ended are still sent, to that window', async () => {
  const { one, counted } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (let i = 0; i < 10; i++) one.acquire({ policy: busy, identifier: who, cost: 1, now: start + 59_900 })
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start + 60_000 })
  await one.reconcile()
  assert.deepEqual(counted(start + 60_000), [11, 1])
})

test('a store that has lost its data is raised to the local counts', async () => {
  const { one, counted, loseMemory } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (let i = 0; i < 100; i++) one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await one.reconcile()
  loseMemory()
  one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await one.reconcile()
  assert.deepEqual(counted(), [0, 102])
})

for (const [what, back, left] of [
  ['a reset', (store: HybridStore) => store.reset(busy, who, start), [0, 11]],
  ['a grant', (store: HybridStore) => store.grant(busy, who, 50, start), [0, 62]],
] as const)
  test(`${what} by one process is not undone by another that remembers higher counts`, async () => {
    const { one, two, counted } = setup()
    await two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
    for (let i = 0; i < 100; i++) two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
    await two.reconcile()
    await back(one)
    for (let i = 0; i < 10; i++) two.acquire({ policy: busy, identifier: who, cost: 1, now: start })
    await two.reconcile()
    await two.acquire({ policy: busy, identifier: who, cost: 1, now: start + 10_000 })
    await two.reconcile()
    assert.deepEqual(counted(start + 10_000), left)
  })

test('a reset is noticed at once by its process, and by others when they reconcile', async () => {
  const { one, counted } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await one.reset(busy, who, start)
  assert.deepEqual((await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })).counters, [0, 1])
  assert.deepEqual(counted(), [0, 1])
})

test('what is given back of several policies together is noticed in each of them', async () => {
  const { one } = setup()
  const route = definePolicy('route', [{ name: 'route', limit: 2_000, windowMs: 60_000 }], { advisory: true })
  const both = combinePolicies([busy, route])
  const check = async () => (await one.acquire({ policy: both, identifier: who, cost: 1, now: start })).counters
  for (let n = 0; n < 3; n++) await check()
  await one.reconcile()
  await one.add({ policy: both, identifier: who, amounts: [-2, -2], now: start })
  assert.deepEqual(await check(), [0, 2, 0, 2])
  await one.reset(both, who, start)
  assert.deepEqual(await check(), [0, 1, 0, 1])
})

test('closing sends the store what was spent', async () => {
  const { one, counted } = setup()
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  await one.close()
  assert.deepEqual(counted(), [0, 2])
})

test('closing sends what fits into five seconds to a store that does not respond', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { shared } = setup()
  let sent = 0
  const silent: CounterStore = { ...shared, add: () => new Promise(() => sent++) }
  const store = hybridStore(silent, { instances: 2 })
  for (let i = 0; i < 6_000; i++)
    for (let times = 0; times < 2; times++)
      await store.acquire({ policy: busy, identifier: { kind: 'user', id: `user-${i}` }, cost: 1, now: start })
  const closed = store.close()
  const sentBySecond: number[] = []
  for (let second = 0; second < 5; second++) {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
    sentBySecond.push(sent)
    context.mock.timers.tick(1_000)
  }
  await closed
  assert.deepEqual(sentBySecond, [1_024, 2_048, 3_072, 4_096, 5_120])
})

test('thousands of reloads neither mix up policies nor lose units of old ones', async () => {
  const { one, counted } = setup()
  const policies = Array.from({ length: 3_000 }, (_, i) =>
    definePolicy('busy', [{ name: 'busy', limit: 2_000 + i, windowMs: 60_000 }], { advisory: true }),
  )
  await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  for (const policy of policies) await one.acquire({ policy, identifier: who, cost: 1, now: start })
  await one.reconcile()
  assert.deepEqual(counted(), [0, 3_001])
  const spent = await one.acquire({ policy: busy, identifier: who, cost: 1, now: start })
  assert(!spent.allowed, 'the limit of 1,000 is long used up')
  assert((await one.acquire({ policy: policies.at(-1) ?? busy, identifier: who, cost: 1, now: start })).allowed)
})

test('while the store is unavailable, a process continues from what it has spent locally', async () => {
  let isBroken = false
  const memory = memoryStore()
  const reach = (): MemoryStore => {
    if (isBroken) throw new Error('the store is unavailable')
    return memory
  }
  const shared: CounterStore = {
    acquire: async (request) => reach().acquire(request),
    add: async (request) => reach().add(request),
    peek: async (...args) => reach().peek(...args),
    grant: async (...args) => reach().grant(...args),
    raise: async (...args) => reach().raise(...args),
    reset: async (...args) => reach().reset(...args),
  }
  const hybrid = hybridStore(shared, { instances: 1, intervalMs: 0 })
  let now = start
  const limiter = createLimiter({ store: hybrid, clock: { now: () => now }, deadlineMs: 60_000 })
  let admitted = 0
  const check = async () => {
    const { allowed, source } = await limiter.check(busy, who)
    if (allowed) admitted++
    return source
  }
  for (let i = 0; i < 600; i++) {
    await check()
    if (i % 20 === 0) await hybrid.reconcile()
  }
  isBroken = true
  const sources = new Set<string>()
  for (let i = 0; i < 2_000; i++) {
    now += 10
    sources.add(await check())
  }
  assert(sources.has('local'))
  assert(admitted <= 1_100 && admitted >= 900, `${admitted} of 1,000`)
  isBroken = false
  for (let i = 0; i < 200; i++) {
    now += 10
    await check()
  }
  assert(admitted <= 1_100, `${admitted} of 1,000 after the recovery`)
})
