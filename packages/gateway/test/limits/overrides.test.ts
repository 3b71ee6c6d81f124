import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePolicy, tierPolicy } from '@gatehouse/limiter'
import fc from 'fast-check'
import { scalePolicy } from '../../src/limits/overrides.ts'
import { setup } from '../support/setup.ts'

const tiers = { free: { rpm: 4, daily: 100 }, pro: { rpm: 50 } }

async function gateway() {
  const bench = await setup({ tiers, policies: { launch: { rpm: 9 } }, routes: [{ path: '/open', policy: 'pro' }] })
  const limitOf = async (url = '/whoami', headers: Record<string, string> = bench.bearer()) =>
    Number((await bench.http.inject({ url, headers })).headers['x-ratelimit-limit'])
  const set = (override: { kind?: string; id?: string; policy?: string; factor?: number }) =>
    bench.gateway.setOverrides([{ kind: 'user', id: 'u1', until: bench.clock.now() + 60_000, ...override }])
  return { ...bench, limitOf, set }
}

test('a caller with a factor has a multiple of the tier, and what was counted stays counted', async () => {
  const { http, bearer, limitOf, set } = await gateway()
  assert.equal(await limitOf(), 4)
  set({ factor: 2.5 })
  const { headers } = await http.inject({ url: '/whoami', headers: bearer() })
  assert.deepEqual([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']], ['10', '8'])
  assert.equal(await limitOf('/whoami', bearer({ sub: 'u2' })), 4)
})

test('a caller with a policy counts by it in place of the tier, beside the policy of the route', async () => {
  const { limitOf, set } = await gateway()
  set({ policy: 'launch' })
  assert.equal(await limitOf(), 9)
  assert.equal(await limitOf('/open'), 9)
  set({ policy: 'gone' })
  assert.equal(await limitOf(), 4, 'a policy that is gone changes nothing')
})

test('an override ends at its time, whether or not anybody can be reached', async () => {
  const { clock, limitOf, set } = await gateway()
  set({ factor: 2 })
  assert.equal(await limitOf(), 8)
  clock.advance(60_000)
  assert.equal(await limitOf(), 4)
})

test('an address is overridden as it is counted, IPv6 by its /64', async () => {
  const { http, set } = await gateway()
  set({ kind: 'ip', id: '2001:db8::1', factor: 2 })
  const { headers } = await http.inject({ url: '/whoami', remoteAddress: '2001:db8::2' })
  assert.equal(headers['x-ratelimit-limit'], '120')
})

test('a scaled policy stays valid: whole limits, at least one for each shard', () => {
  const tier = tierPolicy('free', { rpm: 10, daily: 1000 })
  assert.deepEqual(
    scalePolicy(tier, 0.001).rules.map(({ limit }) => limit),
    [1, 1],
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16 }), fc.double({ min: 1e-6, max: 1e6, noNaN: true }), (shards, factor) => {
      const bucket = { algorithm: 'token-bucket' as const, refillPerSecond: 3 }
      const policy = definePolicy('p', [{ name: 'b', limit: 6 * shards, ...bucket }], { shards })
      const [rule] = scalePolicy(policy, factor).rules
      assert.ok(rule && Number.isInteger(rule.limit) && rule.limit >= shards && rule.limit % shards === 0)
      assert.ok(rule.limit < 2 ** 31)
      const fillMs = rule.limit / rule.refillPerMs
      assert.ok(Math.abs(fillMs - (6 * shards) / 0.003) < 1e-6 * fillMs, 'an empty bucket fills in the same time')
    }),
  )
})
