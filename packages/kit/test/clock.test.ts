import assert from 'node:assert/strict'
import { test } from 'node:test'
import { steadyClock, systemClock } from '../src/clock.ts'

test('the steady clock does not follow a machine whose time is set', (context) => {
  const before = performance.now()
  const first = steadyClock.now()
  context.mock.timers.enable({ apis: ['Date'], now: 0 })
  const second = steadyClock.now()
  context.mock.timers.setTime(4_000_000_000_000)
  assert.equal(systemClock.now(), 4_000_000_000_000)
  const third = steadyClock.now()
  assert(before <= first && first <= second && second <= third && third <= performance.now())
})
