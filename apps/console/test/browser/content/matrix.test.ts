import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildMatrix, countGaps, usedLocale } from '../../../src/browser/screens/content/matrix.ts'

const text = (id: string, channel: string, locale: string, more: object = {}) => ({
  template_id: id,
  channel,
  locale,
  version: 1,
  published: true,
  ...more,
})

test('a channel with texts has a cell for each locale of the template, a gap names what is used', () => {
  const texts = [
    text('order', 'email', 'de'),
    text('order', 'email', 'en'),
    text('order', 'sms', 'en'),
    text('order', 'push', 'de', { published: false }),
    text('other', 'sms', 'fr'),
  ]
  const [order, other] = buildMatrix(texts, 'en')
  assert.ok(order && other)
  assert.deepEqual(order.cells['in-app'], [], 'a channel that nobody wrote for is no gap')
  assert.deepEqual(
    order.cells.sms.map((cell) => [cell.locale, cell.text === undefined ? `uses ${cell.used}` : 'text']),
    [
      ['de', 'uses en'],
      ['en', 'text'],
    ],
  )
  assert.deepEqual(order.cells.push[1], { locale: 'en', used: undefined }, 'a draft is not used')
  assert.deepEqual([countGaps(order), countGaps(other)], [2, 0])
})

for (const [locale, published, used] of [
  ['de-AT', ['de', 'en'], 'de'],
  ['de', ['de-AT', 'en'], 'en'],
  ['zh-Hant-TW', ['zh-Hant', 'zh'], 'zh-Hant'],
  ['fr', ['de'], undefined],
] as const)
  test(`a user of ${locale} gets ${used ?? 'nothing'} of ${published.join(', ')}`, () => {
    assert.equal(usedLocale(locale, published, 'en'), used)
  })
