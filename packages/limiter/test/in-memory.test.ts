import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { createMemoryLimiter, declaredTier } from '../src/in-memory.ts'
import { createLimiter, decisionHeaders, declaredPolicy } from '../src/index.ts'

test('the limiter in memory decides as the limiter with stores does, header by header', () => {
  const gap = fc.integer({ min: 0, max: 20_000 })
  const limit = fc.integer({ min: 1, max: 8 })
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 60 }), limit, limit, (gaps, rpm, capacity) => {
      let now = Date.UTC(2026, 0, 1)
      const clock = { now: () => now }
      const tier = declaredTier('t', { rpm, daily: 30, burst: { capacity, refill_per_second: 0.5 } })
      const [small, whole] = [createMemoryLimiter(clock), createLimiter({ clock })]
      for (const wait of gaps) {
        now += wait
        const decision = whole.check(tier, { kind: 'user', id: 'u' })
        assert.ok(!(decision instanceof Promise))
        const other = small.check(tier, { kind: 'user', id: 'u' })
        assert.deepEqual(decisionHeaders(other, { ietf: 'draft-11' }), decisionHeaders(decision, { ietf: 'draft-11' }))
        assert.deepEqual(other.rules, decision.rules)
      }
    }),
  )
})

test('the limiter in memory loads no module of Node', () => {
  const seen = new Set<string>()
  const checkImports = (file: URL): void => {
    if (seen.has(file.href)) return
    seen.add(file.href)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g)) {
      assert.match(name, /^\./, `${file.pathname} imports ${name}`)
      checkImports(new URL(name, file))
    }
  }
  checkImports(new URL('../src/in-memory.ts', import.meta.url))
})

test('a shadow of a declaration counts beside it, bucket and windows, and never rejects', () => {
  const policy = declaredPolicy('search', {
    rpm: 30,
    shadow: { rps: 2, rpm: 20, burst: { capacity: 5, refill_per_second: 1 } },
  })
  assert.deepEqual(
    policy.rules.map(({ name, shadow }) => [name, shadow]),
    [
      ['search-rpm', false],
      ['search-shadow-rps', true],
      ['search-shadow-rpm', true],
      ['search-shadow-burst', true],
    ],
  )
})
