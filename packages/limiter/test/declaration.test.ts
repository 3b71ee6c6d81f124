import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DeclarationError,
  declaredPolicy,
  declaredTier,
  type PolicyDeclaration,
  type TierDeclaration,
} from '../src/index.ts'

const placeOf = (define: () => unknown) => {
  try {
    define()
  } catch (error) {
    assert.ok(error instanceof DeclarationError, String(error))
    return [error.place.pointer, error.place.expected]
  }
  return undefined
}

const integer = 'must be an integer from 1 to 2147483647, got 0'
const closed = { rpm: 10, failure_mode: 'closed' } as const

const faults: readonly (readonly [PolicyDeclaration & TierDeclaration, string, string])[] = [
  [{ rps: 0 }, '/rps', integer],
  [{ rpm: 0 }, '/rpm', integer],
  [{ daily: 0 }, '/daily', integer],
  [{ burst: { capacity: 0, refill_per_second: 1 } }, '/burst/capacity', integer],
  [{ burst: { capacity: 5, refill_per_second: 0 } }, '/burst/refill_per_second', 'must be above 0, got 0'],
  [
    { burst: { capacity: 100_000_000, refill_per_second: 0.001 } },
    '/burst/refill_per_second',
    'the bucket must fill within a year',
  ],
  [{ rpm: 10, shadow: { rps: 0 } }, '/shadow/rps', integer],
  [{ rpm: 10, shadow: { burst: { capacity: 0, refill_per_second: 1 } } }, '/shadow/burst/capacity', integer],
  [{ rpm: 10, shards: 7 }, '/rpm', 'must be a multiple of 7 shards'],
  [{ rpm: 10, shards: 65 }, '/shards', 'shards must be an integer from 1 to 64, got 65'],
  [{ ...closed, mode: 'hybrid' }, '/mode', 'a policy that fails closed is exact and cannot be advisory'],
  [{ ...closed, quota: 'regional' }, '/quota', 'a policy that fails closed must have a global quota'],
  [{ ...closed, shards: 2 }, '/shards', 'a policy that fails closed cannot have shards'],
  [{}, '', 'a policy must have 1 to 8 rules, got 0'],
]

for (const [declaration, pointer, expected] of faults)
  test(`a declaration of ${JSON.stringify(declaration)} has its fault at "${pointer}"`, () => {
    // A policy may be named as what its rules are named by.
    for (const name of ['free', 'shadow', 'burst']) {
      assert.deepEqual(
        placeOf(() => declaredPolicy(name, declaration)),
        [pointer, expected],
      )
      assert.deepEqual(
        placeOf(() => declaredTier(name, declaration)),
        [pointer, expected],
      )
    }
  })

test('the error of a declaration still names the tier or policy and its rule', () => {
  assert.throws(() => declaredTier('free', { rpm: 10, shards: 7 }), {
    message: 'policy "free": the limit 10 of rule "rpm" must be a multiple of 7 shards',
  })
})
