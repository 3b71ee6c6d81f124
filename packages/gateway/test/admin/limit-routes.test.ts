import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/setup.ts'

async function asOperator(scope = 'admin:limits') {
  const made = await setup({
    tiers: { free: { rpm: 2, daily: 10 }, ops: { rpm: 1000 } },
    planOf: async (subject) => ({ plan: subject === 'op' ? 'ops' : 'free' }),
  })
  const headers = made.bearer({ sub: 'op', scope, auth_time: made.clock.now() / 1_000 })
  const ask = async (method: 'GET' | 'DELETE' | 'POST', url: string, payload?: object) =>
    made.http.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  return { ...made, ask }
}

test('operators read a limit without counting against it', async () => {
  const { http, bearer, ask } = await asOperator()
  await http.inject({ url: '/open', headers: bearer() })
  for (let i = 0; i < 3; i++) {
    const answer = (await ask('GET', '/admin/v1/limits/free/user/u1')).json()
    assert.equal(answer.remaining, 1)
    assert.equal(answer.allowed, true)
    assert.deepEqual(
      answer.rules.map((rule: { name: string; remaining: number }) => [rule.name, rule.remaining]),
      [
        ['rpm', 1],
        ['daily', 9],
      ],
    )
  }
})

test('operators reset a limit, or give requests back', async () => {
  const { http, bearer, ask } = await asOperator()
  const use = async () => (await http.inject({ url: '/open', headers: bearer() })).statusCode
  assert.deepEqual([await use(), await use(), await use()], [200, 200, 429])
  assert.equal((await ask('POST', '/admin/v1/limits/free/user/u1/grant', { amount: 1 })).json().remaining, 1)
  assert.deepEqual([await use(), await use()], [200, 429])
  assert.equal((await ask('DELETE', '/admin/v1/limits/free/user/u1')).statusCode, 204)
  assert.deepEqual([await use(), await use(), await use()], [200, 200, 429])
})

test('explain shows where a limit is counted and why it has its state', async () => {
  const { http, bearer, ask } = await asOperator()
  for (let i = 0; i < 3; i++) await http.inject({ url: '/open', headers: bearer() })
  const answer = (await ask('GET', '/admin/v1/limits/free/user/u1/explain')).json()
  assert.equal(answer.allowed, false)
  assert.equal(answer.breaker, 'closed')
  assert.equal(answer.failure_mode, 'local')
  assert.match(answer.rules[0].keys[0], /^rl:user:u1:\d+$/)
  assert.match(answer.rules[0].text, /rpm: 0 of 2 left/)
})

test('an address is looked up as it is counted', async () => {
  const { http, ask } = await asOperator('admin:limits read:personal-data')
  await http.inject({ url: '/open', remoteAddress: '2001:db8::1' })
  for (const address of ['2001:db8::1', '2001:db8::ffff', '2001:db8:0:0::%2F64'])
    assert.equal((await ask('GET', `/admin/v1/limits/anonymous/ip/${address}`)).json().remaining, 59, address)
})

test('operators list every tier and policy', async () => {
  const { ask } = await asOperator()
  const answer = (await ask('GET', '/admin/v1/limits')).json()
  assert.equal(answer.lowest, 'free')
  assert.deepEqual(answer.tiers[0].rules, [
    { name: 'rpm', algorithm: 'sliding-window', limit: 2, window_seconds: 60, shadow: false },
    { name: 'daily', algorithm: 'sliding-window', limit: 10, window_seconds: 86_400, shadow: false },
  ])
  assert.ok(answer.policies.some(({ name }: { name: string }) => name === 'identity'))
})

test('limits are for operators only, and errors name the fault', async () => {
  const { http, bearer, ask } = await asOperator()
  assert.equal((await http.inject('/admin/v1/limits')).statusCode, 401)
  assert.equal((await http.inject({ url: '/admin/v1/limits', headers: bearer() })).statusCode, 403)
  const unknown = await ask('GET', '/admin/v1/limits/nope/user/u1')
  assert.equal(unknown.statusCode, 404)
  assert.match(unknown.json().detail, /"nope"; there are free, ops/)
  assert.equal((await ask('GET', '/admin/v1/limits/free/USER/u1')).statusCode, 400)
  assert.equal((await ask('POST', '/admin/v1/limits/free/user/u1/grant', { amount: 0 })).statusCode, 400)
  assert.equal((await ask('POST', '/admin/v1/limits/free/user/u1/grant', { amount: 1, more: 1 })).statusCode, 400)
})

test('the keys of context tokens answer CORS preflight requests', async () => {
  const { http } = await setup()
  const url = '/.well-known/gatehouse-context.json'
  const preflight = await http.inject({ method: 'OPTIONS', url, headers: { origin: 'https://app.example' } })
  assert.deepEqual(
    [
      preflight.statusCode,
      preflight.headers['access-control-allow-origin'],
      preflight.headers['access-control-allow-methods'],
    ],
    [204, '*', 'GET, HEAD'],
  )
  assert.equal((await http.inject(url)).headers['access-control-allow-origin'], '*')
})
