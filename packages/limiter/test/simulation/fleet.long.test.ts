import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePolicy } from '@gatehouse/limiter'
import { simulateFleet } from '@gatehouse/limiter/conformance'

const perSecond = definePolicy('s', [{ name: 's', limit: 10_000, windowMs: 1_000 }], { advisory: true })
const perMinute = definePolicy('m', [{ name: 'm', limit: 1_000, windowMs: 60_000 }], { advisory: true })
const fleet = { instances: 20 }
const trouble = { skewMs: 5_000, lost: 0.02, roundTripMs: 6 }

test('20 processes overshoot 10,000 a second by at most 5 % in any window', async () => {
  for (const offeredPerSecond of [9_000, 15_000, 30_000]) {
    const { worstWindow } = await simulateFleet({ ...fleet, policy: perSecond, offeredPerSecond, seconds: 6 })
    assert(worstWindow <= 1.05, `${worstWindow} of the limit at ${offeredPerSecond} a second`)
  }
})

test('20 processes overshoot 1,000 a minute by at most 3 % in any window', async () => {
  for (const offeredPerSecond of [20, 50]) {
    const { worstWindow } = await simulateFleet({ ...fleet, policy: perMinute, offeredPerSecond, seconds: 300 })
    assert(worstWindow <= 1.03, `${worstWindow} of the limit at ${offeredPerSecond} a second`)
  }
})

test('slow and lossy calls, clock skew and failover keep the overshoot within bounds', async () => {
  for (const seed of [1, 2, 3]) {
    const seconds = await simulateFleet({
      ...fleet,
      ...trouble,
      seed,
      policy: perSecond,
      offeredPerSecond: 20_000,
      seconds: 6,
      failoverAtSeconds: [2.3, 4.1],
    })
    // A failover forgets up to half a second of counts; what the processes remember is restored within a round.
    assert(seconds.worstWindow <= 1.2, `${seconds.worstWindow} of 10,000 a second`)
    const minutes = await simulateFleet({
      ...fleet,
      ...trouble,
      seed,
      policy: perMinute,
      offeredPerSecond: 40,
      seconds: 300,
      failoverAtSeconds: [70, 200],
    })
    assert(minutes.worstWindow <= 1.05, `${minutes.worstWindow} of 1,000 a minute`)
  }
})

const leases = { ...fleet, counting: 'hot', seconds: 6 } as const

test('20 processes that lease a hot key stay within its limit with a call per ten requests', async () => {
  for (const algorithm of ['sliding-window', 'fixed-window'] as const) {
    const policy = definePolicy('hot', [{ name: 'hot', limit: 50_000, windowMs: 1_000, algorithm }])
    const calm = await simulateFleet({ ...leases, policy, offeredPerSecond: 30_000, seconds: 16 })
    assert(calm.calls <= 0.1, `${calm.calls} calls a request`)
    assert(calm.overall >= 0.58, `${calm.overall} of the limit were admitted, 0.6 were offered`)
    const flood = await simulateFleet({ ...leases, policy, offeredPerSecond: 100_000 })
    assert(flood.worstWindow <= 1.01, `${flood.worstWindow} of the limit in a flood`)
    assert(flood.overall >= 0.98, `${flood.overall} of the limit were admitted in a flood`)
  }
})

test('leases keep the limit with slow and lossy calls and clock skew', async () => {
  const policy = definePolicy('hot', [{ name: 'hot', limit: 20_000, windowMs: 1_000 }])
  for (const seed of [1, 2, 3]) {
    const { worstWindow } = await simulateFleet({ ...leases, ...trouble, seed, policy, offeredPerSecond: 40_000 })
    assert(worstWindow <= 1.02, `${worstWindow} of the limit`)
  }
})
