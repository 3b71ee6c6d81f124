import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamStatistics } from '../../src/proxy/upstream-statistics.ts'

const fiveMinutes = 300_000

test('figures count answers and failures, and estimate times within a quarter', () => {
  const statistics = new UpstreamStatistics()
  for (let nth = 1; nth <= 100; nth++) statistics.recordAnswer(0, nth)
  statistics.recordFailure(
    5,
    new Error('no answer', { cause: Object.assign(new Error('gone'), { code: 'ECONNREFUSED' }) }),
  )
  const { calls, failures, p50Ms = 0, p95Ms = 0, lastFailure } = statistics.read(10)
  assert.deepEqual([calls, failures], [101, 1])
  assert.ok(p50Ms >= 50 && p50Ms <= 62.5, String(p50Ms))
  assert.ok(p95Ms >= 95 && p95Ms <= 119, String(p95Ms))
  assert.deepEqual(lastFailure, { at: 5, message: 'ECONNREFUSED' })
})

test('figures are those of the last five to ten minutes', () => {
  const statistics = new UpstreamStatistics()
  statistics.recordAnswer(1, 10)
  assert.equal(statistics.read(fiveMinutes + 1).calls, 1)
  assert.equal(statistics.read(2 * fiveMinutes + 1).calls, 0)
  assert.equal(statistics.read(2 * fiveMinutes + 1).p50Ms, undefined)
})

test('very short and very long answers are counted', () => {
  const statistics = new UpstreamStatistics()
  for (const milliseconds of [0, 0.5, 1e9]) statistics.recordAnswer(0, milliseconds)
  assert.equal(statistics.read(0).calls, 3)
})
