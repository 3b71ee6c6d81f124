import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RouteRule, routerPath, ruleFor } from '../../src/model/route-rule.ts'

test('a path template may be written with braces or colons', () => {
  assert.equal(routerPath('/orders/{id}/lines/{line}'), '/orders/:id/lines/:line')
  assert.equal(routerPath('/orders/:id/*'), '/orders/:id/*')
})

test('the first rule that matches a route of a local service applies', () => {
  const rules: RouteRule[] = [
    { path: '/users/{id}', methods: ['GET'], scope: 'first' },
    { path: '/users/:user', scope: 'second' },
    { path: '/admin/*', scope: 'admin' },
    { path: '/admin/v1/limits', scope: 'never reached' },
    { path: '/*', upstream: 'elsewhere' },
  ]
  const cases = [
    ['GET', '/users/:id', 'first'],
    ['DELETE', '/users/:id', 'second'],
    ['GET', '/users', undefined],
    ['GET', '/users/:id/devices', undefined],
    ['POST', '/admin/v1/limits', 'admin'],
    ['GET', '/token', undefined],
  ] as const
  for (const [method, path, scope] of cases)
    assert.equal(ruleFor(rules, method, path)?.scope, scope, `${method} ${path}`)
})
