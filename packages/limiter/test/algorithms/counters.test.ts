import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, definePolicy, memoryStore, type Policy } from '@gatehouse/limiter'
import fc from 'fast-check'

const start = Date.UTC(2026, 0, 1)
const user = { kind: 'user', id: 'alice' }

interface Step {
  readonly waitMs: number
  readonly cost: number
}

const policies = fc.constantFrom<Policy[]>(
  definePolicy('sliding', [{ name: 'sliding', limit: 7, windowMs: 60_000 }]),
  definePolicy('fixed', [{ name: 'fixed', algorithm: 'fixed-window', limit: 7, windowMs: 60_000 }]),
  definePolicy('bucket', [{ name: 'bucket', algorithm: 'token-bucket', limit: 7, refillPerSecond: 0.3 }]),
  definePolicy('several', [
    { name: 'second', limit: 3, windowMs: 1_000 },
    { name: 'minute', limit: 11, windowMs: 60_000 },
    { name: 'bucket', algorithm: 'token-bucket', limit: 9, refillPerSecond: 0.7 },
    { name: 'hour', algorithm: 'fixed-window', limit: 100, windowMs: 3_600_000 },
  ]),
)
const steps = fc.array(fc.record({ waitMs: fc.nat(30_000), cost: fc.integer({ min: 1, max: 3 }) }), { maxLength: 80 })

function setup(policy: Policy) {
  let now = start
  const store = memoryStore()
  const limiter = createLimiter({ store, clock: { now: () => now } })
  return {
    limiter,
    store,
    now: () => now,
    wait(milliseconds: number) {
      now += milliseconds
    },
    check(cost: number) {
      const decision = limiter.check(policy, user, { cost })
      assert(!(decision instanceof Promise))
      return decision
    },
  }
}

test('a lone client that waits for Retry-After is admitted, and not a second sooner', () => {
  fc.assert(
    fc.property(policies, steps, (policy, history: readonly Step[]) => {
      const { check, wait, now } = setup(policy)
      const checks: [now: number, cost: number][] = []
      for (const { waitMs, cost } of history) {
        wait(waitMs)
        const decision = check(cost)
        checks.push([now(), cost])
        if (decision.allowed) continue
        const admittedAfter = (seconds: number): boolean => {
          const again = memoryStore()
          for (const [at, price] of checks) again.acquire({ policy, identifier: user, cost: price, now: at })
          return again.acquire({ policy, identifier: user, cost, now: now() + seconds * 1000 }).allowed
        }
        assert(admittedAfter(decision.retryAfterSeconds))
        if (decision.retryAfterSeconds > 1) assert(!admittedAfter(decision.retryAfterSeconds - 1))
      }
    }),
  )
})

test('remaining is never negative, and exactly that many more requests are admitted', () => {
  fc.assert(
    fc.property(policies, steps, (policy, history: readonly Step[]) => {
      const { check, wait } = setup(policy)
      for (const { waitMs, cost } of history) {
        wait(waitMs)
        assert(check(cost).remaining >= 0)
      }
      const { allowed, rules } = check(1)
      const remaining = Math.min(...rules.map((rule) => rule.remaining))
      if (!allowed) return void assert.equal(remaining, 0)
      for (let left = remaining; left > 0; left--) assert(check(1).allowed)
      assert(!check(1).allowed)
    }),
  )
})

test('a sliding window admits at most twice its limit in any period of its length', () => {
  const policy = definePolicy('sliding', [{ name: 'sliding', limit: 7, windowMs: 60_000 }])
  fc.assert(
    fc.property(steps, (history: readonly Step[]) => {
      const { check, wait, now } = setup(policy)
      const admitted: number[] = []
      for (const { waitMs } of history) {
        wait(waitMs % 6_000)
        for (let i = 0; i < 3; i++) if (check(1).allowed) admitted.push(now())
      }
      for (const from of admitted) assert(admitted.filter((at) => at >= from && at < from + 60_000).length <= 14)
    }),
  )
})

test('a rejected request changes no window, except the fixed window that rejected it', () => {
  const policy = definePolicy('both', [
    { name: 'fixed', algorithm: 'fixed-window', limit: 4, windowMs: 60_000 },
    { name: 'sliding', limit: 6, windowMs: 3_600_000 },
  ])
  fc.assert(
    fc.property(steps, (history: readonly Step[]) => {
      const { check, wait, store, now } = setup(policy)
      for (const { waitMs, cost } of history) {
        wait(waitMs)
        const before = store.peek(policy, user, now()).counters
        const decision = check(cost)
        if (decision.allowed) continue
        const after = store.peek(policy, user, now()).counters
        const [fixed] = decision.rules
        assert.equal(after[3], before[3])
        assert.equal(after[1], (before[1] ?? 0) + (fixed?.allowed ? 0 : cost))
      }
    }),
  )
})

test('a bucket refills by elapsed time times rate, up to its capacity', () => {
  const policy = definePolicy('bucket', [{ name: 'bucket', algorithm: 'token-bucket', limit: 7, refillPerSecond: 0.3 }])
  fc.assert(
    fc.property(steps, (history: readonly Step[]) => {
      const { check, wait } = setup(policy)
      let tokens = 7
      for (const { waitMs, cost } of history) {
        wait(waitMs)
        tokens = Math.min(7, tokens + (waitMs / 1000) * 0.3)
        if (Math.abs(tokens - cost) < 1e-9) return
        const { allowed } = check(cost)
        assert.equal(allowed, tokens >= cost)
        if (allowed) tokens -= cost
      }
    }),
  )
})
