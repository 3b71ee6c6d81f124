import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs, resultRules, transitions } from '../../src/model/delivery/retry-policy.ts'

test('a pause is at most the maximum of its failure, which grows up to a limit', () => {
  const backoff = { baseMs: 1_000, factor: 10, maxMs: 900_000 }
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((n) => backoffMs(n, backoff, 0.999_999)),
    [999, 9_999, 99_999, 899_999, 899_999],
  )
  assert.equal(backoffMs(3, backoff, 0), 0)
})

test('a delivery that some target accepted becomes a dead letter only after crashes', () => {
  for (const [situation, row] of Object.entries(transitions))
    for (const [accepted, { next }] of Object.entries(row))
      if (accepted !== 'never') assert.equal(next === 'dead', situation === 'crashed', `${situation}, ${accepted}`)
})

test('an attempt that accepted a target is recorded as sent, whatever follows', () => {
  for (const row of Object.values(transitions)) if ('now' in row) assert.equal(row.now.entry, 'sent')
})

test('a result that ends its target neither counts as a failure nor fails over', () => {
  for (const [kind, rule] of Object.entries(resultRules))
    if (!rule.retries) assert.deepEqual([rule.counts, rule.failover], [false, 'never'], kind)
})
