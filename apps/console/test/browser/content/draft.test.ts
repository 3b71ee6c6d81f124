import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  draftOf,
  fillData,
  isSame,
  parseData,
  previewInput,
  textOf,
  wordsOf,
} from '../../../src/browser/screens/content/editor/draft.ts'

test('parts that a channel lacks, and empty ones, are not stored', () => {
  const draft = draftOf({ subject: 'S', body: '', html: '<p>' })
  assert.deepEqual(wordsOf(draft, 'email'), { subject: 'S', body: '', html: '<p>' })
  assert.deepEqual(wordsOf(draft, 'push'), { subject: 'S', body: '' })
  assert.deepEqual(wordsOf(draft, 'sms'), { body: '' })
  assert.ok(isSame(draftOf(wordsOf(draft, 'email')), draft))
})

test('a difference of a mail names its parts, one of an SMS has its words alone', () => {
  assert.equal(textOf(draftOf({ body: 'x' }), 'sms'), 'x')
  assert.equal(textOf(draftOf({ subject: 'S', body: 'x' }), 'email'), '[subject]\nS\n\n[body]\nx')
})

test('sample data is a JSON object, and nothing else', () => {
  assert.deepEqual(parseData('{"a": 1}'), { a: 1 })
  for (const text of ['', '[]', 'null', '1', '{a}']) assert.equal(parseData(text), undefined, text)
})

test('missing variables are filled where they belong, and nothing that is there is changed', () => {
  const data = { order: { id: 'A-1' }, list: ['x'], name: 'Ann' }
  assert.deepEqual(fillData(data, ['order.eta', 'customer.address.city', 'list.size', 'name.first', 'total']), {
    order: { id: 'A-1', eta: 'eta' },
    list: ['x'],
    name: 'Ann',
    customer: { address: { city: 'city' } },
    total: 'total',
  })
  assert.deepEqual(fillData({}, ['__proto__.polluted']), {})
  assert.equal(({} as { polluted?: string }).polluted, undefined)
})

test('a preview is of the draft in its place, and of at most eight locales, its own first', () => {
  const place = { template_id: 'order', channel: 'sms', locale: 'de' } as const
  const locales = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt', 'pl', 'sv']
  const input = previewInput(place, draftOf({ body: 'x' }), { a: 1 }, locales)
  assert.deepEqual(input.locales, ['de', 'en', 'fr', 'es', 'it', 'nl', 'pt', 'pl'])
  assert.deepEqual(input.draft, { channel: 'sms', locale: 'de', body: 'x' })
})
