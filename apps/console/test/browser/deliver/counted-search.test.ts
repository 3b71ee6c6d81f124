import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedSearch } from '../../../src/browser/screens/deliver/notifications/counted-search.ts'

const now = Date.UTC(2026, 5, 1, 12)

test('what is counted of a search is by channel, or by event type in whole hours', () => {
  const newest = countedSearch({}, now)?.input
  assert.deepEqual(newest, { measure: 'outcomes', by: 'channel', from: '2026-05-31T13:00:00.000Z', step: 720 })
  const ofEvent = countedSearch({ event: 'order.shipped', outcome: 'capped' }, now)
  assert.deepEqual([ofEvent?.input.by, ofEvent?.input.step], ['event', 3_600])
  assert.equal(ofEvent?.where({ event: 'order.shipped', outcome: 'capped' }), true)
  assert.equal(ofEvent?.where({ event: 'order.shipped', outcome: 'queued' }), false)
  assert.equal(ofEvent?.where({ event: 'order.lost', outcome: 'capped' }), false)
  const then = countedSearch({ channel: 'sms', from: '2026-04-01T00:00:00Z', to: '2026-04-21T00:00:00Z' }, now)
  assert.deepEqual([then?.input.to, then?.input.step], ['2026-04-21T00:00:00.000Z', 14_400])
  assert.equal(then?.where({ channel: 'email', outcome: 'queued' }), false)
})

test('no figures stand beside a search for what is not counted', () => {
  for (const filters of [
    { user_id: 'alice' },
    { state: 'bounced' },
    { dedup_key: 'k' },
    { event: 'order.shipped', channel: 'sms' },
    { from: '2026-04-02T00:00:00Z', to: '2026-04-01T00:00:00Z' },
    { from: '2020-01-01T00:00:00Z' },
    { from: 'someday' },
  ])
    assert.equal(countedSearch(filters, now), undefined, JSON.stringify(filters))
})
