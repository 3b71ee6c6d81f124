import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GatewayOptions } from '../../src/index.ts'
import { setup } from '../support/setup.ts'

const remaining = (answer: { headers: Record<string, unknown> }) => Number(answer.headers['x-ratelimit-remaining'])

async function standing(bench: Awaited<ReturnType<typeof setup>>, limit: string, id = 'u1', kind = 'user') {
  const answer = await bench.http.inject({
    url: `/admin/v1/limits/${limit}/${kind}/${id}`,
    headers: bench.bearer({ sub: 'root', client_id: 'root', scope: 'admin:limits' }),
  })
  assert.equal(answer.statusCode, 200, answer.body)
  const { rules } = answer.json() as { rules: { name: string; policy: string; remaining: number }[] }
  return rules.map((rule) => `${rule.policy} ${rule.name} ${rule.remaining}`)
}

const composed: Partial<GatewayOptions> = {
  tiers: { free: { rpm: 5 }, pro: { rpm: 50 } },
  policies: { search: { rpm: 2 }, everybody: { rpm: 4, shared: true }, solo: { rpm: 3 } },
  globalPolicy: 'everybody',
  routes: [
    { path: '/open', policy: 'search' },
    { path: '/notes', policy: 'solo', tier: false },
  ],
}

test('a request counts by tier, route and global policy, all or nothing', async () => {
  const bench = await setup(composed)
  const ask = (url: string, claims = {}) => bench.http.inject({ url, headers: bench.bearer(claims) })
  assert.equal(remaining(await ask('/open')), 1)
  assert.equal(remaining(await ask('/open')), 0)
  const refused = await ask('/open')
  assert.equal(refused.statusCode, 429)
  assert.equal(refused.headers['x-ratelimit-limit'], '2')
  assert.deepEqual(refused.json()['violated-policies'], ['search-rpm'])
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/)
  assert.deepEqual(await standing(bench, 'free'), ['free rpm 3'], 'a refused request charges no other policy')
  assert.equal((await ask('/whoami', { sub: 'u2' })).statusCode, 200)
})

test('a global policy counts all callers together and names itself when it refuses', async () => {
  const bench = await setup(composed)
  for (let i = 0; i < 4; i++)
    assert.equal((await bench.http.inject({ url: '/whoami', headers: bench.bearer({ sub: `v${i}` }) })).statusCode, 200)
  const refused = await bench.http.inject({ url: '/whoami', headers: bench.bearer({ sub: 'v9' }) })
  assert.equal(refused.statusCode, 429)
  assert.deepEqual(refused.json()['violated-policies'], ['everybody-rpm'])
})

test('users of a client with a policy are counted by it in place of their tier, others are not', async () => {
  const bench = await setup({
    tiers: { free: { rpm: 5 } },
    policies: { office: { rpm: 40 } },
    clientPolicies: { desk: 'office' },
  })
  const ask = async (claims: object) => {
    const { headers } = await bench.http.inject({ url: '/whoami', headers: bench.bearer({ ...claims }) })
    return headers['x-ratelimit-limit']
  }
  assert.equal(await ask({ sub: 'w1', client_id: 'desk' }), '40')
  assert.equal(await ask({ sub: 'w1', client_id: 'web' }), '5')
})

test('a route with tier: false is counted by its policy in place of the tier', async () => {
  const bench = await setup(composed)
  const headers = bench.bearer({ scope: 'read:notes' })
  const answer = await bench.http.inject({ url: '/notes', headers })
  assert.deepEqual([answer.statusCode, answer.headers['x-ratelimit-limit']], [200, '3'])
  const { globalPolicy: _, ...withoutGlobal } = composed
  const apart = await setup(withoutGlobal)
  await apart.http.inject({ url: '/notes', headers: apart.bearer({ scope: 'read:notes' }) })
  assert.deepEqual(await standing(apart, 'free'), ['free rpm 5'])
})

test('reading several limits together shows every rule, its policy and its keys', async () => {
  const bench = await setup(composed)
  await bench.http.inject({ url: '/open', headers: bench.bearer() })
  const headers = bench.bearer({ sub: 'root', client_id: 'root', scope: 'admin:limits' })
  const explained = await bench.http.inject({ url: '/admin/v1/limits/free+search+everybody/user/u1/explain', headers })
  assert.equal(explained.statusCode, 200, explained.body)
  const { rules } = explained.json() as { rules: { policy: string; keys: string[] }[] }
  assert.deepEqual(
    rules.map(({ policy, keys }) => [policy, keys[1]?.replace(/\d+$/, '')]),
    [
      ['free', 'rl:user:u1:'],
      ['search', 'rl:search-rpm:user:u1:'],
      ['everybody', 'rl:everybody-rpm:global:all:'],
    ],
  )
  const unknown = await bench.http.inject({ url: '/admin/v1/limits/free+nothing/user/u1', headers })
  assert.equal(unknown.statusCode, 404)
})

test('up to three known limits can be read together; other names are refused', async () => {
  const bench = await setup({ policies: composed.policies ?? {}, tiers: { free: { rpm: 50 }, pro: { rpm: 50 } } })
  const headers = bench.bearer({ sub: 'root', client_id: 'root', scope: 'admin:limits' })
  const read = (names: string) => bench.http.inject({ url: `/admin/v1/limits/${names}/user/u1`, headers })
  const answers: readonly (readonly [names: string, status: number, detail: RegExp])[] = [
    ['free+free', 200, /^$/],
    ['free+pro', 200, /^$/],
    ['free+search+everybody+solo', 400, /At most 3 limits can be read together, not 4/],
    [Array(40).fill('free').join('+'), 400, /At most 3/],
    ['free+', 404, /no tier or policy ""/],
    ['+', 404, /no tier or policy ""/],
    ['free%20search', 404, /no tier or policy "free search"/],
    ['__proto__+constructor', 404, /no tier or policy "__proto__"/],
    ['free%2F..%2Fpro', 404, /no tier or policy "free\/\.\.\/pro"/],
    ['free%00+pro', 400, /must be text without U\+0000/],
  ]
  for (const [names, status, detail] of answers) {
    const answer = await read(names)
    assert.equal(answer.statusCode, status, `${names}: ${answer.body}`)
    assert.match(answer.json().detail ?? '', detail, names)
  }
  const twice = (await read('free+free')).json() as { rules: unknown[] }
  assert.equal(twice.rules.length, 1, 'what is named twice counts once')
})

test('the list of limits shows the policies of each route', async () => {
  const bench = await setup(composed)
  const headers = bench.bearer({ sub: 'root', client_id: 'root', scope: 'admin:limits' })
  const { global, routes } = (await bench.http.inject({ url: '/admin/v1/limits', headers })).json()
  assert.equal(global, 'everybody')
  assert.deepEqual(routes, [
    { path: '/open', policy: 'search', tier: true },
    { path: '/notes', policy: 'solo', tier: false },
  ])
})

test('a global policy that is not declared is refused, naming those that are', async () => {
  await assert.rejects(
    setup({ globalPolicy: 'nowhere' }),
    /global_policy: there is no policy "nowhere"; there are anonymous/,
  )
})

const producing: Partial<GatewayOptions> = {
  tiers: { free: { rpm: 2 } },
  ownRoutes: [{ path: '/open', methods: ['GET'], producers: 'producer' }],
}

test('a caller with write:notifications counts by the policy producer only where it sends', async () => {
  const bench = await setup(producing)
  const headers = bench.bearer({ sub: 'shop', client_id: 'shop', scope: 'read:users write:notifications' })
  for (let i = 0; i < 5; i++) {
    const sent = await bench.http.inject({ url: '/open', headers })
    assert.deepEqual([sent.statusCode, sent.headers['x-ratelimit-limit']], [200, '60000'])
  }
  const read = await bench.http.inject({ url: '/whoami', headers })
  assert.deepEqual([read.headers['x-ratelimit-limit'], remaining(read)], ['2', 1])
})

test('a caller without write:notifications counts by its tier where it sends events', async () => {
  const bench = await setup(producing)
  const answer = await bench.http.inject({ url: '/open', headers: bench.bearer({ scope: 'read:users' }) })
  assert.equal(answer.headers['x-ratelimit-limit'], '2')
})

test('a declared rule for an event path keeps the policy of producers', async () => {
  const bench = await setup({
    ...producing,
    policies: { intake: { rpm: 7 }, producer: { rpm: 9 } },
    routes: [{ path: '/open', policy: 'intake' }],
  })
  const headers = bench.bearer({ sub: 'shop', client_id: 'shop', scope: 'write:notifications' })
  for (let i = 0; i < 7; i++) assert.equal((await bench.http.inject({ url: '/open', headers })).statusCode, 200)
  const refused = await bench.http.inject({ url: '/open', headers })
  assert.deepEqual(refused.json()['violated-policies'], ['intake-rpm'])
  assert.deepEqual(await standing(bench, 'producer', 'shop', 'client'), ['producer producer-rpm 2'])
})

test('a client with a policy counts by it in all it does: for users, for itself, with its keys', async () => {
  const bench = await setup({
    tiers: { free: { rpm: 5 }, pro: { rpm: 50 } },
    policies: { partner: { rpm: 40 } },
    planOf: async (subject) => ({ plan: subject === 'vip' ? 'pro' : 'free' }),
    resolveApiKey: async () => ({ id: 'k', owner: 'shop', kind: 'client', scopes: [], plan: 'free' }),
  })
  const limit = async (headers: Record<string, string>) =>
    (await bench.http.inject({ url: '/whoami', headers })).headers['x-ratelimit-limit']
  const ofUser = (client: string) => limit(bench.bearer({ sub: 'vip', client_id: client }))
  bench.gateway.setClientPolicies([{ client: 'shop', policy: 'partner' }])
  assert.equal(await ofUser('shop'), '40')
  assert.equal(await ofUser('web'), '50')
  assert.equal(await limit(bench.bearer({ sub: 'shop', client_id: 'shop', plan: 'free' })), '40')
  assert.equal(await limit({ 'x-api-key': 'gk_of-the-shop' }), '40')
  bench.gateway.setClientPolicies([])
  assert.equal(await ofUser('shop'), '50')
})

test('a client whose policy is gone counts by the tier, and none loosens a built-in one', async () => {
  const bench = await setup({
    tiers: { free: { rpm: 5 } },
    policies: { partner: { rpm: 40 }, office: { rpm: 20 } },
    builtInClientPolicies: { desk: 'office' },
  })
  const limit = async (client: string) =>
    (await bench.http.inject({ url: '/whoami', headers: bench.bearer({ client_id: client }) })).headers[
      'x-ratelimit-limit'
    ]
  bench.gateway.setClientPolicies([
    { client: 'shop', policy: 'gone' },
    { client: 'desk', policy: 'partner' },
  ])
  assert.equal(await limit('shop'), '5')
  assert.equal(await limit('desk'), '20')
})
