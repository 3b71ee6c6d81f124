import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyStanding } from '@gatehouse/client'
import { mayReset, offerToUnblock } from '../../src/browser/screens/callers/caller/owners-limits.ts'

const standing = (allowed: boolean, shared: boolean, limits_attempts: boolean) =>
  ({ allowed, shared, limits_attempts }) as PolicyStanding
const tier = standing(false, false, false)
const attempts = standing(false, false, true)
const operator = ['admin:limits']
const owner = ['admin:limits', 'admin:roles']

test('a caller that a limit on attempts rejects is unblocked by owners alone', () => {
  assert.equal(offerToUnblock([attempts], operator), 'owners_only')
  assert.equal(offerToUnblock([tier, attempts], operator), 'owners_only')
  assert.equal(offerToUnblock([tier, attempts], owner), 'unblock')
})

test('a caller that other limits reject is unblocked by operators too', () => {
  assert.equal(offerToUnblock([tier, standing(true, false, true)], operator), 'unblock')
})

test('there is nothing to unblock where nothing rejects the caller alone', () => {
  assert.equal(offerToUnblock([standing(true, false, true), standing(false, true, false)], owner), undefined)
})

test('what a limit on attempts counted is reset and given back by owners alone', () => {
  assert.deepEqual([mayReset(attempts, operator), mayReset(attempts, owner)], [false, true])
  assert.equal(mayReset(tier, operator), true)
})
