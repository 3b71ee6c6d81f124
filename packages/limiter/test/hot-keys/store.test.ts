import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CounterStore, createLimiter, definePolicy, hotKeyStore, memoryStore } from '@gatehouse/limiter'

const start = Date.UTC(2026, 0, 1)
const route = { kind: 'route', id: '/hot' }

/** A shared store that answers by promises and counts how often it is asked. */
function setup(options: { readonly instances?: number } = {}) {
  const memory = memoryStore()
  let now = start
  const asked = { times: 0 }
  const later = <T>(answer: T): Promise<T> => {
    asked.times++
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
    asked,
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

test('GHSA-76rv-2r9v-c5m6: a key asked for often becomes hot by itself, and the store is asked once for many of its checks', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  assert.equal(bench.asked.times, 100)
  bench.period()
  assert.equal(bench.hot.hotKeys, 1)
  bench.asked.times = 0
  assert.equal(await check(bench, wide, 1_000), 1_000)
  bench.period()
  bench.asked.times = 0
  assert.equal(await check(bench, wide, 1_000), 1_000)
  assert.ok(bench.asked.times <= 60, `asked ${bench.asked.times} times for 1000 checks`)
})

test('a key of a policy that fails closed is checked one by one, however hot it is', async () => {
  const bench = setup()
  const rules = [{ name: 'login', limit: 100_000, windowMs: 60_000 }]
  await check(bench, definePolicy('login', rules, { failureMode: 'closed' }), 100)
  bench.period()
  assert.equal(bench.hot.hotKeys, 0)
})

test('a key that cools down is checked one by one again, and what was not used is given back', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  bench.period()
  await check(bench, wide, 205)
  bench.period()
  bench.period()
  assert.equal(bench.hot.hotKeys, 0)
  assert.deepEqual(bench.memory.peek(wide, route, start).counters, [0, 305])
  bench.asked.times = 0
  await check(bench, wide, 10)
  assert.equal(bench.asked.times, 10)
})

test('a portion is given back when nobody asked for a tenth of a second', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  bench.period()
  await check(bench, wide, 10)
  bench.hot.maintain()
  bench.hot.maintain()
  assert.deepEqual(bench.memory.peek(wide, route, start).counters, [0, 110])
})

test('no key is hot among many that are asked for in turn', async () => {
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
  test(`of a hot key under a ${'algorithm' in rule ? rule.algorithm : 'sliding-window'} exactly the limit is admitted, one by one or at once`, async () => {
    const policy = definePolicy('narrow', [rule])
    const bench = setup()
    const before = await check(bench, policy, 100)
    bench.period()
    const after = await check(bench, policy, 200)
    const atOnce = await Promise.all(Array.from({ length: 1_000 }, () => bench.limiter.check(policy, route)))
    assert.equal(before + after + atOnce.filter(({ allowed }) => allowed).length, 500)
  })
}

test('a flood of a hot key that is over its limit is rejected here, without asking', async () => {
  const policy = definePolicy('narrow', [{ name: 'r', limit: 100, windowMs: 60_000 }])
  const bench = setup()
  await check(bench, policy, 200)
  bench.period()
  await check(bench, policy, 1)
  bench.asked.times = 0
  assert.equal(await check(bench, policy, 1_000), 0)
  assert.equal(bench.asked.times, 0)
  bench.wait(1_001)
  await check(bench, policy, 1)
  assert.equal(bench.asked.times, 1)
})

test('a hot key has left what was not used, however many units were leased', async () => {
  const bench = setup()
  await check(bench, wide, 100)
  bench.period()
  for (let used = 101; used <= 140; used++)
    assert.equal((await bench.limiter.check(wide, route)).remaining, 100_000 - used)
})

test('a grant and a reset reach a hot key at once', async () => {
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

test('what is left of a portion is not carried into the next window', async () => {
  const bench = setup()
  const policy = definePolicy('second', [{ name: 'r', limit: 1_000, windowMs: 1_000, algorithm: 'fixed-window' }])
  await check(bench, policy, 100)
  bench.period()
  await check(bench, policy, 100)
  bench.wait(1_000)
  assert.equal(await check(bench, policy, 2_000), 1_000)
})

test('a hot policy among others charges what it admits and no more, however many another one refuses', async () => {
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
