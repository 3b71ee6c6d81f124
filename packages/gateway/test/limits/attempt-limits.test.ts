import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHttp, manualClock, silentLog } from '@gatehouse/kit'
import { createLimiter } from '@gatehouse/limiter'
import { defineLimits, type LimitsDeclaration } from '../../src/config/limits.ts'
import { createClientAddressLookup } from '../../src/index.ts'
import { setup } from '../support/setup.ts'

const attemptLimits = {
  login: { limit: 2, windowSeconds: 300 },
  'login-account': { limit: 3, windowSeconds: 3600 },
  'token-client': { limit: 100, windowSeconds: 60, failureMode: 'local' as const },
  factor: { limit: 10, windowSeconds: 900 },
}

test('an attempt limit counts by all its identifiers and says how long to wait', async () => {
  const { gateway, clock } = await setup({ attemptLimits: attemptLimits })
  const login = { account: 'alice', address: '192.0.2.1' }
  assert.deepEqual(await gateway.attempts.limit('login', login), { allowed: true, retryAfter: 0 })
  assert.deepEqual(await gateway.attempts.limit('login', { address: '::ffff:192.0.2.1', account: 'alice' }), {
    allowed: true,
    retryAfter: 0,
  })
  const rejected = await gateway.attempts.limit('login', login)
  assert.equal(rejected.allowed, false)
  assert.ok(rejected.retryAfter > 0)
  for (const other of [
    { account: 'bob', address: '192.0.2.1' },
    { account: 'alice', address: '192.0.2.2' },
  ])
    assert.equal((await gateway.attempts.limit('login', other)).allowed, true)
  clock.advance(rejected.retryAfter * 1000)
  assert.equal((await gateway.attempts.limit('login', login)).allowed, true)
})

test('forgive resets the count of these identifiers and of no others', async () => {
  const { gateway } = await setup({ attemptLimits: attemptLimits })
  const [here, there] = ['192.0.2.1', '192.0.2.2'].map((address) => ({ account: 'alice', address }))
  for (const login of [here, here, here, there, there]) await gateway.attempts.limit('login', login ?? {})
  await gateway.attempts.forgive('login', { address: '::ffff:192.0.2.1', account: 'alice' })
  assert.equal((await gateway.attempts.limit('login', here ?? {})).allowed, true)
  assert.equal((await gateway.attempts.limit('login', there ?? {})).allowed, false)
})

test('refund takes back one attempt and no more', async () => {
  const { gateway } = await setup({ attemptLimits: attemptLimits })
  const login = { address: '2001:db8::1', account: 'alice' }
  for (const allowed of [true, true, false])
    assert.equal((await gateway.attempts.limit('login', login)).allowed, allowed)
  await gateway.attempts.refund('login', { address: '2001:db8::2', account: 'alice' })
  for (const allowed of [true, false]) assert.equal((await gateway.attempts.limit('login', login)).allowed, allowed)
})

test('a rejection is known without the store, for the network of an IPv6 address', async () => {
  const { gateway, clock } = await setup({ attemptLimits: { login: { limit: 1, windowSeconds: 60 } } })
  const { limit, blocked } = gateway.attempts
  await limit('login', { address: '2001:db8::1' })
  assert.equal(await blocked('login', { address: '2001:db8::1' }), 0)
  const { retryAfter } = await limit('login', { address: '2001:db8::1' })
  assert.equal(await blocked('login', { address: '2001:db8::ffff' }), retryAfter)
  assert.equal(await blocked('login', { address: '2001:db8:0:1::1' }), 0)
  clock.advance(retryAfter * 1_000)
  assert.equal(await blocked('login', { address: '2001:db8::1' }), 0)
})

test('a rejection that another process ended is known within 5 s, by one read in that time', async (t) => {
  const clock = manualClock()
  const limiter = createLimiter({ clock })
  const reads = t.mock.method(limiter, 'peek').mock
  const options = { clock, attemptLimits: { 'client-authentication': { limit: 1, windowSeconds: 300 } } }
  const [here, there] = [await setup({ ...options, limiter }), await setup({ ...options, limiter })]
  const { limit, blocked } = here.gateway.attempts
  const attempt = { client: 'shop', address: '192.0.2.1' }
  const known = () => blocked('client-authentication', attempt)
  for (let n = 0; n < 2; n++) await limit('client-authentication', attempt)
  const first = await known()
  assert.ok(first > 0)
  clock.advance(5_000)
  const waits = await Promise.all([known(), known(), known()])
  assert.deepEqual([waits, reads.callCount()], [[first - 5, first - 5, first - 5], 1])
  await there.gateway.attempts.forgive('client-authentication', attempt)
  clock.advance(4_999)
  assert.ok((await known()) > 0)
  clock.advance(1)
  assert.deepEqual([await known(), await known(), reads.callCount()], [0, 0, 2])
})

test('no account name can affect the count of another', async () => {
  const { gateway } = await setup({ attemptLimits: { login: { limit: 1, windowSeconds: 60 } } })
  const names = ['a', 'a|b', 'a%7Cb', 'a:b', ' ', 'ü', '\ud800', 'x'.repeat(2_000), `${'x'.repeat(1_999)}y`]
  for (const account of names)
    assert.equal((await gateway.attempts.limit('login', { account, address: 'b' })).allowed, true, account)
})

test('an IPv6 subscriber has one attempt limit for its whole /64', async () => {
  const { gateway } = await setup({ attemptLimits: { login: { limit: 1, windowSeconds: 60 } } })
  assert.equal((await gateway.attempts.limit('login', { address: '2001:db8::1' })).allowed, true)
  assert.equal((await gateway.attempts.limit('login', { address: '2001:db8::2' })).allowed, false)
})

test('limits that stop guessing fail closed, those on load fail over to local counters', async () => {
  const { http, bearer } = await setup({ attemptLimits: attemptLimits })
  const headers = bearer({ scope: 'admin:limits' })
  const { policies } = (await http.inject({ url: '/admin/v1/limits', headers })).json()
  const modes = Object.fromEntries(
    policies.map(({ name, failure_mode }: Record<string, string>) => [name, failure_mode]),
  )
  assert.deepEqual(
    [modes.login, modes['login-account'], modes.factor, modes['token-client']],
    ['closed', 'closed', 'closed', 'local'],
  )
})

test('a declared policy overrides the attempt limit of its name, also after a reload', async () => {
  const { gateway } = await setup({
    attemptLimits: attemptLimits,
    policies: { login: { rpm: 1, failure_mode: 'closed' } },
  })
  const login = { account: 'alice', address: '192.0.2.1' }
  assert.deepEqual(
    [(await gateway.attempts.limit('login', login)).allowed, (await gateway.attempts.limit('login', login)).allowed],
    [true, false],
  )
  gateway.reload({})
  assert.equal((await gateway.attempts.limit('login', login)).allowed, true)
  await assert.rejects(gateway.attempts.limit('nope', login), /there is no policy "nope"/)
})

test('a declared policy changes only the declared members of a built-in one', () => {
  const named = (name: string, policies: LimitsDeclaration['policies']) =>
    defineLimits({ attemptLimits: attemptLimits, ...(policies ? { policies } : {}) }).policies.get(name) ??
    assert.fail(name)
  const login = named('login', { login: { rpm: 7 } })
  assert.deepEqual([login.failureMode, login.advisory, login.quota], ['closed', false, 'global'])
  assert.deepEqual(
    login.rules.map(({ limit, windowMs }) => [limit, windowMs]),
    [[7, 60_000]],
  )
  assert.equal(named('token-client', { 'token-client': { rpm: 7 } }).failureMode, 'local', 'none fails open by an edit')
  const shadowed = named('login', { login: { shadow: { rpm: 1 } } })
  assert.deepEqual(
    shadowed.rules.map(({ limit, windowMs, shadow }) => [limit, windowMs, shadow]),
    [
      [2, 300_000, false],
      [1, 60_000, true],
    ],
  )
  const identity = named('identity', { identity: { failure_mode: 'open' } })
  assert.deepEqual([identity.failureMode, identity.rules[0]?.limit], ['open', 600])
  for (const name of ['login', 'factor'])
    assert.throws(() => named(name, { [name]: { rpm: 7, failure_mode: 'open' } }), /failure_mode is closed/)
})

for (const [where, serverOf] of [
  [
    'behind the gateway',
    async () => {
      const http = createHttp({ log: silentLog })
      const { gateway } = await setup({ trustedProxies: ['10.0.0.0/8'] })
      await http.register(gateway.plugin)
      return http
    },
  ],
  [
    'without a gateway',
    async () =>
      createHttp({ log: silentLog, addressOf: createClientAddressLookup({ trustedProxies: ['10.0.0.0/8'] }) }),
  ],
] as const)
  test(`a service ${where} receives the client's address, not a trusted proxy's`, async () => {
    const http = await serverOf()
    http.get('/ip', async (request) => ({ ip: request.ip }))
    const ask = async (remoteAddress: string) =>
      (await http.inject({ url: '/ip', remoteAddress, headers: { 'x-forwarded-for': '6.6.6.6, 192.0.2.1' } })).json().ip
    assert.equal(await ask('10.0.0.1'), '192.0.2.1')
    assert.equal(await ask('198.51.100.7'), '198.51.100.7')
  })
