import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compare, compareRows, stepsOf } from '../../src/browser/screens/limits/shadow/compare.ts'

const series = (route: string, outcome: string, ...values: number[]) => ({
  labels: { route, outcome, policy: 'search' },
  values,
})
const found = {
  at: ['2026-11-23T07:00:00Z', '2026-11-23T07:01:00Z'],
  series: [
    series('/a', 'allowed', 6, 4),
    series('/a', 'rejected', 3, 2),
    series('/a', 'shadow', 4, 3),
    series('/a', 'released', 1, 0),
    series('/b', 'allowed', 20, 0),
  ],
}

test('requests are compared with what the shadow would have done', () => {
  assert.deepEqual(compare(found.series), { requests: 35, rejected: 5, wouldReject: 7, more: 3, fewer: 1 })
})

test('the routes that the shadow would change most come first', () => {
  assert.deepEqual(
    compareRows(found, 'route').map(({ name, more, fewer, requests }) => [name, more, fewer, requests]),
    [
      ['/a', 3, 1, 15],
      ['/b', 0, 0, 20],
    ],
  )
})

test('an outcome has a value for each step', () => {
  assert.deepEqual(stepsOf(found, 'allowed'), [26, 4])
  assert.deepEqual(stepsOf(found, 'released'), [1, 0])
  assert.deepEqual(stepsOf({ ...found, series: [] }, 'shadow'), [0, 0])
})
