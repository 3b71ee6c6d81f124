import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IdentityOptions } from '../../../src/index.ts'
import { fileWith, limitRules } from '../../support/limits.ts'
import { administrators, call, clientToken, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { setup } from '../../support/setup.ts'

const files = limitRules(fileWith(10, { pro: { rpm: 100 } }))
const user = { id: 'vip', plan: 'pro', email: 'vip@people.example' }
const client = { client_id: 'shop', client_secret: 'secret-0123456789abcdef', plan: 'pro', scopes: ['orders:read'] }

async function start(options: Partial<IdentityOptions>) {
  const running = await setup({
    declared: { clients: [consoleClient, client], users: [...administrators, user] },
    ...options,
  })
  const token = await tokenOf(running, 'gatehouse-owner')
  const send = (method: string, path: string, payload?: object) =>
    call(running, token, { method, url: `/admin/v1/${path}`, ...(payload === undefined ? {} : { payload }) })
  return { running, send }
}

/** Every request that gives a plan, with the plan and a number that makes its id new. */
const requests: Readonly<Record<string, (plan: string, n: number) => [string, string, object]>> = {
  'a new user': (plan, n) => ['POST', 'users', { id: `user-${n}`, plan }],
  'a user': (plan) => ['PATCH', 'users/vip', { plan }],
  'a new client': (plan, n) => ['POST', 'clients', { client_id: `client-${n}`, scopes: ['orders:read'], plan }],
  'a client': (plan) => ['PATCH', 'clients/shop', { plan }],
  'a new API key': (plan) => ['POST', 'api-keys', { owner: 'shop', name: 'k', plan }],
}

describe('a plan that is no tier', () => {
  for (const [title, options] of Object.entries({
    'of the stored limits': { limitRules: files },
    'of the file': { tiers: ['free', 'pro'] },
  }))
    test(`${title} is refused with those that there are`, async (t) => {
      const { running, send } = await start(options)
      t.after(() => running.close())
      for (const [whose, request] of Object.entries(requests)) {
        const { status, body, text } = await send(...request('nope', 1))
        assert.equal(status, 422, `${whose}: ${text}`)
        const detail = 'there is no tier "nope"; there are free, pro, unlimited'
        assert.deepEqual(body.errors, [{ pointer: '/plan', detail }], whose)
      }
      const plans = ['nope', 'pro', undefined]
      const users = plans.map((plan, n) => ({ id: `imported-${n}`, ...(plan === undefined ? {} : { plan }) }))
      const { body } = await send('POST', 'user-imports', { users })
      const results = (body.results ?? body.items) as { outcome: string; reason?: string }[]
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['refused', 'created', 'created'],
      )
      assert.match(results[0]?.reason ?? '', /^plan: there is no tier "nope"/)
      const { management } = running.identity
      await assert.rejects(management.createUser({ id: 'typed', plan: 'nope' }), /there is no tier "nope"/)
      for (const [n, plan] of ['free', 'unlimited'].entries())
        for (const [whose, request] of Object.entries(requests)) {
          const { status, text } = await send(...request(plan, n))
          assert.ok(status < 300, `${whose}: ${plan}: ${text}`)
        }
    })

  test('is accepted where nobody knows the tiers', async (t) => {
    const { running, send } = await start({})
    t.after(() => running.close())
    for (const [whose, request] of Object.entries(requests)) {
      const { status, text } = await send(...request('nope', 1))
      assert.ok(status < 300, `${whose}: ${text}`)
    }
  })
})

test('a tier is a plan from when it is stored, and who has it keeps it when it is deleted', async (t) => {
  const { running, send } = await start({ limitRules: files })
  t.after(() => running.close())
  const gold = 'limit-settings/tiers/gold'
  assert.equal((await send('PATCH', 'users/vip', { plan: 'gold' })).status, 422)
  assert.equal((await send('PUT', gold, { declaration: { rpm: 50 } })).status, 200)
  for (const path of ['users/vip', 'clients/shop'])
    assert.equal((await send('PATCH', path, { plan: 'gold' })).status, 200)
  assert.equal((await send('DELETE', gold)).status, 204)
  const same = [
    await send('PATCH', 'users/vip', { plan: 'gold', claims: { name: 'Vip' } }),
    await send('PATCH', 'users/vip', { username: 'vip' }),
    await send('PATCH', 'clients/shop', { plan: 'gold', client_name: 'The shop' }),
  ]
  for (const { status, body, text } of same) assert.deepEqual([status, body.plan], [200, 'gold'], text)
  assert.equal((await send('POST', 'users', { id: 'late', plan: 'gold' })).status, 422)
  assert.equal((await send('DELETE', 'limit-settings/tiers/free')).status, 204)
  const { status, body } = await send('POST', 'users', { id: 'usual' })
  assert.deepEqual([status, body.plan], [201, 'free'], 'the default plan is no request')
})

test('no limits at all are given by those alone who may change limits', async (t) => {
  const scopes = ['admin:users', 'admin:clients', 'admin:api-keys', 'orders:read']
  const clients = [
    { ...client, client_id: 'limited', scopes },
    { ...client, client_id: 'limiter', scopes: [...scopes, 'admin:limits'] },
  ]
  const running = await setup({ declared: { clients: [client, ...clients], users: [user] }, tiers: ['free', 'pro'] })
  t.after(() => running.close())
  const send = async (by: string, [method, path, payload]: [string, string, object]) => {
    const token = await clientToken(running, by, client.client_secret)
    return call(running, token, { method, url: `/admin/v1/${path}`, payload })
  }
  const importOf = (plan: string, n: number): [string, string, object] => [
    'POST',
    'user-imports',
    { users: [{ id: `first-${n}` }, { id: `imported-${n}`, plan }] },
  ]
  for (const [whose, request] of Object.entries({ ...requests, 'an import': importOf })) {
    const refused = await send('limited', request('unlimited', 1))
    assert.equal(refused.status, 403, `${whose}: ${refused.text}`)
    assert.match(refused.text, /The plan unlimited requires scopes that you lack: admin:limits/)
    for (const [by, plan] of [['limited', 'free'] as const, ['limiter', 'unlimited'] as const]) {
      const { status, text } = await send(by, request(plan, plan.length))
      assert.ok(status < 300, `${whose}: ${by}: ${text}`)
    }
  }
  assert.equal((await send('limited', ['PATCH', 'users/vip', { plan: 'unlimited', claims: { a: 1 } }])).status, 200)
})
