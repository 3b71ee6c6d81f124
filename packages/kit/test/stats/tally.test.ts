import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createTally } from '../../src/index.ts'

const increments = fc.array(
  fc.record({
    measure: fc.constantFrom('a', 'b'),
    labels: fc.record({ x: fc.constantFrom('1', '2', '3', '4'), y: fc.constantFrom('p', 'q') }),
    value: fc.integer({ min: 1, max: 9 }),
  }),
)
const sumOf = (counts: ReadonlyArray<{ readonly value: number }>) => counts.reduce((sum, { value }) => sum + value, 0)

test('a tally loses no increment, and counts each combination once until it is emptied', () => {
  fc.assert(
    fc.property(increments, (all) => {
      const tally = createTally(0)
      for (const { measure, labels, value } of all) tally.add(measure, labels, value)
      const { since, counts } = tally.take(60_000)
      assert.equal(since, 0)
      assert.equal(sumOf(counts), sumOf(all))
      assert.equal(new Set(counts.map((one) => JSON.stringify([one.measure, one.labels]))).size, counts.length)
      assert.deepEqual(tally.take(120_000), { since: 60_000, counts: [] })
    }),
  )
})

test('a tally of any number of labels stays within its bound, and sums stay what they are', () => {
  const tally = createTally(0, 10)
  for (let n = 0; n < 1_000; n++) tally.add('events', { event: `event ${n}`, outcome: 'queued' })
  const counts = tally.peek()
  assert.equal(counts.length, 11)
  assert.equal(sumOf(counts), 1_000)
  assert.deepEqual(counts.at(-1), { measure: 'events', labels: { event: 'other', outcome: 'other' }, value: 990 })
})
