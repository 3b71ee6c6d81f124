import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallerCount } from '../../src/activity/caller-key.ts'
import { rankCallers } from '../../src/activity/ranking.ts'

const counted = (id: string, count: number, more: Partial<CallerCount> = {}): CallerCount => ({
  policies: ['free'],
  route: '/a',
  kind: 'user',
  id,
  count,
  at: 1_000,
  ...more,
})

const callers = {
  rejected: [
    counted('u1', 5),
    counted('u1', 2, { route: '/b', at: 2_000 }),
    counted('u2', 9, { policies: ['search'], route: '/search' }),
    counted('10.0.0.1', 1, { kind: 'ip', policies: ['anonymous'] }),
  ],
  allowed: [counted('u1', 30), counted('u2', 40, { policies: ['free', 'search'], route: '/search' })],
}

const rows = (...args: Parameters<typeof rankCallers>) =>
  rankCallers(...args).map(({ id, policy, allowed, rejected }) => [id, policy, allowed, rejected])

test('callers are ranked by their rejected requests, with what the same policy allowed', () => {
  assert.deepEqual(rows(callers, 'rejected'), [
    ['u2', 'search', 40, 9],
    ['u1', 'free', 30, 7],
    ['10.0.0.1', 'anonymous', 0, 1],
  ])
})

test('callers are ranked by their allowed requests, once for each policy that counted them', () => {
  assert.deepEqual(rows(callers, 'allowed'), [
    ['u2', 'free', 40, 0],
    ['u2', 'search', 40, 9],
    ['u1', 'free', 30, 7],
  ])
})

test('policy, kind and route narrow the ranking', () => {
  assert.deepEqual(rows(callers, 'allowed', { policy: 'search' }), [['u2', 'search', 40, 9]])
  assert.deepEqual(rows(callers, 'rejected', { kind: 'ip' }), [['10.0.0.1', 'anonymous', 0, 1]])
  assert.deepEqual(rows(callers, 'rejected', { route: '/b' }), [['u1', 'free', 0, 2]])
})

test('a row has the time of the last of its requests', () => {
  assert.equal(rankCallers(callers, 'rejected').find(({ id }) => id === 'u1')?.lastAt, 2_000)
})
