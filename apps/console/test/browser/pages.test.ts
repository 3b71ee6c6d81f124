import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepPages } from '../../src/browser/api/keep-pages.ts'

const page = (...ids: string[]) => ({ items: ids.map((id) => ({ id })) })

test('pages that stay are the same objects when the first one makes room for another', () => {
  const [first, second, third] = [page('a'), page('b'), page('c')]
  const after = keepPages({ pages: [first, second] }, { pages: [second, third] }) as { pages: object[] }
  assert.equal(after.pages[0], second)
  assert.equal(after.pages[1], third)
})

test('what was read again keeps the rows that are as they were, and has the others new', () => {
  const before = { pages: [page('a', 'b')], pageParams: [undefined] }
  assert.equal(keepPages(before, { pages: [page('a', 'b')], pageParams: [undefined] }), before)
  const after = keepPages(before, { pages: [page('a', 'c')], pageParams: [undefined] }) as typeof before
  assert.equal(after.pages[0]?.items[0], before.pages[0]?.items[0])
  assert.deepEqual(after.pages[0]?.items[1], { id: 'c' })
})
