import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RecentCache } from '../../src/core/recent-cache.ts'

test('the cache never exceeds its bounds and contains the last value set', () => {
  const step = fc.record({ key: fc.integer({ min: 0, max: 30 }).map(String), weight: fc.integer({ min: 0, max: 6 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const cache = new RecentCache<{ weight: number }>({ entries: 8, weight: 12 })
      for (const { key, weight } of steps) {
        cache.set(key, { weight })
        assert.equal(cache.get(key)?.weight, weight, 'the one set last is there')
        assert.ok(cache.size <= 8, `${cache.size} entries`)
      }
    }),
  )
})

test('a value above half of the weight limit is not cached', () => {
  const cache = new RecentCache<{ weight: number }>({ entries: 8, weight: 12 })
  cache.set('heavy', { weight: 7 })
  assert.equal(cache.get('heavy'), undefined)
})

test('a value set again counts once', () => {
  const cache = new RecentCache<{ weight: number }>({ entries: 8, weight: 12 })
  cache.set('other', { weight: 1 })
  for (let n = 0; n < 100; n++) cache.set('same', { weight: 5 })
  assert.equal(cache.get('other')?.weight, 1)
})
