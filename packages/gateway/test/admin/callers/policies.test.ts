import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policiesOfCaller } from '../../../src/admin/callers/policies.ts'
import { defineLimits } from '../../../src/config/limits.ts'

const limits = defineLimits({
  tiers: { free: { rpm: 1 }, pro: { rpm: 9 } },
  policies: { search: { rpm: 1 }, links: { rpm: 1 }, everybody: { rps: 9, shared: true } },
  attemptLimits: { 'login-account': { limit: 3, windowSeconds: 60 } },
  globalPolicy: 'everybody',
})
const rules = [
  { path: '/search', policy: 'search' },
  { path: '/t/*', policy: 'links', public: true },
  { path: '/healthz', policy: 'none', public: true },
]
const namesOf = (kind: string, tier?: string, seen: readonly string[] = []) =>
  policiesOfCaller({ identifier: { kind, id: 'x' }, tier, seen, limits, rules }).map(({ policy }) => policy.name)

test('a user has the tier, the policies of routes that read credentials, and the global one', () => {
  assert.deepEqual(namesOf('user', 'pro'), ['pro', 'search', 'everybody'])
})

test('an address has the policy of callers without a credential, and those of public routes', () => {
  assert.deepEqual(namesOf('ip'), ['anonymous', 'search', 'links', 'everybody'])
})

test('the tier of a former plan is not shown, since all tiers have the same counters', () => {
  assert.deepEqual(namesOf('user', 'pro', ['free', 'search']), ['pro', 'search', 'everybody'])
})

test('a key has the tier that counted it', () => {
  assert.deepEqual(namesOf('key', undefined, ['free', 'gone']), ['free', 'search', 'everybody'])
})

test('attempts have only the policies that counted them', () => {
  assert.deepEqual(namesOf('account', undefined, ['login-account']), ['login-account'])
})
