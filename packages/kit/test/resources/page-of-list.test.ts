import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPage, selectPage } from '@gatehouse/kit'
import fc from 'fast-check'

const keyOf = (key: string) => key

test('a page has the cursor of its last item if it is full', () => {
  assert.deepEqual(createPage(['a', 'b'], { limit: 2 }, keyOf), { items: ['a', 'b'], next: 'b' })
  assert.deepEqual(createPage(['a'], { limit: 2 }, keyOf), { items: ['a'] })
  assert.deepEqual(createPage([], {}, keyOf), { items: [] })
})

test('a page has 50 items unless the request names another number', () => {
  const all = Array.from({ length: 60 }, (_, index) => String(index).padStart(2, '0'))
  const first = selectPage(all, {}, keyOf)
  assert.deepEqual([first.items.length, first.next], [50, '49'])
  assert.deepEqual(selectPage(all, { cursor: '49' }, keyOf).items, all.slice(50))
})

test('the pages of a list have every item once, in the order of the keys', () => {
  const lists = fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 30 })
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 7 }), fc.boolean(), (all, limit, isDescending) => {
      const order = isDescending ? 'descending' : 'ascending'
      const seen: string[] = []
      for (let cursor: string | undefined, pages = 0; pages <= all.length; pages++) {
        const page = selectPage(all, { limit, ...(cursor === undefined ? {} : { cursor }) }, keyOf, order)
        seen.push(...page.items)
        cursor = page.next
        if (cursor === undefined) break
      }
      const sorted = all.toSorted((a, b) => (a < b ? -1 : 1))
      assert.deepEqual(seen, isDescending ? sorted.reverse() : sorted)
    }),
  )
})

test('a page continues behind an item that was removed meanwhile', () => {
  assert.deepEqual(selectPage(['a', 'c', 'd'], { cursor: 'b', limit: 1 }, keyOf), { items: ['c'], next: 'c' })
  assert.deepEqual(selectPage(['a', 'c'], { cursor: 'b' }, keyOf, 'descending'), { items: ['a'] })
})
