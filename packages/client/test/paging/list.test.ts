import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { List } from '../../src/index.ts'

/** A list of numbers, and the cursors that were read. */
function numbers(count: number, size: number) {
  const cursors: (string | undefined)[] = []
  const list = new List(async (cursor) => {
    cursors.push(cursor)
    const begin = Number(cursor ?? 0)
    const items = Array.from({ length: Math.min(size, count - begin) }, (_, index) => begin + index)
    return begin + size < count ? { items, next: String(begin + size) } : { items }
  })
  return { list, cursors }
}

describe('a list', () => {
  test('reads nothing until it is needed, then its first page, once', async () => {
    const { list, cursors } = numbers(5, 2)
    assert.deepEqual(cursors, [])
    assert.deepEqual(await list, { items: [0, 1], next: '2' })
    assert.deepEqual((await list).items, [0, 1])
    assert.deepEqual(cursors, [undefined])
  })

  test('yields the items of all pages, reading a page when it is reached', async () => {
    const { list, cursors } = numbers(5, 2)
    const seen: number[] = []
    for await (const item of list) {
      seen.push(item)
      if (item === 3) assert.deepEqual(cursors, [undefined, '2'])
    }
    assert.deepEqual(
      [seen, cursors],
      [
        [0, 1, 2, 3, 4],
        [undefined, '2', '4'],
      ],
    )
  })

  test('answers pages, and so many items of as few pages as hold them', async () => {
    const sizes: number[] = []
    for await (const { items } of numbers(5, 2).list.pages()) sizes.push(items.length)
    assert.deepEqual(sizes, [2, 2, 1])
    const { list, cursors } = numbers(5, 2)
    assert.deepEqual([await list.take(3), await list.take(0)], [[0, 1, 2], []])
    assert.deepEqual(cursors, [undefined, '2'])
    assert.deepEqual(await numbers(1, 2).list.take(9), [0])
  })

  test('fails as its page does, and ends instead of reading one page for ever', async () => {
    const failing = new List(() => Promise.reject(new Error('no page')))
    await assert.rejects(failing.take(1), /no page/)
    assert.equal(await failing.catch(() => 'handled'), 'handled')
    const endless = new List(async () => ({ items: [1], next: 'same' }))
    await assert.rejects(endless.take(100), { code: 'invalid_response' })
  })
})
