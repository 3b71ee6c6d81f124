import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePolicy, tierPolicy } from '@gatehouse/limiter'
import type { CallerStep } from '../../src/activity/history.ts'
import { useOf } from '../../src/activity/use.ts'

const minuteMs = 60_000
const step = (at: number, counts: Readonly<Record<string, number>>): CallerStep => ({
  at,
  missed: 0,
  callers: Object.entries(counts).map(([id, count]) => ({
    ...{ kind: 'user', id, policies: ['free'], route: '/a' },
    ...{ count, at },
  })),
})

test('a caller uses the share of its busiest minute, and of its day', () => {
  const tier = tierPolicy('free', { rpm: 10, daily: 100 })
  const minutes = [step(0, { u1: 4, u2: 1 }), step(minuteMs, { u1: 9 }), step(minuteMs, { u1: 1 })]
  const hours = [step(0, { u1: 40, u2: 1 }), step(3_600_000, { u1: 40 })]
  const [rpm, daily] = useOf(tier, { minutes, hours })
  assert.deepEqual([rpm?.callers, rpm?.p50, rpm?.p95, rpm?.max], [2, 0.1, 1, 1])
  assert.deepEqual([daily?.callers, daily?.p50, daily?.max], [2, 0.01, 0.8])
})

test('percentiles are of callers, and other policies count for nothing', () => {
  const counts = Object.fromEntries(Array.from({ length: 100 }, (_, nth) => [`u${nth}`, nth + 1]))
  const minutes = [step(0, counts)]
  const [rpm] = useOf(tierPolicy('free', { rpm: 100 }), { minutes, hours: [] })
  assert.deepEqual([rpm?.p50, rpm?.p95, rpm?.p99, rpm?.max], [0.5, 0.95, 0.99, 1])
  const [other] = useOf(tierPolicy('pro', { rpm: 100 }), { minutes, hours: [] })
  assert.deepEqual([other?.callers, other?.max], [0, 0])
})

test('rules of a second and buckets have no figures', () => {
  const policy = definePolicy('search', [
    { name: 'rps', limit: 3, windowMs: 1_000 },
    { name: 'burst', algorithm: 'token-bucket', limit: 3, refillPerSecond: 1 },
  ])
  assert.deepEqual(useOf(policy, { minutes: [], hours: [] }), [])
})
