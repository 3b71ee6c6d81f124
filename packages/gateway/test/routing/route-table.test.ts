import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { allMethods, type RouteRule } from '../../src/model/route-rule.ts'
import { createRouteTable, shadowedRules } from '../../src/routing/route-table.ts'
import { templateFault } from '../../src/routing/rule-text.ts'

/** The same rule by the plainest means: one expression for each template, tried in the order of the list. */
function firstInOrder(rules: readonly RouteRule[], method: string, path: string): RouteRule | undefined {
  const decoded = path.split('/').map(decodeURIComponent)
  return rules.find(({ path: template, methods = allMethods }) => {
    const covered = methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
    const pattern = template
      .split(/(\{\w+\}|\*$)/)
      .map((piece) => (piece === '*' ? '[\\s\\S]*' : /^\{\w+\}$/.test(piece) ? '[^/]+' : RegExp.escape(piece)))
      .join('')
    return covered && new RegExp(`^${pattern}$`).test(decoded.join('/'))
  })
}

const word = fc.constantFrom('orders', 'admin', 'a', 'b', 'ä', 'x.json', '')
const templateSegment = fc.oneof(
  { weight: 4, arbitrary: word.filter((one) => one !== '') },
  { weight: 2, arbitrary: fc.constantFrom('{id}', '{tenant}', '{name}.json', 'v{n}') },
)
const template = fc
  .tuple(fc.array(templateSegment, { maxLength: 4 }), fc.constantFrom('', '/', '/*', '*', '/a*'))
  .map(([segments, end]) => `/${segments.join('/')}${end}`.replace(/^\/\//, '/'))
  .filter((one) => templateFault(one) === undefined)
const methods = fc.constantFrom(undefined, ['GET'], ['POST', 'PUT'], ['HEAD'], ['GET', 'DELETE'])
const rule = fc
  .record({ path: template, methods })
  .map(({ path, methods }): RouteRule => ({ path, ...(methods ? { methods } : {}) }))

/** As it is, with one letter percent-encoded, or as an encoder would write it. */
const spelled = (text: string) =>
  fc.constantFrom(encodeURIComponent(text), text.replace('a', '%61'), encodeURIComponent(text).toLowerCase())
const path = fc
  .array(
    fc.oneof(word, fc.constantFrom('v1', 'y.json', '.json', 'other', 'axe')).chain((one) => spelled(one)),
    { minLength: 1, maxLength: 5 },
  )
  .map((segments) => `/${segments.join('/')}`)
  // A segment that is empty in the middle is refused before rules are looked for.
  .filter((one) => !one.includes('//'))
const method = fc.constantFrom(...allMethods)

test('the rule of a request is the first that matches, for all lists and paths', () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 12 }), path, method, (rules, path, by) => {
      assert.equal(createRouteTable(rules).find(by, path), firstInOrder(rules, by, path))
    }),
    { numRuns: 3_000 },
  )
})

test('a shadowed rule matches no request, for all lists and paths', () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 2, maxLength: 4 }), path, method, (rules, path, by) => {
      const shadowed = shadowedRules(rules.map((one) => ({ ...one, upstream: 'app' }))).map((one) => one.rule.path)
      const first = firstInOrder(rules, by, path)
      const index = first === undefined ? -1 : rules.indexOf(first)
      const twins = rules.filter(({ path: one }) => one === first?.path)
      if (twins.length === 1 && index >= 0) assert.ok(!shadowed.includes(first?.path ?? ''))
    }),
    { numRuns: 3_000 },
  )
})

const upstream = 'app'
for (const [what, rules, by] of [
  ['a wildcard before it', [{ path: '/*' }, { path: '/orders/{id}' }], ['/*']],
  ['the same template with another name', [{ path: '/o/{a}' }, { path: '/o/{b}' }], ['/o/{a}']],
  [
    'several rules that have its methods together',
    [
      { path: '/o/*', methods: ['GET'] },
      { path: '/{x}/*', methods: ['POST'] },
      { path: '/o/a', methods: ['POST', 'HEAD'] },
    ],
    ['/{x}/*', '/o/*'],
  ],
  [
    'several rules that have its paths together',
    [{ path: '/o/' }, { path: '/o/{id}' }, { path: '/o/{id}/*' }, { path: '/o/*' }],
    ['/o/', '/o/{id}', '/o/{id}/*'],
  ],
] as const)
  test(`a rule is shadowed by ${what}`, () => {
    const found = shadowedRules(rules.map((one) => ({ ...one, upstream })))
    assert.deepEqual(
      found.map(({ rule }) => rule.path),
      [rules.at(-1)?.path],
    )
    assert.deepEqual(found[0]?.by.map(({ path }) => path).sort(), [...by].sort())
  })

test('a rule that some requests reach is not shadowed', () => {
  for (const rules of [
    [{ path: '/{tenant}/admin/*' }, { path: '/orders/*' }, { path: '/*' }],
    [{ path: '/o/{name}.json' }, { path: '/o/{id}' }],
    [{ path: '/o', methods: ['GET'] }, { path: '/o' }],
    [{ path: '/o/*' }, { path: '/o' }],
    [{ path: '/o' }, { path: '/o/' }],
    [{ path: '/o/a*' }, { path: '/o/*' }],
  ])
    assert.deepEqual(shadowedRules(rules.map((one) => ({ ...one, upstream }))), [])
})

test('a rule without an upstream is shadowed only by others without one', () => {
  const local = { path: '/v1/notify' }
  assert.deepEqual(shadowedRules([{ path: '/*', upstream }, local]), [])
  assert.deepEqual(
    shadowedRules([{ path: '/v1/*' }, local]).map(({ rule }) => rule),
    [local],
  )
})

test('a path whose rule depends on how its semicolon is read is refused', () => {
  const table = createRouteTable([{ path: '/orders/admin/*', roles: ['a'] }, { path: '/orders/*' }])
  for (const path of ['/orders/admin;x/1', '/orders/admin%3Bx/1', '/orders;x/admin/1'])
    assert.throws(() => table.find('GET', path), { status: 400 }, path)
  assert.equal(table.find('GET', '/orders/a;v=1/b')?.path, '/orders/*')
})

test('a misleading template is rejected', () => {
  for (const path of ['/a/*/b', '/**', '/{id}*', '/a//b', '/a/../b', 'a'])
    assert.ok(templateFault(path) !== undefined, path)
  for (const path of ['/', '/*', '/a*', '/a/{id}.json', '/a/:id/*', '/a/'])
    assert.equal(templateFault(path), undefined, path)
})
