import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CounterStore,
  createLimiter,
  definePolicy,
  hotKeyStore,
  memoryStore,
  type Policy,
} from '@gatehouse/limiter'

const start = Date.UTC(2026, 0, 1)
const route = { kind: 'route', id: '/hot' }

/** A shared store that answers by promises and counts how often it is called. */
function setup(options: { readonly instances?: number; readonly perSecond?: number } = {}) {
  const memory = memoryStore()
  let now = start
  const calls = { count: 0 }
  const later = <T>(answer: T): Promise<T> => {
    calls.count++
    return new Promise((resolve) => setImmediate(resolve, answer))
  }
  const shared: CounterStore = {
    acquire: (...call) => later(memory.acquire(...call)),
    peek: (...call) => later(memory.peek(...call)),
    add: (...call) => later(memory.add(...call)),
    grant: (...call) => later(memory.grant(...call)),
    raise: (...call) => later(memory.raise(...call)),
    reset: async (...call) => memory.reset(...call),
  }
  const hot = hotKeyStore(shared, { perSecond: 50, instances: 1, intervalMs: 0, ...options })
  const limiter = createLimiter({ store: hot, clock: { now: () => now }, deadlineMs: 60_000 })
  const period = () => {
    for (let i = 0; i < 10; i++) hot.maintain()
  }
  return {
    memory,
    hot,
    limiter,
    calls,
    period,
    wait(milliseconds: number) {
      now += milliseconds
    },
  }
}

const wide = definePolicy('wide', [{ name: 'wide', limit: 100_000, windowMs: 60_000 }])

/** So many checks one after the other; how many were admitted. */
async function check({ limiter }: ReturnType<typeof setup>, policy: typeof wide, times: number, who = route) {
  let admitted = 0
  for (let i = 0; i < times; i++) if ((await limiter.check(policy, who)).allowed) admitted++
  return admitted
}

test('GHSA-76rv-2r9v-c5m6: a hot key calls the store once for many checks', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  assert.equal(bench.calls.count, 100)
  bench.period()
  assert.equal(bench.hot.hotKeys, 1)
  bench.calls.count = 0
  assert.equal(await check(bench, wide, 1_000), 1_000)
  bench.period()
  bench.calls.count = 0
  assert.equal(await check(bench, wide, 1_000), 1_000)
  assert.ok(bench.calls.count <= 60, `called ${bench.calls.count} times for 1000 checks`)
})

test('a hot key of a policy that fails closed is checked one by one', async () => {
  const bench = setup()
  const rules = [{ name: 'login', limit: 100_000, windowMs: 60_000 }]
  await check(bench, definePolicy('login', rules, { failureMode: 'closed' }), 100)
  bench.period()
  assert.equal(bench.hot.hotKeys, 0)
})

test('a key that cools down returns its unused units and is checked one by one again', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  bench.period()
  await check(bench, wide, 205)
  bench.period()
  bench.period()
  assert.equal(bench.hot.hotKeys, 0)
  assert.deepEqual(bench.memory.peek(wide, route, start).counters, [0, 305])
  bench.calls.count = 0
  await check(bench, wide, 10)
  assert.equal(bench.calls.count, 10)
})

test('a lease without checks for a tenth of a second is returned', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  bench.period()
  await check(bench, wide, 10)
  bench.hot.maintain()
  bench.hot.maintain()
  assert.deepEqual(bench.memory.peek(wide, route, start).counters, [0, 110])
})

test('no key is hot among many that are checked in turn', async () => {
  const bench = setup()
  for (let i = 0; i < 40; i++)
    for (let id = 0; id < 20; id++) await check(bench, wide, 1, { kind: 'user', id: `${id}` })
  bench.period()
  assert.equal(bench.hot.hotKeys, 0)
})

for (const rule of [
  { name: 'r', limit: 500, windowMs: 60_000 },
  { name: 'r', limit: 500, windowMs: 60_000, algorithm: 'fixed-window' },
  { name: 'r', limit: 500, refillPerSecond: 0.001, algorithm: 'token-bucket' },
] as const) {
  test(`a hot ${'algorithm' in rule ? rule.algorithm : 'sliding-window'} admits its limit exactly`, async () => {
    const policy = definePolicy('narrow', [rule])
    const bench = setup()
    const before = await check(bench, policy, 100)
    bench.period()
    const after = await check(bench, policy, 200)
    const atOnce = await Promise.all(Array.from({ length: 1_000 }, () => bench.limiter.check(policy, route)))
    assert.equal(before + after + atOnce.filter(({ allowed }) => allowed).length, 500)
  })
}

test('a flood of a hot key over its limit is rejected without calling the store', async () => {
  const policy = definePolicy('narrow', [{ name: 'r', limit: 100, windowMs: 60_000 }])
  const bench = setup()
  await check(bench, policy, 200)
  bench.period()
  await check(bench, policy, 1)
  bench.calls.count = 0
  assert.equal(await check(bench, policy, 1_000), 0)
  assert.equal(bench.calls.count, 0)
  bench.wait(1_001)
  await check(bench, policy, 1)
  assert.equal(bench.calls.count, 1)
})

test('the rejection of a hot key is not repeated without a call once the clock has gone back', async () => {
  const policy = definePolicy('narrow', [{ name: 'r', limit: 100, windowMs: 60_000 }])
  const bench = setup()
  await check(bench, policy, 200)
  bench.period()
  assert.equal(await check(bench, policy, 1), 0)
  bench.calls.count = 0
  await check(bench, policy, 1)
  assert.equal(bench.calls.count, 0)
  bench.wait(-20_000)
  await check(bench, policy, 1)
  assert.equal(bench.calls.count, 1)
})

test('a hot key has left what was not used, however many units were leased', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  bench.period()
  for (let used = 101; used <= 140; used++)
    assert.equal((await bench.limiter.check(wide, route)).remaining, 100_000 - used)
})

test('a grant and a reset affect a hot key at once', async () => {
  const policy = definePolicy('narrow', [{ name: 'r', limit: 100, windowMs: 60_000 }])
  const bench = setup()
  await check(bench, policy, 150)
  bench.period()
  assert.equal(await check(bench, policy, 1), 0)
  await bench.limiter.grant(policy, route, 3)
  assert.equal(await check(bench, policy, 10), 3)
  await bench.limiter.reset(policy, route)
  assert.equal(await check(bench, policy, 150), 100)
})

test('leased units are not carried into the next window', async () => {
  const bench = setup()
  const policy = definePolicy('second', [{ name: 'r', limit: 1_000, windowMs: 1_000, algorithm: 'fixed-window' }])
  await check(bench, policy, 100)
  bench.period()
  await check(bench, policy, 100)
  bench.wait(1_000)
  assert.equal(await check(bench, policy, 2_000), 1_000)
})

test('a hot policy among others charges exactly what all of them admit', async () => {
  const bench = setup()
  const everybody = definePolicy('everybody', [{ name: 'all', limit: 100_000, windowMs: 60_000 }], { shared: true })
  const narrow = definePolicy('narrow', [{ name: 'narrow', limit: 3, windowMs: 60_000 }])
  await check(bench, everybody, 100)
  bench.period()
  assert.equal(bench.hot.hotKeys, 1)
  let admitted = 0
  for (let round = 0; round < 20; round++) {
    const decisions = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        bench.limiter.check([narrow, everybody], { kind: 'user', id: `${round}-${i % 5}` }, { cost: 1 + (i % 3) }),
      ),
    )
    decisions.forEach(({ allowed }, i) => {
      if (allowed) admitted += 1 + (i % 3)
    })
  }
  await bench.hot.close()
  assert(admitted <= 20 * 5 * 3)
  assert.deepEqual(bench.memory.peek(everybody, { kind: 'global', id: 'all' }, start).counters, [0, 100 + admitted])
})

const alice = { kind: 'user', id: 'alice' }

/** Makes a caller's tier hot, and then checks it beside a shared bucket that admits every tenth; how many were admitted. */
async function checkReleased(bench: ReturnType<typeof setup>, tier: Policy, times: number) {
  const rules = [{ name: 'burst', algorithm: 'token-bucket', limit: 1, refillPerSecond: 10 }] as const
  const burst = definePolicy('burst', rules, { shared: true })
  let admitted = await check(bench, tier, 1_000, alice)
  bench.period()
  assert.equal(bench.hot.hotKeys, 1)
  for (let i = 0; i < times; i++, bench.wait(10))
    if ((await bench.limiter.check([tier, burst], alice)).allowed) admitted++
  return admitted
}

for (const algorithm of ['sliding-window', 'fixed-window'] as const)
  test(`a hot ${algorithm} is charged what all policies admit, where others release its units`, async () => {
    const bench = setup({ perSecond: 500 })
    const tier = definePolicy('tier', [{ name: 'tier', limit: 60_000, windowMs: 60_000, algorithm }])
    const admitted = await checkReleased(bench, tier, 200)
    assert.equal(admitted, 1_020)
    await bench.hot.close()
    assert.deepEqual(bench.memory.peek(tier, alice, start + 2_000).counters, [0, admitted])
  })

test('units that are returned to a hot key at its limit are available at once', async () => {
  const policy = definePolicy('narrow', [{ name: 'r', limit: 100, windowMs: 60_000 }])
  const bench = setup()
  await check(bench, policy, 150)
  bench.period()
  assert.equal(await check(bench, policy, 1), 0)
  await bench.hot.add({ policy, identifier: route, amounts: [-3], now: start })
  assert.equal(await check(bench, policy, 10), 3)
})
