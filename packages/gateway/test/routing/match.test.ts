import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchRoute } from '../../src/routing/match.ts'

const declared = [
  { path: '/orders/public/*', upstream: 'orders', public: true },
  { path: '/orders/{id}', upstream: 'orders', methods: ['GET'] },
  { path: '/orders/*', upstream: 'orders', methods: ['GET', 'POST'] },
  { path: '/closed' },
  { path: '/v1/notify', roles: ['clerk'] },
]
const notify = { path: '/v1/notify', producers: 'producer' }
const own = [
  { method: 'POST', path: '/v1/notify', rule: notify },
  { method: 'GET', path: '/users/:id', rule: undefined },
  { method: 'GET', path: '/users/me', rule: undefined },
  { method: '*', path: '/admin/v1/*', rule: { path: '/admin/v1/*', upstream: 'identity' } },
]

const cases: readonly [method: string, path: string, outcome: string, position: number | undefined, route: string][] = [
  ['GET', '/orders/7', 'upstream', 2, '/orders/{id}'],
  ['HEAD', '/orders/7', 'upstream', 2, '/orders/{id}'],
  ['POST', '/orders/7', 'upstream', 3, '/orders/*'],
  ['GET', '/orders/public/x', 'upstream', 1, '/orders/public/*'],
  ['GET', '/orders/%70ublic/x', 'upstream', 1, '/orders/public/*'],
  ['DELETE', '/orders/7', 'method', undefined, 'unmatched'],
  ['GET', '/nothing', 'none', undefined, 'unmatched'],
  ['GET', '/closed', 'none', 4, 'unmatched'],
  ['GET', '/orders/../x', 'refused', undefined, 'unmatched'],
  ['POST', '/v1/notify', 'own', 5, '/v1/notify'],
  ['GET', '/v1/notify', 'method', undefined, 'unmatched'],
  ['GET', '/users/me', 'own', undefined, '/users/me'],
  ['GET', '/users/u1', 'own', undefined, '/users/:id'],
  ['PATCH', '/admin/v1/users', 'own', undefined, '/admin/v1/*'],
]

for (const [method, path, outcome, position, route] of cases)
  test(`${method} ${path} is ${outcome}${position === undefined ? '' : ` by rule ${position}`}`, () => {
    const found = matchRoute({ declared, own }, method, path)
    assert.deepEqual([found.outcome, found.position, found.route], [outcome, position, route])
  })

test('each rule says why it does not apply', () => {
  const reasons = (method: string, path: string) =>
    matchRoute({ declared, own }, method, path).compared.map(({ reason }) => reason)
  assert.deepEqual(reasons('GET', '/orders/7'), [
    'path_differs',
    'matches',
    'earlier_rule',
    'path_differs',
    'path_differs',
  ])
  assert.deepEqual(reasons('POST', '/orders/7'), [
    'path_differs',
    'method_differs',
    'matches',
    'path_differs',
    'path_differs',
  ])
})

test('a path with another method says which methods it has', () => {
  assert.deepEqual(matchRoute({ declared, own }, 'DELETE', '/orders/7').allow, ['GET', 'POST'])
  assert.deepEqual(matchRoute({ declared, own }, 'GET', '/v1/notify').allow, ['POST'])
})

test('a rule with an upstream never takes a path of ours', () => {
  const rules = [{ path: '/*', upstream: 'orders' }]
  const found = matchRoute({ declared: rules, own }, 'POST', '/v1/notify')
  assert.deepEqual([found.outcome, found.compared[0]?.reason], ['own', 'reserved_path'])
  assert.equal(found.rule, notify)
})
