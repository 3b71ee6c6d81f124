import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Replica } from '../../src/failover/replica.ts'
import { definePolicy } from '../../src/index.ts'

const minute = 60_000
const rule = { name: 'rpm', limit: 100, windowMs: minute }
const sliding = definePolicy('sliding', [rule])
const fixed = definePolicy('fixed', [{ ...rule, algorithm: 'fixed-window' }])
const replica = new Replica({}, true)
const result = (counters: readonly number[], now: number) => ({ allowed: true, violated: 0, counters, now })

test('counts that were raised when the next window had begun are not taken for an adjustment', () => {
  const own = result([3, 7], 5 * minute - 1)
  assert.equal(replica.isAdjusted(sliding, own, result([7, 0], 5 * minute)), false)
  assert.equal(replica.isAdjusted(sliding, own, result([0, 0], 6 * minute)), false)
  assert.equal(replica.isAdjusted(fixed, result([0, 7], 5 * minute - 1), result([0, 0], 5 * minute)), false)
})

test('counts that stay lower than they were to be are an adjustment', () => {
  const own = result([3, 7], 5 * minute - 2)
  assert.equal(replica.isAdjusted(sliding, own, result([3, 7], 5 * minute - 1)), false)
  assert.equal(replica.isAdjusted(sliding, own, result([3, 6], 5 * minute - 1)), true)
  assert.equal(replica.isAdjusted(sliding, own, result([2, 7], 5 * minute - 1)), true)
  assert.equal(replica.isAdjusted(sliding, own, result([6, 0], 5 * minute)), true)
})
