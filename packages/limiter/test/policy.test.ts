import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, definePolicy, policyBook, type Rule, tierPolicy } from '@gatehouse/limiter'

const rule: Rule = { name: 'r', limit: 1, windowMs: 60_000 }

test('an invalid policy is rejected with what was expected', () => {
  const refused: [() => unknown, RegExp][] = [
    [() => definePolicy('p', []), /must have 1 to 8 rules, got 0/],
    [() => definePolicy('p', [rule, rule]), /rule names must be unique/],
    [() => definePolicy('p', [{ ...rule, limit: 0 }]), /rule "r": limit must be an integer from 1/],
    [() => definePolicy('p', [{ ...rule, limit: 1.5 }]), /limit must be an integer/],
    [() => definePolicy('p', [{ ...rule, windowMs: 10 }]), /windowMs must be an integer from 1000/],
    [
      () => definePolicy('p', [{ name: 'b', algorithm: 'token-bucket', limit: 1, refillPerSecond: 0 }]),
      /refillPerSecond must be above 0/,
    ],
    [() => definePolicy('p', [rule], { failureMode: 'closed', advisory: true }), /a policy that fails closed is exact/],
    [() => definePolicy('p', [rule], { failureMode: 'closed', quota: 'regional' }), /must have a global quota/],
    [() => definePolicy('p', [rule], { failureMode: 'closed', shards: 2 }), /cannot have shards/],
    [() => definePolicy('p', [rule], { shards: 3 }), /must be a multiple of 3 shards/],
    [() => tierPolicy('t', {}), /must have 1 to 8 rules/],
  ]
  for (const [make, message] of refused) assert.throws(make, message)
})

test('an invalid identifier is rejected with what was expected', () => {
  const limiter = createLimiter()
  const policy = definePolicy('p', [rule])
  assert.throws(() => limiter.check(policy, { kind: 'user', id: '' }), /must have 1 to 512 characters/)
  assert.throws(() => limiter.check(policy, { kind: 'user', id: 'x'.repeat(513) }), /got 513/)
  assert.throws(() => limiter.check(policy, { kind: 'user', id: '\ud800' }), /well-formed/)
  assert.throws(() => limiter.check(policy, { kind: 'User:1', id: 'x' }), /lower-case word/)
})

test('a policy book is replaced while requests are served, and counts continue', async () => {
  const limiter = createLimiter()
  const alice = { kind: 'user', id: 'alice' }
  const book = policyBook([tierPolicy('free', { rpm: 2 }), tierPolicy('pro', { rpm: 100 })], 'free')
  await limiter.check(book.of('free'), alice)
  book.replace([tierPolicy('free', { rpm: 5 })])
  assert.equal((await limiter.check(book.of('free'), alice)).remaining, 3)
  assert.equal(book.of('pro').name, 'free')
  assert.equal(book.of(undefined).name, 'free')
  assert.throws(() => book.replace([tierPolicy('pro', { rpm: 1 })]), /no policy is named "free"/)
  assert.deepEqual(book.names, ['free'])
})
