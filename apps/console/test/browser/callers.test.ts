import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMasked, pathId, shortId } from '../../src/browser/screens/callers/identifier.ts'
import { sumSeries } from '../../src/browser/screens/callers/list/sums.ts'
import { groupRejections } from '../../src/browser/screens/callers/rejection-groups.ts'
import { cleanPath } from '../../src/browser/screens/callers/routing/clean-path.ts'
import { routesAsYaml } from '../../src/browser/screens/callers/routing/yaml.ts'

test('masked ids are recognised, and are no way to a caller', () => {
  for (const [id, kind] of [
    ['a•••@example.com', 'user'],
    ['192.0.2.0/24', 'ip'],
    ['2001:db8:1::/48', 'ip'],
  ] as const)
    assert.ok(isMasked(id, kind), id)
  for (const [id, kind] of [
    ['alice', 'user'],
    ['192.0.2.7', 'ip'],
    ['2001:db8:0:0::/64', 'ip'],
    ['a/24', 'user'],
  ] as const)
    assert.ok(!isMasked(id, kind), id)
})

test('the network of an address is opened by an address of it', () => {
  assert.equal(pathId('2001:db8:0:0::/64', 'ip'), '2001:db8:0:0::')
  assert.equal(pathId('a/64', 'user'), 'a/64')
})

test('long ids are cut', () => {
  assert.equal(shortId('alice'), 'alice')
  assert.equal(shortId('x'.repeat(80)).length, 44)
})

test('series of a label are summed, the most rejected first', () => {
  const series = [
    { labels: { policy: 'free', outcome: 'allowed' }, values: [3, 4] },
    { labels: { policy: 'search', outcome: 'rejected', rule: 'a' }, values: [1, 0] },
    { labels: { policy: 'search', outcome: 'rejected', rule: 'b' }, values: [0, 5] },
    { labels: { policy: 'search', outcome: 'shadow', rule: 'c' }, values: [2, 2] },
  ]
  assert.deepEqual(sumSeries({ series }, 'policy'), [
    {
      name: 'search',
      allowed: 0,
      rejected: 6,
      shadow: 4,
      rules: [
        ['b', 5],
        ['a', 1],
      ],
    },
    { name: 'free', allowed: 7, rejected: 0, shadow: 0, rules: [] },
  ])
})

test('rejections in a row that are alike are one group', () => {
  const one = (at: string, id: string, rule = 'rpm') =>
    ({
      at,
      policy: 'free',
      rule,
      route: '/a',
      identifier: { kind: 'user', id },
      retry_after: 7,
      source: 'store',
    }) as const
  const groups = groupRejections([
    one('4', 'u1'),
    one('3', 'u1'),
    one('2', 'u2'),
    one('1', 'u1'),
    one('0', 'u1', 'daily'),
  ])
  assert.deepEqual(
    groups.map(({ last, firstAt, count }) => [last.at, firstAt, count]),
    [
      ['4', '3', 2],
      ['2', '2', 1],
      ['1', '1', 1],
      ['0', '0', 1],
    ],
  )
})

test('the path of a pasted address is what is looked for', () => {
  for (const [text, path] of [
    ['/orders/7?x=1', '/orders/7'],
    ['https://api.example.com/orders/7#top', '/orders/7'],
    [' orders ', '/orders'],
    ['https://api.example.com', '/'],
  ])
    assert.equal(cleanPath(text ?? ''), path)
})

test('routes are written as the file has them, without defaults', () => {
  const text = routesAsYaml([
    {
      origin: 'file',
      position: 1,
      path: '/orders/{id}',
      methods: ['GET'],
      public: false,
      tier: true,
      upstream: 'orders',
    },
    { origin: 'file', position: 2, path: '/export', public: false, tier: false, policy: 'exports', scope: 'read:x' },
    { origin: 'file', position: 3, path: '/free', public: true, tier: false, policy: 'none' },
  ])
  assert.equal(
    text,
    [
      'routes:',
      '  - { path: "/orders/{id}", methods: ["GET"], upstream: "orders" }',
      '  - { path: "/export", scope: "read:x", policy: "exports", tier: false }',
      '  - { path: "/free", public: true, policy: "none" }',
      '',
    ].join('\n'),
  )
})
