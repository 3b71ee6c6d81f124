import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from './support/setup.ts'

test('every response has the X-RateLimit headers, a rejected one Retry-After and a problem', async () => {
  const { http, clock, bearer } = await setup({ tiers: { free: { rpm: 2, daily: 1000 } } })
  clock.set(Date.UTC(2026, 0, 1, 12, 0, 30))
  const headers = bearer()
  const first = await http.inject({ url: '/whoami', headers })
  assert.equal(first.statusCode, 200)
  assert.equal(first.headers['x-ratelimit-limit'], '2')
  assert.equal(first.headers['x-ratelimit-remaining'], '1')
  assert.equal(first.headers['x-ratelimit-reset'], String(Date.UTC(2026, 0, 1, 12, 1) / 1000))
  assert.equal(first.headers['retry-after'], undefined)
  await http.inject({ url: '/whoami', headers })
  const third = await http.inject({ url: '/whoami', headers })
  assert.equal(third.statusCode, 429)
  assert.equal(third.headers['x-ratelimit-remaining'], '0')
  assert.match(String(third.headers['retry-after']), /^[1-9]\d*$/)
  assert.match(String(third.headers['content-type']), /^application\/problem\+json/)
  assert.equal(third.json().type, 'https://iana.org/assignments/http-problem-types#quota-exceeded')
  assert.deepEqual(third.json()['violated-policies'], ['rpm'])
  clock.advance(Number(third.headers['retry-after']) * 1000)
  assert.equal((await http.inject({ url: '/whoami', headers: bearer() })).statusCode, 200)
})

test('users, clients, API keys and addresses are counted apart', async () => {
  const { http, bearer } = await setup({
    tiers: { free: { rpm: 1 } },
    policies: { anonymous: { rpm: 1 } },
    resolveApiKey: async (id) => ({ id, owner: 'u1', kind: 'user', scopes: [], plan: 'free' }),
  })
  const callers = [
    bearer(),
    bearer({ sub: 'u2' }),
    bearer({ sub: 'web', client_id: 'web' }),
    { 'x-api-key': 'one' },
    { 'x-api-key': 'two' },
    {},
  ]
  for (const expected of [200, 429])
    for (const headers of callers)
      assert.equal((await http.inject({ url: '/open', headers })).statusCode, expected, JSON.stringify(headers))
  const elsewhere = await http.inject({ url: '/open', remoteAddress: '192.0.2.9' })
  assert.equal(elsewhere.statusCode, 200)
})

test('two tokens of one user share one quota', async () => {
  const { http, bearer } = await setup({ tiers: { free: { rpm: 1 } } })
  assert.equal((await http.inject({ url: '/open', headers: bearer({ jti: 'a' }) })).statusCode, 200)
  assert.equal((await http.inject({ url: '/open', headers: bearer({ jti: 'b' }) })).statusCode, 429)
})

test("the tier is that of the user's plan, or the lowest without a plan", async () => {
  const plans: Record<string, string> = { rich: 'pro', odd: 'platinum' }
  const { http, bearer } = await setup({
    tiers: { pro: { rpm: 100, daily: 100_000 }, free: { rpm: 10, daily: 1000 } },
    async planOf(subject) {
      const plan = plans[subject]
      return plan === undefined ? undefined : { plan }
    },
  })
  for (const [sub, limit] of [
    ['rich', '100'],
    ['odd', '10'],
    ['stranger', '10'],
  ] as const) {
    const answer = await http.inject({ url: '/open', headers: bearer({ sub }) })
    assert.equal(answer.headers['x-ratelimit-limit'], limit, sub)
  }
})

test('a request without a token counts by address, 60 a minute', async () => {
  const { http } = await setup()
  const answer = await http.inject('/open')
  assert.equal(answer.headers['x-ratelimit-limit'], '60')
  assert.equal(answer.headers['x-ratelimit-remaining'], '59')
})

test('unknown routes answer 404 and are counted', async () => {
  const { http, metrics } = await setup()
  const answer = await http.inject('/nowhere/secret-path')
  assert.equal(answer.statusCode, 404)
  assert.equal(answer.headers['x-ratelimit-limit'], '60')
  const text = await metrics.metrics()
  assert.match(text, /rate_limit_allowed_total\{route="unmatched",tier="anonymous"\} 1/)
  assert.doesNotMatch(text, /secret-path/)
})

test('exempt routes are not limited and have no limit headers', async () => {
  const { http } = await setup({
    routes: [{ path: '/healthz', public: true, policy: 'none' }],
    policies: { anonymous: { rpm: 1 } },
  })
  for (let i = 0; i < 5; i++) {
    const answer = await http.inject('/healthz')
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['x-ratelimit-limit'], undefined)
  }
})

test('a route may have a policy of its own, counted apart from the rest', async () => {
  const { http } = await setup({
    routes: [{ path: '/open', public: true, policy: 'pages' }],
    policies: { pages: { rpm: 3 } },
  })
  const answer = await http.inject('/open')
  assert.equal(answer.headers['x-ratelimit-limit'], '3')
  assert.equal((await http.inject('/nowhere')).headers['x-ratelimit-remaining'], '59')
})

test('decisions are counted by route template and tier', async () => {
  const { http, bearer, metrics } = await setup({ tiers: { free: { rpm: 1 } } })
  await http.inject({ url: '/users/u1', headers: bearer() })
  await http.inject({ url: '/users/u2', headers: bearer() })
  const text = await metrics.metrics()
  assert.match(text, /rate_limit_allowed_total\{route="\/users\/:id",tier="free"\} 1/)
  assert.match(text, /rate_limit_rejected_total\{route="\/users\/:id",tier="free"\} 1/)
})

test('a shadow rule counts and reports but never rejects', async () => {
  const { http, metrics } = await setup({
    routes: [{ path: '/open', public: true, policy: 'shadow' }],
    policies: { shadow: { shadow: { rpm: 1 } } },
  })
  for (let i = 0; i < 3; i++) assert.equal((await http.inject('/open')).statusCode, 200)
  const text = await metrics.metrics()
  assert.match(text, /rate_limit_shadow_rejected_total\{route="\/open",tier="shadow",rule="shadow-shadow-rpm"\} 2/)
  assert.match(text, /rate_limit_allowed_total\{route="\/open",tier="shadow"\} 3/)
})

test('a tier may have further rules and shadow limits beside its windows, all or nothing', async () => {
  const { http, bearer, metrics, clock } = await setup({
    tiers: {
      free: { rpm: 100, daily: 1000, rps: 2, burst: { capacity: 3, refill_per_second: 0.1 }, shadow: { rpm: 1 } },
    },
  })
  const ask = async () => http.inject({ url: '/open', headers: bearer() })
  assert.deepEqual([(await ask()).statusCode, (await ask()).statusCode], [200, 200])
  assert.deepEqual((await ask()).json()['violated-policies'], ['rps'])
  clock.advance(2_000)
  const last = await ask()
  assert.equal(last.statusCode, 200)
  assert.equal(last.headers['x-ratelimit-limit'], '3')
  const rejected = await ask()
  assert.deepEqual(rejected.json()['violated-policies'], ['burst'])
  assert.match(
    await metrics.metrics(),
    /rate_limit_shadow_rejected_total\{route="\/open",tier="free",rule="shadow-rpm"\} 4/,
  )
})

test('new tiers and policies apply without a restart and reset no counter', async () => {
  const { http, gateway, bearer } = await setup({ tiers: { free: { rpm: 5 } } })
  await http.inject({ url: '/open', headers: bearer() })
  gateway.reload({ tiers: { free: { rpm: 3 } } })
  const answer = await http.inject({ url: '/open', headers: bearer() })
  assert.equal(answer.headers['x-ratelimit-limit'], '3')
  assert.equal(answer.headers['x-ratelimit-remaining'], '1')
  assert.throws(() => gateway.reload({ tiers: { free: { rpm: 0 } } }), RangeError)
  const split = { free: { rpm: 10 }, pro: { rpm: 100, shards: 4 } }
  assert.throws(() => gateway.reload({ tiers: split }), /"pro" has shards 4 and "free" 1; all tiers need the same/)
  assert.equal((await http.inject({ url: '/open', headers: bearer() })).headers['x-ratelimit-limit'], '3')
})

test('contradictory settings are rejected at start with the valid choices', async () => {
  await assert.rejects(
    setup({ routes: [{ path: '/x', policy: 'nope' }] }),
    /\/x: there is no policy "nope"; there are .*anonymous/,
  )
  await assert.rejects(setup({ routes: [{ path: '/x', upstream: 'nope' }] }), /\/x: there is no upstream "nope"/)
  await assert.rejects(setup({ trustedProxies: ['10.0.0.0/99'] }), /10\.0\.0\.0\/99/)
  const attemptLimits = { login: { limit: 5, windowSeconds: 60 } }
  for (const login of [{ failure_mode: 'open' }, { failure_mode: 'closed', mode: 'hybrid' }] as const)
    await assert.rejects(setup({ attemptLimits, policies: { login: { rpm: 5, ...login } } }), /"login".*closed/)
  await assert.rejects(setup({ tiers: {} }), /at least one/)
  await assert.rejects(setup({ upstreams: { a: { url: 'ftp://x' } } }), /upstream "a"/)
})
