import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CounterStore,
  createLimiter,
  type Decision,
  decisionHeaders,
  definePolicy,
  memoryStore,
  type Policy,
  quotaExceededProblem,
  tierPolicy,
} from '@gatehouse/limiter'

const start = Date.UTC(2026, 0, 1)
const user = { kind: 'user', id: 'alice' }

const fail = () => Promise.reject(new Error('connection refused'))
const failingStore: CounterStore = { acquire: fail, peek: fail, add: fail, grant: fail, raise: fail, reset: fail }

function setup() {
  let now = start
  const limiter = createLimiter({ clock: { now: () => now } })
  return {
    limiter,
    wait(milliseconds: number) {
      now += milliseconds
    },
    check(policy: Policy, cost = 1): Decision {
      const decision = limiter.check(policy, user, { cost })
      assert(!(decision instanceof Promise))
      return decision
    },
  }
}

test('the memory store returns a decision without a promise', () => {
  const { limiter } = setup()
  assert(!(limiter.check(tierPolicy('free', { rpm: 10, daily: 1000 }), user) instanceof Promise))
})

test('headers contain limit, remaining and reset, and Retry-After only on rejection', () => {
  const { check, wait } = setup()
  const free = tierPolicy('free', { rpm: 2, daily: 1000 })
  wait(12_500)
  assert.deepEqual(decisionHeaders(check(free)), {
    'X-RateLimit-Limit': '2',
    'X-RateLimit-Remaining': '1',
    'X-RateLimit-Reset': String(start / 1000 + 60),
  })
  check(free)
  const rejected = check(free)
  assert.deepEqual(decisionHeaders(rejected), {
    'X-RateLimit-Limit': '2',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': String(start / 1000 + 60),
    'Retry-After': '48',
  })
})

test('X-RateLimit headers describe the violated window, else the one with the smallest share', () => {
  const { check, wait } = setup()
  const policy = tierPolicy('odd', { rpm: 10, daily: 12 })
  assert.equal(check(policy).limit, 10)
  for (let i = 0; i < 8; i++) check(policy)
  wait(120_000)
  assert.deepEqual([check(policy).limit, check(policy).limit], [12, 12])
  const last = check(policy)
  assert.deepEqual([last.allowed, last.remaining, last.limit], [true, 0, 12])
  const rejected = check(policy)
  assert.deepEqual([rejected.allowed, rejected.limit, rejected.resetAt], [false, 12, start + 86_400_000])
})

test('the fields of the IETF draft 11 are optional, and agree with Retry-After', () => {
  const { check } = setup()
  const free = tierPolicy('free', { rpm: 1, daily: 1000 })
  check(free)
  const headers = decisionHeaders(check(free), { ietf: 'draft-11' })
  assert.equal(headers['RateLimit-Policy'], '"rpm";q=1;w=60,"daily";q=1000;w=86400')
  assert.equal(headers.RateLimit, '"rpm";r=0;t=61,"daily";r=999;t=86400')
  assert.equal(headers['Retry-After'], '61')
})

test('a rejection has problem details that name the violated rules', () => {
  const { check } = setup()
  const free = tierPolicy('free', { rpm: 1, daily: 1000 })
  check(free)
  assert.deepEqual(quotaExceededProblem(check(free)), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    'violated-policies': ['rpm'],
  })
})

test('a shadow rule counts and reports what it would reject, and rejects nothing', () => {
  const shadowed: string[] = []
  const limiter = createLimiter({ observer: { onShadowRejection: (rule) => shadowed.push(rule) } })
  const policy = definePolicy('candidate', [
    { name: 'real', limit: 5, windowMs: 60_000 },
    { name: 'candidate', limit: 2, windowMs: 60_000, shadow: true },
  ])
  const decisions = Array.from({ length: 6 }, () => limiter.check(policy, user) as Decision)
  assert.deepEqual(
    decisions.map(({ allowed }) => allowed),
    [true, true, true, true, true, false],
  )
  assert.deepEqual(shadowed, ['candidate', 'candidate', 'candidate', 'candidate'])
  assert.equal(decisionHeaders(decisions[2] as Decision)['X-RateLimit-Limit'], '5')
  assert.deepEqual(quotaExceededProblem(decisions[5] as Decision)['violated-policies'], ['real'])
})

test('a policy of shadow rules alone has no headers', () => {
  const { check } = setup()
  const policy = definePolicy('candidate', [{ name: 'candidate', limit: 1, windowMs: 60_000, shadow: true }])
  check(policy)
  const decision = check(policy)
  assert(decision.allowed)
  assert.deepEqual(decisionHeaders(decision), {})
})

test('a change of tier resets nothing', () => {
  const { check } = setup()
  const free = tierPolicy('free', { rpm: 10, daily: 1000 })
  const pro = tierPolicy('pro', { rpm: 100, daily: 100_000 })
  for (let i = 0; i < 10; i++) check(free)
  assert(!check(free).allowed)
  const upgraded = check(pro)
  assert.deepEqual([upgraded.allowed, upgraded.remaining], [true, 89])
  assert(!check(free).allowed)
})

test('a daily window follows the UTC day when it is fixed, and slides by default', () => {
  const { check, wait } = setup()
  const sliding = tierPolicy('sliding', { daily: 4 })
  const fixed = tierPolicy('fixed', { daily: 4 }, { dailyAlgorithm: 'fixed-window' })
  wait(86_399_000)
  for (let i = 0; i < 4; i++) assert(check(sliding).allowed)
  wait(1_000)
  assert(!check(sliding).allowed)
  assert(check(fixed).allowed)
})

test('a cost acquires as many units, and one above the limit is an error', () => {
  const { check } = setup()
  const policy = definePolicy('upload', [{ name: 'mb', limit: 10, windowMs: 60_000 }])
  assert.equal(check(policy, 7).remaining, 3)
  assert(!check(policy, 4).allowed)
  assert.equal(check(policy, 3).remaining, 0)
  assert.throws(() => check(policy, 11), /a cost of 11 exceeds the limit 10 of rule "mb" of "upload"/)
  assert.throws(() => check(policy, 0), /cost must be an integer from 1, got 0/)
  assert.throws(() => check(policy, 1.5), RangeError)
})

test('a cost is bounded also where no rule rejects', () => {
  const { check } = setup()
  const policy = definePolicy('candidate', [{ name: 'candidate', limit: 1, windowMs: 60_000, shadow: true }])
  assert(check(policy, 2 ** 31 - 1).allowed)
  for (const cost of [2 ** 31, 1e21, Number.POSITIVE_INFINITY]) assert.throws(() => check(policy, cost), RangeError)
})

test('peek acquires nothing, grant returns units, reset deletes, explain says where and why', async () => {
  const { limiter, check } = setup()
  const policy = tierPolicy('free', { rpm: 2, daily: 1000 })
  assert.equal((await limiter.peek(policy, user)).remaining, 2)
  check(policy)
  check(policy)
  const explained = await limiter.explain(policy, user)
  const minute = start / 60_000
  assert.deepEqual(explained.rules[0]?.keys, [`rl:user:alice:${minute - 1}`, `rl:user:alice:${minute}`])
  assert.equal(explained.rules[0]?.text, 'rpm: 0 of 2 left in 60 s (sliding-window); the next is admitted in 61 s')
  assert.equal((await limiter.grant(policy, user, 5)).rules[0]?.remaining, 5)
  for (let i = 0; i < 5; i++) assert(check(policy).allowed)
  assert(!check(policy).allowed)
  await limiter.reset(policy, user)
  assert.equal((await limiter.peek(policy, user)).remaining, 2)
  await assert.rejects(limiter.grant(policy, user, 0), /must be an integer/)
})

test('observers receive every decision with route template and tier', () => {
  const decisions: unknown[] = []
  const limiter = createLimiter({
    observer: { onDecision: ({ allowed }, { route, tier }) => decisions.push([allowed, route, tier]) },
  })
  const policy = definePolicy('gold plan', [{ name: 'r', limit: 1, windowMs: 60_000 }], { tier: 'gold' })
  limiter.check(policy, user, { route: '/v1/notify' })
  limiter.check(policy, user, { route: '/v1/notify' })
  assert.deepEqual(decisions, [
    [true, '/v1/notify', 'gold'],
    [false, '/v1/notify', 'gold'],
  ])
})

test('headers of a decision without a store do not show a shadow rule', async () => {
  const [real, shadow] = [
    { name: 'real', limit: 10, windowMs: 60_000 },
    { name: 'strict', limit: 1, windowMs: 1_000, shadow: true },
  ]
  for (const failureMode of ['open', 'closed'] as const) {
    const limiter = createLimiter({ store: failingStore, clock: { now: () => start + 12_500 } })
    const headers = decisionHeaders(await limiter.check(definePolicy('p', [shadow, real], { failureMode }), user))
    assert.deepEqual(
      [headers['X-RateLimit-Limit'], headers['X-RateLimit-Remaining'], headers['X-RateLimit-Reset']],
      ['10', failureMode === 'open' ? '10' : '0', String(start / 1000 + 60)],
    )
  }
})

test('headers of policies in several stores do not show one that is all in shadow', async () => {
  const limiter = createLimiter({ closedStore: memoryStore() })
  const shadow = definePolicy('s', [{ name: 's', limit: 1, windowMs: 60_000, shadow: true }])
  const login = definePolicy('login', [{ name: 'login', limit: 9, windowMs: 60_000 }], { failureMode: 'closed' })
  const headers = decisionHeaders(await limiter.check([shadow, login], user))
  assert.deepEqual([headers['X-RateLimit-Limit'], headers['X-RateLimit-Remaining']], ['9', '8'])
})

test('shadow rules reject nothing while the store is unavailable, whatever their failure mode', async () => {
  const limiter = createLimiter({ store: failingStore })
  const shadow = definePolicy('s', [{ name: 's', limit: 1, windowMs: 60_000, shadow: true }], { failureMode: 'closed' })
  assert.equal((await limiter.check(shadow, user)).allowed, true)
  for (const failureMode of ['local', 'open'] as const) {
    const real = definePolicy('real', [{ name: 'real', limit: 10, windowMs: 60_000 }], { failureMode })
    const decision = await limiter.check([real, shadow], user)
    assert.deepEqual([decision.allowed, decision.source], [true, failureMode])
  }
  const closed = definePolicy('c', [{ name: 'c', limit: 10, windowMs: 60_000 }], { failureMode: 'closed' })
  assert.equal((await limiter.check([closed, shadow], user)).allowed, false)
})
