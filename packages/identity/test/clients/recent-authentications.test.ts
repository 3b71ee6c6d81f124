import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { RecentAuthentications } from '../../src/clients/recent-authentications.ts'

const address = '192.0.2.1'

test('a client is remembered for an hour, at its address alone', () => {
  const clock = manualClock()
  const recent = new RecentAuthentications(clock)
  recent.add('web', address)
  clock.advance(3_599_999)
  assert.deepEqual([recent.has('web', address), recent.has('web', '192.0.2.2')], [true, false])
  clock.advance(1)
  assert.equal(recent.has('web', address), false)
})

test('a client is remembered no longer when the clock is set back', () => {
  const clock = manualClock()
  const recent = new RecentAuthentications(clock)
  recent.add('web', address)
  clock.advance(-1)
  assert.equal(recent.has('web', address), false)
  recent.add('web', address)
  assert.equal(recent.has('web', address), true, 'it is remembered again')
})
