import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManagementChange, Problem } from '@gatehouse/kit'
import { setup } from '../../support/setup.ts'

const limits = {
  tiers: { free: { rpm: 2, daily: 50 }, ops: { rpm: 1_000 } },
  policies: { search: { rpm: 1, shadow: { rps: 1 } }, launch: { rpm: 7 }, everybody: { rpm: 6, shared: true } },
  routes: [{ path: '/open', policy: 'search' }],
}

async function asOperator(scope = 'admin:limits read:personal-data', more = {}) {
  const changes: ManagementChange[] = []
  const made = await setup({
    ...limits,
    planOf: async (subject) => ({ plan: subject === 'op' ? 'ops' : 'free' }),
    recordChange: async (change) => void changes.push(change),
    ...more,
  })
  const headers = made.bearer({ sub: 'op', scope, auth_time: made.clock.now() / 1_000 })
  const get = async (url: string) => (await made.http.inject({ url, headers })).json()
  const unblock = (kind: string, id: string) =>
    made.http.inject({ method: 'POST', url: `/admin/v1/limits/callers/${kind}/${id}/unblock`, headers })
  const use = async (url: string, sub = 'u1') =>
    (await made.http.inject({ url, headers: made.bearer({ sub }) })).statusCode
  return { ...made, changes, get, unblock, use }
}

test('unblocking lets a caller in under every policy that rejects it, and is one audit event', async () => {
  const { use, unblock, get, changes } = await asOperator()
  assert.deepEqual([await use('/open'), await use('/open')], [200, 429])
  assert.deepEqual([await use('/whoami'), await use('/whoami')], [200, 429])
  const answer = await unblock('user', 'u1')
  assert.equal(answer.statusCode, 200, answer.body)
  assert.deepEqual(answer.json(), { policies: ['free', 'search'], still_rejected: [] })
  assert.equal(await use('/open'), 200)
  assert.deepEqual(
    changes.map(({ action, target, after }) => [action, target.id, after]),
    [['limits.unblock', 'user/u1', { policies: ['free', 'search'] }]],
  )
  assert.deepEqual((await get('/admin/v1/limits/callers/user/u1')).policies[0].remaining, 1)
})

test('unblocking leaves other callers, and policies that reject nothing, as they are', async () => {
  const { use, unblock, get } = await asOperator(undefined, { globalPolicy: 'everybody' })
  for (let n = 0; n < 2; n++) await use('/whoami', 'u2')
  assert.equal(await use('/whoami'), 200)
  const remaining = async (id: string) => (await get(`/admin/v1/limits/callers/user/${id}`)).policies[0].remaining
  assert.deepEqual((await unblock('user', 'u1')).json(), { policies: [], still_rejected: [] })
  assert.deepEqual([await remaining('u1'), await remaining('u2')], [1, 0])
  // Each read of the operator counts by the shared policy as well.
  const last = await unblock('user', 'u2')
  assert.equal(last.statusCode, 429)
})

test('a policy that counts all callers together is not reset for one, and is named', async () => {
  const { http, bearer, unblock, use } = await asOperator(undefined, {
    routes: [{ path: '/open', policy: 'everybody' }],
  })
  for (let n = 0; n < 6; n++) await http.inject({ url: '/open', headers: bearer({ sub: `v${n}` }) })
  assert.equal(await use('/open'), 429)
  const { policies, still_rejected: left } = (await unblock('user', 'u1')).json()
  assert.deepEqual([policies, left[0]?.policy], [[], 'everybody'])
  assert.ok(left[0].retry_after >= 1)
})

test('unblocking needs admin:limits, and changes nothing when it cannot be recorded', async () => {
  const support = await asOperator('read:limits write:limit-grants')
  assert.equal((await support.unblock('user', 'u1')).statusCode, 403)
  const mute = await asOperator(undefined, {
    recordChange: () => Promise.reject(new Problem(503, 'the trail is full')),
  })
  for (let n = 0; n < 3; n++) await mute.use('/whoami')
  assert.equal((await mute.unblock('user', 'u1')).statusCode, 503)
  assert.equal(await mute.use('/whoami'), 429)
})

test('a caller has its override: what it allows, until when, by whom and why', async () => {
  const { gateway, clock, get, use } = await asOperator()
  const until = clock.now() + 60_000
  const by = { author: 'owner', createdAt: clock.now(), reason: 'a migration' }
  const read = () => get('/admin/v1/limits/callers/user/u1')
  gateway.setOverrides([{ kind: 'user', id: 'u1', factor: 3, until, ...by }])
  await use('/whoami')
  const scaled = await read()
  const { created_at: createdAt, until: end, ...override } = scaled.override
  assert.deepEqual(override, { factor: 3, author: 'owner', reason: 'a migration' })
  assert.deepEqual([Date.parse(createdAt), Date.parse(end)], [clock.now(), until])
  assert.deepEqual([scaled.tier, scaled.policies[0].limit, scaled.policies[0].remaining], ['free', 6, 5])
  assert.equal((await get('/admin/v1/limits/free/user/u1')).limit, 6)
  gateway.setOverrides([{ kind: 'user', id: 'u1', policy: 'launch', until }])
  const replaced = await read()
  const [first] = replaced.policies
  assert.deepEqual([replaced.tier, first.policy, first.stands_for_tier, first.limit], ['free', 'launch', true, 7])
  assert.ok(replaced.policies.every(({ policy }: { policy: string }) => policy !== 'free'))
  clock.advance(60_000)
  assert.equal((await read()).override, undefined)
})

test('a client with a policy has it in place of the tier', async () => {
  const { gateway, get } = await asOperator()
  gateway.setClientPolicies([{ client: 'shop', policy: 'launch' }])
  const { client_policy: policy, tier, policies } = await get('/admin/v1/limits/callers/client/shop')
  assert.deepEqual([policy, tier, policies[0].policy, policies[0].stands_for_tier], ['launch', 'free', 'launch', true])
})

test('what a shadow would have rejected is compared by route and by tier', async () => {
  const { use, get } = await asOperator()
  for (const sub of ['u1', 'u1', 'u2']) await use('/open', sub)
  const rows = async (by: string) => {
    const { series } = await get(`/admin/v1/limits/stats?by=${by}&policy=search`)
    const sum = ({ values }: { values: number[] }) => values.reduce((one, other) => one + other, 0)
    return series
      .map((one: { labels: Record<string, string>; values: number[] }) => [
        one.labels[by],
        one.labels.outcome,
        sum(one),
      ])
      .sort()
  }
  const expected = (name: string) => [
    [name, 'allowed', 2],
    [name, 'rejected', 1],
    [name, 'shadow', 1],
  ]
  assert.deepEqual(await rows('route'), expected('/open'))
  assert.deepEqual(await rows('tier'), expected('free'))
  const { series } = await get('/admin/v1/limits/stats?by=route')
  assert.ok(series.every(({ labels }: { labels: Record<string, string> }) => labels.policy === undefined))
  assert.deepEqual((await get('/admin/v1/limits/stats?by=route&policy=launch')).series, [])
})

test('requests that a looser shadow would have admitted are released', async () => {
  const { use, get } = await asOperator(undefined, {
    policies: { search: { rpm: 1, shadow: { rpm: 10 } } },
  })
  for (let n = 0; n < 4; n++) await use('/open')
  const { series } = await get('/admin/v1/limits/stats?by=route&policy=search')
  assert.deepEqual(
    series.map(({ labels, values }: { labels: Record<string, string>; values: number[] }) => [
      labels.outcome,
      values.at(-1),
    ]),
    [
      ['rejected', 3],
      ['released', 3],
      ['allowed', 1],
    ],
  )
})

test('how close callers come to a limit is read by policy', async () => {
  const { use, get, http, bearer } = await asOperator()
  await use('/whoami')
  for (let n = 0; n < 4; n++) await use('/whoami', 'u2')
  const { rules, policy } = await get('/admin/v1/limits/use?policy=free')
  assert.deepEqual(
    [
      policy,
      rules.map((one: Record<string, unknown>) => [one.name, one.window_seconds, one.callers, one.p50, one.max]),
    ],
    [
      'free',
      [
        ['rpm', 60, 2, 0.5, 1],
        ['daily', 86_400, 2, 0.02, 0.04],
      ],
    ],
  )
  const headers = bearer({ sub: 'op', scope: 'read:limits' })
  assert.equal((await http.inject({ url: '/admin/v1/limits/use?policy=gone', headers })).statusCode, 400)
})
