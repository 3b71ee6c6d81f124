import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Declaration,
  differencesOf,
  inShadow,
  outOfShadow,
  toYaml,
} from '../../src/browser/screens/limits/declaration.ts'

const stored: Declaration = { rpm: 10, daily: 1_000, failure_mode: 'open' }
const draft: Declaration = { rpm: 20, burst: { capacity: 5, refill_per_second: 0.5 }, failure_mode: 'closed' }

test('a draft in shadow changes no limit that rejects', () => {
  assert.deepEqual(inShadow(stored, draft), {
    ...stored,
    shadow: { rpm: 20, burst: { capacity: 5, refill_per_second: 0.5 } },
  })
})

test('limits that come out of the shadow replace those that rejected', () => {
  assert.deepEqual(outOfShadow(inShadow(stored, draft)), {
    rpm: 20,
    burst: { capacity: 5, refill_per_second: 0.5 },
    failure_mode: 'open',
  })
})

test('differences name each member, with what was before and after', () => {
  assert.deepEqual(differencesOf(stored, draft), [
    { member: 'burst.capacity', before: undefined, after: '5' },
    { member: 'burst.refill_per_second', before: undefined, after: '0.5' },
    { member: 'daily', before: '1000', after: undefined },
    { member: 'failure_mode', before: 'open', after: 'closed' },
    { member: 'rpm', before: '10', after: '20' },
  ])
  assert.deepEqual(differencesOf(stored, { ...stored }), [])
})

test('the YAML of a declaration is what the configuration file has', () => {
  const { daily: _daily, ...declaration } = inShadow(stored, draft)
  assert.equal(
    toYaml('tiers', 'free', declaration),
    `tiers:
  free:
    rpm: 10
    failure_mode: open
    shadow:
      rpm: 20
      burst:
        capacity: 5
        refill_per_second: 0.5
`,
  )
})
