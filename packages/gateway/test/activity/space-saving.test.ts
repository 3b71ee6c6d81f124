import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SpaceSaving } from '../../src/activity/space-saving.ts'

const keys = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 800 })
const capacities = fc.integer({ min: 1, max: 20 })

function countAll(added: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of added) counts.set(String(key), (counts.get(String(key)) ?? 0) + 1)
  return counts
}

function sketchOf(added: readonly number[], capacity: number): SpaceSaving {
  const sketch = new SpaceSaving(capacity)
  added.forEach((key, at) => {
    sketch.add(String(key), at)
  })
  return sketch
}

test('a count is never too high, and never more than `missed` too low', () => {
  fc.assert(
    fc.property(keys, capacities, (added, capacity) => {
      const truth = countAll(added)
      const sketch = sketchOf(added, capacity)
      for (const { key, count } of sketch.entries()) {
        const real = truth.get(key) ?? 0
        assert.ok(count <= real && real - count <= sketch.missed, `${key}: ${count} of ${real}`)
      }
    }),
  )
})

test('every key that was added more than `missed` times is there, in at most as many slots', () => {
  fc.assert(
    fc.property(keys, capacities, (added, capacity) => {
      const sketch = sketchOf(added, capacity)
      const found = new Set(sketch.entries().map(({ key }) => key))
      assert.ok(found.size <= capacity)
      for (const [key, count] of countAll(added)) assert.ok(count <= sketch.missed || found.has(key), key)
      assert.ok(sketch.missed <= added.length / capacity)
    }),
  )
})

test('without more keys than slots counts and times are exact', () => {
  fc.assert(
    fc.property(keys, (added) => {
      const sketch = sketchOf(added, 61)
      const found = new Map(sketch.entries().map(({ key, count, at }) => [key, [count, at]]))
      const truth = new Map(
        [...countAll(added)].map(([key, count]) => [key, [count, added.lastIndexOf(Number(key))]] as const),
      )
      assert.deepEqual([...found].sort(), [...truth].sort())
      assert.equal(sketch.missed, added.length > 0 && found.size === 61 ? sketch.missed : 0)
    }),
  )
})

test('sketches that are added up keep the sum of their bounds', () => {
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 5 }), capacities, (streams, capacity) => {
      const truth = countAll(streams.flat())
      const sketches = streams.map((added) => sketchOf(added, capacity))
      const missed = sketches.reduce((sum, sketch) => sum + sketch.missed, 0)
      const sums = new Map<string, number>()
      for (const { key, count } of sketches.flatMap((sketch) => sketch.entries()))
        sums.set(key, (sums.get(key) ?? 0) + count)
      for (const [key, real] of truth) {
        const sum = sums.get(key) ?? 0
        assert.ok(sum <= real && real - sum <= missed, `${key}: ${sum} of ${real}`)
      }
    }),
  )
})

test('the most frequent keys are found in a flood of keys that come once', () => {
  const sketch = new SpaceSaving(500)
  for (let nth = 0; nth < 200_000; nth++) {
    sketch.add(`made-up-${nth}`, nth)
    if (nth % 50 === 0) sketch.add('attacker', nth)
    if (nth % 100 === 0) sketch.add('second', nth)
  }
  const [first, second] = sketch.entries().sort((one, other) => other.count - one.count)
  assert.deepEqual([first?.key, second?.key], ['attacker', 'second'])
  assert.ok((first?.count ?? 0) > 3_900, String(first?.count))
  assert.equal(sketch.entries().length, 500)
})
