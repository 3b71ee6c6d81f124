import assert from 'node:assert/strict'
import { test } from 'node:test'
import { match } from '../../src/browser/app/search/search-hits.ts'
import { classifySearch, timeOfUuid } from '../../src/browser/app/search/search-target.ts'
import { partByChannel, toneOf } from '../../src/browser/screens/deliver/timeline.ts'

test('a search text is classified before anything is asked', () => {
  const id = '019a205c-cc20-7a27-aaca-4b0e3f272052'
  const cases: readonly (readonly [text: string, kind: string | undefined])[] = [
    [' 019A205C-CC20-7a27-aaca-4b0e3f272052 ', 'uuid'],
    ['gk_3f9a0c', 'api_key'],
    ['ada@example.com', 'mail'],
    ['+44 7700 900-123', 'phone'],
    ['0044 7700 900123', 'phone'],
    ['192.0.2.7', 'address'],
    ['2001:db8::1', 'address'],
    ['order.shipped:A-1:alice:email', 'dedup_key'],
    ['order.shipped:a:b:c:alice:in-app', 'dedup_key'],
    ['alice', 'text'],
    ['two words', 'text'],
    ['192.0.2.700', 'text'],
    ['12345', 'text'],
    ['order.shipped:A-1', 'text'],
    ['  ', undefined],
    ['a'.repeat(128), 'text'],
    ['a'.repeat(129), 'too_long'],
    ['a'.repeat(2_000), 'too_long'],
    [`${'a'.repeat(242)}@example.com`, 'mail'],
    [`${'a'.repeat(243)}@example.com`, 'too_long'],
    [`order.shipped:${'k'.repeat(500)}:${'u'.repeat(256)}:email`, 'dedup_key'],
    [`order.shipped:${'k'.repeat(501)}:alice:email`, 'too_long'],
    [`order.shipped:key:${'u'.repeat(257)}:email`, 'too_long'],
  ]
  for (const [text, kind] of cases) assert.equal(classifySearch(text)?.kind, kind, text)
  assert.deepEqual(classifySearch('e:a:b:alice:email'), { kind: 'dedup_key', key: 'a:b', userId: 'alice' })
  assert.deepEqual(classifySearch('0044 7700 900123'), { kind: 'phone', phone_number: '+447700900123' })
  assert.equal((classifySearch(id) as { time?: Date }).time?.getTime(), 0x019a205ccc20)
})

test('of an API key the search hands on a whole one only', () => {
  const key = `gk_${'k'.repeat(43)}`
  assert.deepEqual(classifySearch(` ${key} `), { kind: 'api_key', key })
  assert.deepEqual(classifySearch(' gk_secret_of_somebody '), { kind: 'api_key', key: undefined })
})

test('entries of small lists are found by the beginning of any of their words', () => {
  const hit = (id: string, description?: string) => ({ id, label: id, description, open: { to: '/' } })
  const hits = [hit('order.shipped', 'Your order'), hit('order.paid'), hit('reorder')]
  const found = (text: string) => match({ kind: 'text', text }, hits).map(({ id }) => id)
  assert.deepEqual(found('ORD'), ['order.shipped', 'order.paid'])
  assert.deepEqual(found('ship'), ['order.shipped'])
  assert.deepEqual(found('your'), ['order.shipped'])
  assert.deepEqual(found('hipped'), [])
})

test('a UUID of version 7 has the time when it was made, others have none', () => {
  assert.equal(timeOfUuid('019a205c-cc20-7a27-aaca-4b0e3f272052')?.getTime(), 0x019a205ccc20)
  assert.equal(timeOfUuid('019a205c-cc20-4a27-aaca-4b0e3f272052'), undefined)
})

test('a timeline is parted by channel: the whole first, then the deliveries in their order', () => {
  const deliveries = [
    { channel: 'push', outcome: 'queued', state: 'sent' },
    { channel: 'email', outcome: 'queued' },
  ]
  const at = (second: number) => new Date(second * 1000).toISOString()
  const parts = partByChannel(deliveries, [
    { at: at(3), what: 'sent', channel: 'push' },
    { at: at(1), what: 'accepted' },
    { at: at(2), what: 'queued', channel: 'push' },
    { at: at(4), what: 'undeliverable', channel: 'sms' },
  ])
  assert.deepEqual(
    parts.map(({ channel, entries }) => [channel, entries.map(({ what }) => what)]),
    [
      [undefined, ['accepted']],
      ['push', ['queued', 'sent']],
      ['email', []],
      ['sms', ['undeliverable']],
    ],
  )
  assert.equal(parts[1]?.delivery, deliveries[0])
})

test('the tone of a delivery differs for arrival, failure and waiting', () => {
  const tone = (outcome: string, state?: string) => toneOf({ channel: 'email', outcome, ...(state ? { state } : {}) })
  assert.equal(tone('queued', 'delivered'), 'good')
  assert.equal(tone('queued', 'bounced'), 'bad')
  assert.equal(tone('failed'), 'bad')
  assert.equal(tone('queued', 'queued'), 'neutral')
  assert.equal(tone('capped'), 'careful')
})
