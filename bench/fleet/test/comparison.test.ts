import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compare, type Measurement } from '../comparison.ts'

test('the model says what a real process did at three loads, within its tolerance', () => {
  const recorded = JSON.parse(readFileSync(new URL('../recorded.json', import.meta.url), 'utf8')) as Measurement
  const comparisons = compare(recorded)
  assert.equal(comparisons.length, 3)
  for (const { measured, predicted, holds } of comparisons)
    assert.ok(holds, `measured ${JSON.stringify(measured)}, predicted ${JSON.stringify(predicted)}`)
})
