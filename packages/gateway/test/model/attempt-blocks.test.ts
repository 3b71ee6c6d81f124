import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { AttemptBlocks } from '../../src/model/attempt-blocks.ts'

test('after the clock was set back the counters are asked at once, and no wait grows', () => {
  const clock = manualClock()
  const blocks = new AttemptBlocks(clock)
  const alice = { kind: 'account', id: 'alice' }
  blocks.set('login', alice, 60)
  assert.equal(blocks.takeReading('login', alice), false)
  clock.advance(-3_600_000)
  assert.equal(blocks.secondsOf('login', alice), 60)
  assert.deepEqual([blocks.takeReading('login', alice), blocks.takeReading('login', alice)], [true, false])
  clock.advance(5_000)
  assert.equal(blocks.takeReading('login', alice), true)
})
