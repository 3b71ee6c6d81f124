import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrate } from '@gatehouse/kit'
import {
  combinePolicies,
  createLimiter,
  decisionHeaders,
  definePolicy,
  hotKeyStore,
  hybridStore,
  memoryStore,
  type Policy,
  quotaExceededProblem,
  shardedStore,
  tierPolicy,
} from '@gatehouse/limiter'
import { storeConformance } from '@gatehouse/limiter/conformance'
import { migrations, postgresStore } from '@gatehouse/limiter/postgres'
import { redisStore } from '@gatehouse/limiter/redis'
import { postgresDatabase, startPostgres, startRedis, testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { admits } from '../../src/algorithms/counters.ts'
import type { CountedRule } from '../../src/rule.ts'
import type { CounterStore } from '../../src/store.ts'

const minute = 60_000
const start = Date.UTC(2026, 0, 1)
const alice = { kind: 'user', id: 'alice' }
const tier = tierPolicy('pro', { rpm: 4, daily: 30 })
const route = definePolicy('search', [{ name: 'search-rpm', limit: 3, windowMs: minute }])
const hourly = definePolicy('exports', [{ name: 'exports', limit: 5, windowMs: 3_600_000 }])
const everybody = definePolicy('everybody', [{ name: 'everybody', limit: 7, windowMs: minute }], { shared: true })

type Program = Parameters<typeof testWith>[0]

interface Opened {
  readonly store: CounterStore
  /** The store of another process, with connections of its own, or of the pool. */
  another(): Promise<CounterStore>
  close(): Promise<void>
}

const ofMemory = (store: CounterStore): Opened => ({ store, another: async () => store, close: async () => {} })

async function onRedis(wrap: (redis: Redis) => CounterStore): Promise<Opened> {
  const server = await startRedis()
  const connections = [new Redis(server.url)]
  return {
    store: wrap(connections[0] as Redis),
    async another() {
      const redis = new Redis(server.url)
      connections.push(redis)
      return wrap(redis)
    },
    async close() {
      for (const redis of connections) redis.disconnect()
      await server.stop()
    },
  }
}

async function onPostgres(): Promise<Opened> {
  const server = await startPostgres()
  const database = await postgresDatabase(server)
  await migrate(database, 'limiter', migrations)
  return {
    store: postgresStore(database, { clock: 'limiter' }),
    async another() {
      return postgresStore(database, { clock: 'limiter' })
    },
    async close() {
      await database.close()
      await server.stop()
    },
  }
}

const engines: readonly (readonly [
  name: string,
  program: Program | undefined,
  open: () => Promise<Opened>,
  runs: number,
])[] = [
  ['memory', undefined, async () => ofMemory(memoryStore()), 300],
  ['Redis', 'redis-server', () => onRedis((redis) => redisStore(redis, { clock: 'limiter' })), 40],
  [
    'Redis with tags',
    'redis-server',
    () => onRedis((redis) => redisStore(redis, { clock: 'limiter', keyTag: 'braces' })),
    40,
  ],
  [
    'hot keys and sub-counters before Redis',
    'redis-server',
    () => onRedis((redis) => hotKeyStore(shardedStore(redisStore(redis, { clock: 'limiter' })), { intervalMs: 0 })),
    40,
  ],
  ['PostgreSQL', 'postgresql', onPostgres, 25],
]

for (const [name, program, open] of engines.slice(2, 4))
  storeConformance({ name, test: (title, body) => testWith(program ?? 'redis-server', title, body), setup: open })

storeConformance({
  name: 'hybrid over memory',
  setup: async () => ({ store: hybridStore(memoryStore(), { instances: 1, intervalMs: 0 }), close: async () => {} }),
})

/**
 * A count of admitted requests by counter and window, and tokens by bucket: what any limiter should say, and nothing clever.
 * A fixed window counts what it rejects itself.
 */
class NaiveModel {
  readonly #counts = new Map<string, number>()
  readonly #buckets = new Map<string, readonly [tokens: number, at: number]>()

  check(policies: readonly Policy[], user: string, cost: number, now: number): boolean {
    const rules = policies.flatMap(({ rules: own, shared }) => own.map((rule) => ({ rule, who: shared ? '*' : user })))
    const fits = rules.map(({ rule, who }) => admits(rule, { counters: this.#standing(rule, who, now), now }, 0, cost))
    const allowed = fits.every(Boolean)
    rules.forEach(({ rule, who }, i) => {
      if (allowed || (!fits[i] && rule.algorithm === 'fixed-window')) this.#count(rule, who, cost, now)
    })
    return allowed
  }

  used({ rules, shared }: Policy, user: string, now: number): number[] {
    return rules.flatMap((rule) => {
      const [a, b] = this.#standing(rule, shared ? '*' : user, now)
      return [rule.algorithm === 'fixed-window' ? 0 : a, b]
    })
  }

  #standing(rule: CountedRule, who: string, now: number): [a: number, b: number] {
    if (rule.algorithm === 'token-bucket') {
      const [tokens, at] = this.#buckets.get(`${rule.family} ${who}`) ?? [rule.limit, now]
      return [Math.min(rule.limit, tokens + (now - at) * rule.refillPerMs), now]
    }
    const index = Math.floor(now / rule.windowMs)
    const at = (nth: number): number => this.#counts.get(`${rule.family} ${who} ${nth}`) ?? 0
    return [at(index - 1), at(index)]
  }

  #count(rule: CountedRule, who: string, cost: number, now: number): void {
    const [a, b] = this.#standing(rule, who, now)
    if (rule.algorithm === 'token-bucket') this.#buckets.set(`${rule.family} ${who}`, [a - cost, now])
    else this.#counts.set(`${rule.family} ${who} ${Math.floor(now / rule.windowMs)}`, b + cost)
  }
}

const calendar = definePolicy('calendar', [{ name: 'calendar', algorithm: 'fixed-window', limit: 4, windowMs: 30_000 }])
/** A part of a token in a millisecond that every sum represents exactly. */
const bursts = definePolicy('bursts', [
  { name: 'bursts', algorithm: 'token-bucket', limit: 5, refillPerSecond: 1_000 / 2 ** 13 },
])
const policies = [tier, route, hourly, everybody, calendar, bursts]
const request = fc.record({
  user: fc.constantFrom('a', 'b', 'c'),
  chosen: fc.subarray(policies, { minLength: 1 }),
  cost: fc.integer({ min: 1, max: 2 }),
  afterMs: fc.constantFrom(0, 0, 1, 900, 10_000, 45_000),
})

for (const [name, program, open, numRuns] of engines) {
  const body = async (): Promise<void> => {
    const { store, close } = await open()
    let run = 0
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(request, { maxLength: 40 }), async (requests) => {
          // Each run has days of its own, so that it begins without counts.
          let now = start + run++ * 10 * 86_400_000
          const limiter = createLimiter({ store, clock: { now: () => now }, deadlineMs: 60_000 })
          const model = new NaiveModel()
          for (const { user, chosen, cost, afterMs } of requests) {
            now += afterMs
            const { allowed } = await limiter.check(chosen, { kind: 'user', id: user }, { cost })
            assert.equal(allowed, model.check(chosen, user, cost, now))
            for (const policy of policies) {
              const who = policy.shared ? { kind: 'global', id: 'all' } : { kind: 'user', id: user }
              assert.deepEqual((await store.peek(policy, who, now)).counters, model.used(policy, user, now))
            }
          }
        }),
        { numRuns, endOnFailure: true },
      )
    } finally {
      await close()
    }
  }
  const title = `${name}: several policies admit and charge as a naive model does`
  if (program === undefined) test(title, body)
  else testWith(program, title, body)
}

test('a fixed window counts what it rejects, even if a policy before it rejects too', async () => {
  const limiter = createLimiter({ clock: { now: () => start } })
  for (let i = 0; i < 6; i++) await limiter.check(everybody, { kind: 'user', id: `user-${i}` })
  for (let i = 0; i < 3; i++) await limiter.check(calendar, alice)
  const { rules } = await limiter.check([everybody, calendar], alice, { cost: 2 })
  assert.deepEqual(
    rules.map(({ name, allowed }) => [name, allowed]),
    [
      ['everybody', false],
      ['calendar', false],
    ],
  )
  assert.equal((await limiter.check(calendar, alice)).allowed, false)
})

for (const [name, program, open, failureMode] of engines
  .slice(1)
  .flatMap(([name, program, open]) => [
    [name, program, open, 'local'] as const,
    [name, program, open, 'closed'] as const,
  ]))
  testWith(
    program ?? 'redis-server',
    `${name}: concurrent processes charge what policies admit, one of which fails ${failureMode}`,
    async () => {
      const { store, another, close } = await open()
      try {
        const clock = { now: () => start }
        const patient = { deadlineMs: 60_000, closedDeadlineMs: 60_000 }
        const limiters = [store, await another()].map((one) => createLimiter({ store: one, clock, ...patient }))
        const windows = { name: 'own', limit: 40, windowMs: minute }
        const bucket = { name: 'own-bucket', algorithm: 'token-bucket', limit: 45, refillPerSecond: 1 } as const
        const own = definePolicy('own', [windows, bucket], { failureMode })
        const narrow = definePolicy('narrow', [{ name: 'narrow', limit: 130, windowMs: minute }], { shared: true })
        const users = Array.from({ length: 8 }, (_, i) => ({ kind: 'user', id: `user-${i}` }))
        const admitted = users.map(() => 0)
        await Promise.all(
          Array.from({ length: 800 }, async (_, i) => {
            // Two users want far more than their own limits, all together more than the shared one.
            const nth = i % 2 === 0 ? i % 4 : i % users.length
            const { allowed } = (await limiters[(i >> 3) % 2]?.check([own, narrow], users[nth] ?? alice)) ?? {}
            if (allowed) admitted[nth] = (admitted[nth] ?? 0) + 1
          }),
        )
        const sum = admitted.reduce((total, one) => total + one, 0)
        assert.deepEqual([Math.max(...admitted) <= 40, sum], [true, 130])
        const stands = await Promise.all(users.map((user) => store.peek(own, user, start)))
        assert.deepEqual(
          stands.map(({ counters }) => [counters[1], 45 - (counters[2] ?? 0)]),
          admitted.map((count) => [count, count]),
        )
        assert.equal((await store.peek(narrow, { kind: 'global', id: 'all' }, start)).counters[1], 130)
      } finally {
        await close()
      }
    },
  )

testWith('redis-server', 'tier, route and global policy of a request are checked in one script call', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  try {
    const limiter = createLimiter({ store: redisStore(redis), deadlineMs: 5_000 })
    await limiter.check([tier, route, everybody], { kind: 'user', id: 'first' })
    await redis.config('RESETSTAT')
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => limiter.check([tier, route, everybody], { kind: 'user', id: `u${i}` })),
    )
    assert.match(await redis.info('commandstats'), /cmdstat_evalsha:calls=1,/)
  } finally {
    redis.disconnect()
    await server.stop()
  }
})

test('headers and problem details of several policies are those of the one that rejects', () => {
  const limiter = createLimiter({ clock: { now: () => start } })
  const check = () => {
    const decision = limiter.check([tier, route], alice)
    assert(!(decision instanceof Promise))
    return decision
  }
  for (let i = 0; i < 3; i++) check()
  const refused = check()
  const headers = decisionHeaders(refused, { ietf: 'draft-11' })
  assert.deepEqual(headers, {
    'X-RateLimit-Limit': '3',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': String((start + minute) / 1000),
    'Retry-After': '61',
    'RateLimit-Policy': '"rpm";q=4;w=60,"daily";q=30;w=86400,"search-rpm";q=3;w=60',
    RateLimit: '"rpm";r=1;t=60,"daily";r=27;t=86400,"search-rpm";r=0;t=61',
  })
  assert.deepEqual(quotaExceededProblem(refused)['violated-policies'], ['search-rpm'])
})

test('the stricter of two rules on one counter is kept, whichever comes first', () => {
  const free = tierPolicy('free', { rpm: 2, daily: 1_000 })
  for (const order of [
    [tier, free],
    [free, tier],
  ]) {
    const limits = combinePolicies(order).rules.map(({ name, limit }) => [name, limit])
    assert.deepEqual(limits.sort(), [
      ['daily', 30],
      ['rpm', 2],
    ])
  }
  assert.equal(combinePolicies([tier, tier]), tier)
  assert.equal(combinePolicies([tier, route]), combinePolicies([tier, route]))
})

test('a combination fails closed even if another policy has the stricter rule on the counter', () => {
  const rule = { name: 'same', windowMs: minute }
  const lax = definePolicy('lax', [{ ...rule, limit: 5 }], { failureMode: 'closed' })
  const strict = definePolicy('strict', [{ ...rule, limit: 3 }], { advisory: true })
  for (const order of [
    [lax, strict],
    [strict, lax],
  ]) {
    const { failureMode, advisory, rules } = combinePolicies(order)
    assert.deepEqual([failureMode, advisory, rules.map(({ limit }) => limit)], ['closed', false, [3]])
  }
})

test('a sliding window is kept over a fixed one of the same limit and counter', () => {
  const rule = { name: 'same', limit: 3, windowMs: minute }
  const fixed = definePolicy('fixed', [{ ...rule, algorithm: 'fixed-window' }])
  const sliding = definePolicy('sliding', [rule])
  for (const order of [
    [fixed, sliding],
    [sliding, fixed],
  ])
    assert.deepEqual(
      combinePolicies(order).rules.map(({ algorithm }) => algorithm),
      ['sliding-window'],
    )
})

test('rules of the same name are named after their policies', () => {
  const search = definePolicy('search', [{ name: 'rpm', limit: 3, windowMs: minute }])
  assert.deepEqual(
    combinePolicies([tier, search]).rules.map(({ name }) => name),
    ['rpm', 'daily', 'search:rpm'],
  )
})

test('policies in different stores are acquired all or nothing', async () => {
  const [store, closedStore, regionalStore] = [memoryStore(), memoryStore(), memoryStore()]
  const closed = definePolicy('closed', [{ name: 'closed', limit: 2, windowMs: minute }], { failureMode: 'closed' })
  const region = definePolicy('region', [{ name: 'region', limit: 3, windowMs: minute }], { quota: 'regional' })
  const limiter = createLimiter({ store, closedStore, regionalStore, clock: { now: () => start } })
  for (let i = 0; i < 2; i++) assert((await limiter.check([closed, tier, region], alice)).allowed)
  const refused = await limiter.check([closed, tier, region], alice)
  assert.deepEqual([refused.allowed, refused.limit, refused.rules.length], [false, 2, 4])
  assert.deepEqual(quotaExceededProblem(refused)['violated-policies'], ['closed'])
  const left = async (policy: Policy) => (await limiter.peek(policy, alice)).remaining
  assert.deepEqual([await left(closed), await left(tier), await left(region)], [0, 2, 1])
})

const regional = definePolicy('region', [{ name: 'region', limit: 6, windowMs: 10_000 }], { quota: 'regional' })
const closed = definePolicy('closed', [{ name: 'closed', limit: 5, windowMs: 30_000 }], { failureMode: 'closed' })
const fixed = definePolicy('fixed', [
  { name: 'fixed', algorithm: 'fixed-window', limit: 5, windowMs: 20_000 },
  { name: 'fixed-candidate', algorithm: 'fixed-window', limit: 1, windowMs: minute, shadow: true },
])
const bucket = definePolicy('bucket', [{ name: 'b', algorithm: 'token-bucket', limit: 6, refillPerSecond: 0.3 }])
const split = definePolicy('split', [{ name: 'split', limit: 8, windowMs: minute }], { shards: 2 })
const ofAllKinds = [tier, route, everybody, regional, closed, fixed, bucket, split]

for (const [name, open] of [
  ['in one store', () => ({ store: shardedStore(memoryStore()) })],
  ['in different stores', () => ({ store: memoryStore(), closedStore: memoryStore(), regionalStore: memoryStore() })],
  ['in slots that one step cannot reach', () => ({ store: shardedStore(inSlots(memoryStore())) })],
] as const)
  test(`a client that waits for Retry-After is admitted by policies counted ${name}`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            chosen: fc.subarray(ofAllKinds, { minLength: 1 }),
            cost: fc.integer({ min: 1, max: 3 }),
            afterMs: fc.constantFrom(0, 0, 1, 900, 7_000, 25_000),
          }),
          { maxLength: 40 },
        ),
        async (requests) => {
          let now = start
          const limiter = createLimiter({ ...open(), clock: { now: () => now } })
          for (const { chosen, cost, afterMs } of requests) {
            now += afterMs
            const decision = await limiter.check(chosen, alice, { cost })
            assert.equal(decision.retryAfterSeconds > 0, !decision.allowed)
            if (decision.allowed) continue
            now += decision.retryAfterSeconds * 1_000
            assert((await limiter.check(chosen, alice, { cost })).allowed, `after ${decision.retryAfterSeconds} s`)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

for (const [name, options] of [
  ['one store', () => ({ store: shardedStore(memoryStore()) })],
  ['slots that one step cannot reach', () => ({ store: shardedStore(inSlots(memoryStore())) })],
  ['different stores', () => ({ store: shardedStore(memoryStore()), regionalStore: memoryStore() })],
] as const)
  test(`a rejection leaves every sub-counter as it was, where policies count in ${name}`, async () => {
    const limiter = createLimiter({ ...options(), clock: { now: () => start } })
    const inRegion = definePolicy('region', [{ name: 'region', limit: 3, windowMs: minute }], { quota: 'regional' })
    const allowed = async (policies: Policy[], cost: number) => (await limiter.check(policies, alice, { cost })).allowed
    assert.deepEqual([await allowed([everybody], 7), await allowed([inRegion], 3)], [true, true])
    assert.equal(await allowed([split, everybody], 3), false)
    assert.equal(await allowed([split, inRegion], 3), false)
    assert.deepEqual(
      [await allowed([split], 4), await allowed([split], 4), await allowed([split], 1)],
      [true, true, false],
    )
  })

test('a rule in shadow neither opens nor hides a limit that is divided into sub-counters', async () => {
  const reported: string[] = []
  const limiter = createLimiter({
    store: shardedStore(memoryStore()),
    clock: { now: () => start },
    observer: { onShadowRejection: (rule) => reported.push(rule) },
  })
  const rules = [
    { name: 'real', limit: 100, windowMs: minute },
    { name: 'candidate', limit: 20, windowMs: minute, shadow: true },
  ]
  const divided = definePolicy('divided', rules, { shards: 2 })
  const other = definePolicy('other', [{ name: 'other', limit: 10_000, windowMs: minute }], { shards: 2 })
  let admitted = 0
  for (let i = 0; i < 300; i++) if ((await limiter.check([divided, other], alice)).allowed) admitted++
  assert.deepEqual([admitted, new Set(reported)], [100, new Set(['candidate'])])
  assert.equal(reported.length, 300 - 20)
  const { rules: counted } = await limiter.peek(divided, alice)
  assert.deepEqual(
    counted.map(({ name, remaining }) => [name, remaining]),
    [
      ['real', 0],
      ['candidate', 0],
    ],
  )
})

test('policies that are checked together begin at every sub-counter in turn', async () => {
  const counted: string[] = []
  const memory = memoryStore()
  const store = shardedStore({
    ...inSlots(memory),
    acquire(request) {
      counted.push(request.identifier.id)
      return memory.acquire(request)
    },
  })
  const limiter = createLimiter({ store, clock: { now: () => start } })
  const both = ['a', 'b'].map((name) => definePolicy(name, [{ name, limit: 100, windowMs: minute }], { shards: 2 }))
  for (let i = 0; i < 2; i++) await limiter.check(both, alice)
  assert.deepEqual(counted, ['alice#0', 'alice#0', 'alice#1', 'alice#1'])
})

/** A store that takes only what counts one identifier in one step, as a Redis Cluster does. */
function inSlots(store: CounterStore): CounterStore {
  return {
    acquire: (request) => store.acquire(request),
    peek: (...call) => store.peek(...call),
    add: (request) => store.add(request),
    grant: (...call) => store.grant(...call),
    raise: (...call) => store.raise(...call),
    reset: (...call) => store.reset(...call),
    combines: false,
  }
}

/** A store that never answers. */
const silent = (): CounterStore => {
  const never = () => new Promise<never>(() => {})
  return { acquire: never, peek: never, add: never, grant: never, raise: never, reset: never, combines: true }
}

for (const [modes, expected] of [
  [['local', 'closed'], false],
  [['open', 'closed'], false],
  [['open', 'local'], true],
  [['open', 'open'], true],
] as const)
  test(`policies failing ${modes.join(' and ')} ${expected ? 'admit' : 'reject'} without a store`, async () => {
    const breaker = { failures: 1, openMs: 60_000 }
    const limiter = createLimiter({ store: silent(), deadlineMs: 1, closedDeadlineMs: 1, breaker })
    const [one, other] = modes.map((failureMode, i) =>
      definePolicy(`p${i}`, [{ name: `p${i}`, limit: 1, windowMs: minute }], { failureMode }),
    )
    assert(one && other)
    await limiter.check([one, other], alice)
    const decision = await limiter.check([one, other], { kind: 'user', id: 'bob' })
    assert.equal(decision.allowed, expected)
    // What is open admits any number; what is local counts here.
    const again = await limiter.check([one, other], { kind: 'user', id: 'bob' })
    assert.equal(
      again.allowed,
      modes.every((mode) => mode === 'open'),
    )
  })

test('a process that counts locally acquires several policies all or nothing', async () => {
  const shared = memoryStore()
  const advisory = tierPolicy('roomy', { rpm: 100, daily: 10_000 }, { advisory: true })
  const exact = definePolicy('exact', [{ name: 'exact', limit: 5, windowMs: minute }])
  const store = hybridStore(shared, { instances: 1, intervalMs: 0 })
  const limiter = createLimiter({ store, clock: { now: () => start } })
  let admitted = 0
  for (let i = 0; i < 20; i++) if ((await limiter.check([advisory, exact], alice)).allowed) admitted++
  await store.reconcile()
  assert.equal(admitted, 5)
  assert.deepEqual(shared.peek(advisory, alice, start).counters, [0, 5, 0, 5])
  assert.deepEqual(shared.peek(exact, alice, start).counters, [0, 5])
})
