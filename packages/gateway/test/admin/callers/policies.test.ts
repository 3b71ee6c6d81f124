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
  standingsOf(kind, { tier, seen }).map(({ policy }) => policy.name)
const standingsOf = (kind: string, caller: Partial<Parameters<typeof policiesOfCaller>[0]>) =>
  policiesOfCaller({
    identifier: { kind, id: 'x' },
    tier: undefined,
    seen: [],
    inPlaceOf: (policy) => policy,
    limits,
    rules,
    ...caller,
  })

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

test('what an override or a client has in place of the tier is shown, and the tier is not', () => {
  const [search, pro] = [limits.policies.get('search'), limits.tiers.get('pro')]
  assert.ok(search && pro)
  const shown = (caller: Parameters<typeof standingsOf>[1], kind = 'client') =>
    standingsOf(kind, { tier: 'free', ...caller }).map((one) => [one.policy.name, one.standsForTier])
  const rest = ['everybody', false]
  assert.deepEqual(shown({ clientPolicy: 'links' }), [['links', true], ['search', false], rest])
  assert.deepEqual(shown({ inPlaceOf: () => pro, seen: ['free'] }), [['pro', true], ['search', false], rest])
  assert.deepEqual(shown({ inPlaceOf: () => search }, 'user'), [['search', true], rest])
})
