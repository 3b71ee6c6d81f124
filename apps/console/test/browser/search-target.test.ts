import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifySearch, timeOfUuid } from '../../src/browser/app/search-target.ts'
import { partByChannel, toneOf } from '../../src/browser/screens/deliver/timeline.ts'

test('a search text is the id of a notification, a name, or neither', () => {
  assert.equal(classifySearch(' 019A205C-CC20-7a27-aaca-4b0e3f272052 '), 'uuid')
  for (const name of ['alice', 'a@example.com', 'demo-web', 'x:1~2']) assert.equal(classifySearch(name), 'name', name)
  for (const other of ['', '  ', 'two words', 'a/b', 'ä']) assert.equal(classifySearch(other), undefined, other)
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
