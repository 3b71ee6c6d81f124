import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStoreWatch } from '../../../src/index.ts'
import { listen, setup, startUpstream } from '../../support/setup.ts'

const limits = {
  tiers: { free: { rpm: 2, daily: 10 }, ops: { rpm: 1_000 } },
  policies: { search: { rpm: 1 }, anonymous: { rpm: 1 } },
  routes: [{ path: '/open', policy: 'search' }],
}

async function asOperator(scope = 'read:limits read:personal-data') {
  const made = await setup({
    ...limits,
    planOf: async (subject) => ({ plan: subject === 'op' ? 'ops' : 'free' }),
  })
  const headers = made.bearer({ sub: 'op', scope })
  const get = async (url: string) => made.http.inject({ url, headers })
  const use = async (url: string, sub = 'u1') => made.http.inject({ url, headers: made.bearer({ sub }) })
  return { ...made, get, use }
}

const idsOf = (answer: { json(): { items: { id: string }[] } }) => answer.json().items.map(({ id }) => id)

test('the callers that are rejected most are listed with the policy that rejected them', async () => {
  const { use, get } = await asOperator()
  for (let n = 0; n < 3; n++) await use('/open')
  for (let n = 0; n < 4; n++) await use('/whoami', 'u2')
  const answer = (await get('/admin/v1/limits/top')).json()
  assert.deepEqual(
    answer.items.map(({ id, policy, allowed, rejected }: Record<string, unknown>) => [id, policy, allowed, rejected]),
    [
      ['u1', 'search', 1, 2],
      ['u2', 'free', 2, 2],
    ],
  )
  assert.deepEqual([answer.error_bound, answer.scope], [0, 'process'])
  const used = await get('/admin/v1/limits/top?by=allowed&policy=free&kind=user&window=7d')
  assert.deepEqual(idsOf(used), ['u2', 'u1'])
  assert.deepEqual(idsOf(await get('/admin/v1/limits/top?route=/whoami')), ['u2'])
})

test('addresses and mail addresses of callers are masked without read:personal-data', async () => {
  const { http, use, get } = await asOperator('read:limits')
  for (let n = 0; n < 2; n++) await http.inject({ url: '/healthz', remoteAddress: '192.0.2.7' })
  for (let n = 0; n < 3; n++) await use('/whoami', 'someone@example.com')
  const top = (await get('/admin/v1/limits/top')).body
  const rejections = (await get('/admin/v1/limits/rejections')).body
  const caller = (await get('/admin/v1/limits/callers/ip/192.0.2.7')).body
  for (const text of [top, rejections, caller]) assert.doesNotMatch(text, /192\.0\.2\.7|someone@/)
  assert.match(top, /192\.0\.2\.0\/24/)
  assert.match(rejections, /s•••@example\.com/)
})

test('a rejection has its rule, route, wait and request id, and is found by its caller', async () => {
  const { http, use, get } = await asOperator()
  for (let n = 0; n < 2; n++) await use('/open')
  for (let n = 0; n < 2; n++) await http.inject({ url: '/healthz', remoteAddress: '2001:db8::1' })
  const all = (await get('/admin/v1/limits/rejections')).json()
  assert.equal(all.items.length, 2)
  const found = (await get('/admin/v1/limits/rejections?kind=user&id=u1')).json().items
  assert.equal(found.length, 1)
  const { at, retry_after: wait, request_id: id, ...rest } = found[0]
  assert.deepEqual(rest, {
    policy: 'search',
    rule: 'search-rpm',
    route: '/open',
    identifier: { kind: 'user', id: 'u1' },
    source: 'store',
  })
  assert.ok(Date.parse(at) > 0 && wait >= 1 && id.length > 0)
  const byAddress = (await get('/admin/v1/limits/rejections?kind=ip&id=2001:db8::ffff')).json().items
  assert.equal(byAddress[0]?.identifier.id, '2001:db8:0:0::/64')
})

test('addresses that send forged credentials are among the rejected callers', async () => {
  const made = await setup({ policies: { 'bad-credentials': { rpm: 2 }, anonymous: { rpm: 100 } } })
  const { http, bearer } = made
  for (let n = 0; n < 4; n++) {
    const forged = { authorization: `${bearer({ jti: `forged-${n}` }).authorization.slice(0, -4)}AAAA` }
    await http.inject({ url: '/whoami', headers: forged, remoteAddress: '192.0.2.7' })
  }
  const headers = bearer({ scope: 'read:limits read:personal-data' })
  const get = async (path: string) => (await http.inject({ url: path, headers })).json()
  const { items } = await get('/admin/v1/limits/rejections?policy=bad-credentials')
  assert.deepEqual(
    items.map(({ identifier, route }: Record<string, unknown>) => [identifier, route]),
    [
      [{ kind: 'ip', id: '192.0.2.7' }, 'bad-credentials'],
      [{ kind: 'ip', id: '192.0.2.7' }, 'bad-credentials'],
    ],
  )
  const { policies } = await get('/admin/v1/limits/callers/ip/192.0.2.7')
  assert.deepEqual(
    policies.map(({ policy }: Record<string, unknown>) => policy),
    ['anonymous'],
  )
})

test('rejections are read page by page', async () => {
  const { use, get, clock } = await asOperator()
  for (let n = 0; n < 8; n++) {
    await use('/whoami')
    clock.advance(10)
  }
  const seen: string[] = []
  let next: string | undefined
  do {
    const page = (await get(`/admin/v1/limits/rejections?limit=4${next ? `&cursor=${next}` : ''}`)).json()
    seen.push(...page.items.map(({ at }: { at: string }) => at))
    next = page.next
  } while (next !== undefined)
  assert.equal(seen.length, 6)
  assert.deepEqual(seen, [...new Set(seen)].sort().reverse())
})

test('the cursor of rejections shows no id that is masked', async () => {
  const { gateway, http, bearer } = await setup({ attemptLimits: { login: { limit: 2, windowSeconds: 300 } } })
  const headers = bearer({ scope: 'read:limits' })
  const get = async (url: string) => http.inject({ url, headers })
  const attempt = { address: '192.0.2.7', account: 'someone@example.com' }
  for (let n = 0; n < 20; n++) await gateway.attempts.limit('login', attempt)
  const seen: unknown[] = []
  let next: string | undefined
  do {
    const page = (await get(`/admin/v1/limits/rejections?limit=3${next ? `&cursor=${next}` : ''}`)).json()
    seen.push(...page.items)
    next = page.next
    assert.doesNotMatch(Buffer.from(next ?? '', 'base64url').toString(), /someone|192/)
  } while (next !== undefined)
  assert.equal(seen.length, (await get('/admin/v1/limits/rejections')).json().items.length)
  assert.ok(seen.length > 3)
})

test('a caller has the tier, the standing under each policy, and the minutes', async () => {
  const { use, get } = await asOperator()
  for (let n = 0; n < 2; n++) await use('/open')
  const caller = (await get('/admin/v1/limits/callers/user/u1')).json()
  assert.equal(caller.tier, 'free')
  assert.deepEqual(
    caller.policies.map((one: Record<string, unknown>) => [
      one.policy,
      one.is_tier,
      one.recent,
      one.allowed,
      one.remaining,
    ]),
    [
      ['free', true, true, true, 1],
      ['search', false, true, false, 0],
    ],
  )
  assert.equal(caller.policies[0].rules[0].window_seconds, 60)
  assert.equal(caller.minutes.length, 60)
  assert.deepEqual([caller.minutes.at(-1).allowed, caller.minutes.at(-1).rejected], [1, 1])
  const again = (await get('/admin/v1/limits/callers/user/u1')).json()
  assert.equal(again.policies[0].remaining, 1)
})

test('statistics count outcomes by policy, route and tier in steps', async () => {
  const { use, get, clock } = await asOperator()
  for (let n = 0; n < 4; n++) await use('/open')
  const read = async (query: string) => (await get(`/admin/v1/limits/stats?${query}`)).json()
  const { step, at, series } = await read('by=policy')
  assert.deepEqual([step, at.length], [60, 61])
  const rejected = series.find(({ labels }: { labels: Record<string, string> }) => labels.outcome === 'rejected')
  assert.deepEqual(rejected.labels, { policy: 'search', outcome: 'rejected', rule: 'search-rpm' })
  assert.deepEqual(rejected.values.slice(-3), [0, 0, 3])
  for (const by of ['route', 'tier']) assert.ok((await read(`by=${by}&step=600`)).series.length >= 2)
  const from = new Date(clock.now() - 86_400_000).toISOString()
  assert.equal((await read(`by=route&from=${from}`)).step, 600)
  const refused = await get(`/admin/v1/limits/stats?by=route&step=60&from=${from}`)
  assert.equal(refused.statusCode, 400)
  assert.match(refused.json().detail, /at most 11100 seconds/)
})

test('the counter store says since when it is unavailable, and what policies do then', async () => {
  const made = await setup(limits)
  const watch = createStoreWatch(made.clock)
  const { http } = await setup({
    ...limits,
    storeWatch: watch,
    clock: made.clock,
    planOf: async () => ({ plan: 'ops' }),
  })
  const headers = made.bearer({ sub: 'op', scope: 'read:limits' })
  const store = async () => (await http.inject({ url: '/admin/v1/limits/store', headers })).json()
  assert.equal((await store()).available, true)
  const since = new Date(made.clock.now()).toISOString()
  watch.onBreakerChange('open', 'standard')
  made.clock.advance(5_000)
  watch.onBreakerChange('half-open', 'standard')
  watch.onBreakerChange('open', 'standard')
  const away = await store()
  assert.deepEqual([away.available, away.unavailable_since], [false, since])
  assert.ok(
    away.failure_modes.find((mode: Record<string, unknown>) => mode.failure_mode === 'local').policies.length > 1,
  )
  watch.onBreakerChange('closed', 'standard')
  assert.equal((await store()).available, true)
})

test('no tier or policy takes the name of a path of the API', async () => {
  await assert.rejects(setup({ tiers: { callers: { rpm: 1 } } }), /"callers" is no name/)
  await assert.rejects(setup({ policies: { overrides: { rpm: 1 } } }), /"overrides" is no name/)
})

test('routes are listed in order, and a request finds its rule', async (context) => {
  const upstream = await startUpstream(context, (_request, response) => response.end('ok'))
  const made = await setup({
    ...limits,
    planOf: async () => ({ plan: 'ops' }),
    routes: [
      { path: '/orders/{id}', upstream: 'orders', methods: ['GET'], scope: 'read:orders' },
      { path: '/orders/*', upstream: 'gone' },
    ],
    upstreams: { orders: { url: upstream.url }, gone: { url: 'http://127.0.0.1:9', retries: 0, breaker_failures: 1 } },
  })
  const url = await listen(context, made)
  const headers = made.bearer({ sub: 'op', scope: 'read:limits read:orders' })
  const get = async (path: string) => (await fetch(`${url}${path}`, { headers })).json()
  const { items } = (await get('/admin/v1/routes')) as { items: Record<string, unknown>[] }
  assert.deepEqual(
    items.filter(({ origin }) => origin === 'file').map(({ position, path, upstream: to }) => [position, path, to]),
    [
      [1, '/orders/{id}', 'orders'],
      [2, '/orders/*', 'gone'],
    ],
  )
  const match = (await get('/admin/v1/routes/match?method=GET&path=/orders/7')) as Record<string, unknown>
  assert.deepEqual([match.outcome, match.position, match.other_paths], ['upstream', 1, 0])
  const own = (await get('/admin/v1/routes/match?method=GET&path=/admin/v1/limits')) as Record<string, unknown>
  assert.deepEqual([own.outcome, own.route], ['own', '/admin/v1/limits'])
  await fetch(`${url}/orders/7`, { headers })
  await fetch(`${url}/orders/7/lines`, { headers })
  const found = (await get('/admin/v1/upstreams')) as { items: Record<string, unknown>[] }
  const [orders, gone] = found.items
  assert.deepEqual([orders?.breaker, orders?.calls, orders?.failures], ['closed', 1, 0])
  assert.ok(Number(orders?.p50_ms) > 0)
  assert.deepEqual([gone?.breaker, gone?.failures, Number(gone?.retry_in_seconds) >= 1], ['open', 1, true])
  assert.match(JSON.stringify(gone?.last_failure), /ECONNREFUSED/)
})
