import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextHealth } from '../../src/model/delivery/breaker.ts'

test('a breaker opens at its failure rate, doubles its pause and closes after a good probe', () => {
  const rules = { windowMs: 1_000, minCalls: 4, failureRate: 0.5, openMs: 100, maxOpenMs: 300 }
  let health = nextHealth({ since: 0, calls: 0, failures: 0, openings: 0 }, { calls: 3, failures: 3 }, rules, 0)
  assert.equal(health.openUntil, undefined, 'too few calls')
  health = nextHealth(health, { calls: 3, failures: 0 }, rules, 500)
  assert.equal(health.openUntil, 600)
  health = nextHealth(health, { calls: 1, failures: 1 }, rules, 550)
  assert.equal(health.openUntil, 600, 'calls that were under way change nothing')
  health = nextHealth(health, { calls: 1, failures: 1 }, rules, 600)
  assert.equal(health.openUntil, 800)
  health = nextHealth(health, { calls: 1, failures: 1 }, rules, 800)
  assert.equal(health.openUntil, 1_100, 'bounded')
  assert.equal(nextHealth(health, { calls: 1, failures: 0 }, rules, 1_100).openUntil, undefined)
})

test('an opening by a clock that was ahead counts as over once it lasts beyond the longest', () => {
  const rules = { windowMs: 1_000, minCalls: 4, failureRate: 0.5, openMs: 100, maxOpenMs: 300 }
  const open = { since: 5_000, calls: 0, failures: 0, openUntil: 5_300, openings: 3 }
  assert.equal(nextHealth(open, { calls: 1, failures: 0 }, rules, 5_000), open, 'the longest')
  assert.equal(nextHealth(open, { calls: 1, failures: 0 }, rules, 4_999).openUntil, undefined)
  assert.equal(nextHealth(open, { calls: 1, failures: 1 }, rules, 4_999).openUntil, 5_299)
})
