import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backoff, CrashCount } from '../../src/supervisor/restart-policy.ts'

test('a worker that fails again and again waits twice as long each time, 30 s at most', () => {
  const backoff = new Backoff()
  const delays = Array.from({ length: 11 }, () => backoff.delayAfter(0))
  assert.deepEqual(delays, [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
})

test('a worker that was healthy for a minute is restarted as after a first failure', () => {
  const backoff = new Backoff()
  assert.deepEqual(
    [0, 59_999, 60_000, 0].map((listened) => backoff.delayAfter(listened)),
    [100, 200, 100, 200],
  )
})

test('the fifth crash within a minute is one too many, five in a longer time are not', () => {
  const often = new CrashCount()
  assert.deepEqual(
    [0, 10_000, 20_000, 40_000, 59_999].map((now) => often.record(now)),
    [false, false, false, false, true],
  )
  const seldom = new CrashCount()
  assert.ok([0, 15_000, 30_000, 45_000, 60_000, 75_000].every((now) => !seldom.record(now)))
})
