import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RetryBudget } from '../../src/call/retry-budget.ts'
import { nextAttemptIn } from '../../src/call/retry-policy.ts'
import { call, connect } from '../../src/index.ts'
import { json, problem, type Reaction, ScriptedServer } from '../support/scripted-server.ts'

const minute = 60_000

test('a retry budget never gives more than ten a minute, or a tenth of the calls', () => {
  const steps = fc.array(fc.record({ calls: fc.nat(40), retries: fc.nat(10), passMs: fc.nat(20_000) }), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(steps, (all) => {
      const budget = new RetryBudget()
      const calls: number[] = []
      const retries: number[] = []
      let now = 1_000_000
      for (const step of all) {
        now += step.passMs
        for (let n = 0; n < step.calls; n++) {
          budget.record(now)
          calls.push(now)
        }
        for (let n = 0; n < step.retries; n++) {
          if (!budget.take(now)) continue
          retries.push(now)
          const within = (times: readonly number[], span: number) => times.filter((at) => at > now - span).length
          const limit = Math.max(10, Math.ceil(0.1 * within(calls, minute + 10_000)))
          assert.ok(within(retries, minute) <= limit, `${within(retries, minute)} of ${limit}`)
        }
      }
    }),
  )
})

test('a retry budget is full again after a minute, and grows with the calls', () => {
  const budget = new RetryBudget()
  const takeAll = (now: number) => {
    let count = 0
    while (count < 1_000 && budget.take(now)) count++
    return count
  }
  assert.equal(takeAll(0), 10)
  assert.equal(takeAll(minute), 0)
  assert.equal(takeAll(minute + 20_000), 10)
  for (let n = 0; n < 500; n++) budget.record(10 * minute)
  assert.equal(takeAll(10 * minute), 50)
})

test('the next attempt is never before Retry-After, and never past the deadline', () => {
  const failed = fc.record({
    attempt: fc.integer({ min: 1, max: 5 }),
    maxAttempts: fc.integer({ min: 1, max: 4 }),
    retryable: fc.boolean(),
    repeatable: fc.boolean(),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 100_000 }), { nil: undefined }),
    othersWait: fc.boolean(),
    remainingMs: fc.integer({ min: -1, max: 40_000 }),
  })
  fc.assert(
    fc.property(failed, fc.double({ min: 0, max: 0.999, noNaN: true }), (failure, random) => {
      const waitMs = nextAttemptIn(failure, () => random)
      const { attempt, maxAttempts, retryable, repeatable, retryAfterMs = 0, othersWait, remainingMs } = failure
      if (waitMs === undefined) return
      assert.ok(retryable && repeatable && attempt < maxAttempts && waitMs < remainingMs)
      assert.ok(waitMs >= retryAfterMs)
      if (retryAfterMs > 0) assert.ok(waitMs <= retryAfterMs * (othersWait ? 1.1 : 1))
      else assert.ok(waitMs <= 200 * 2 ** (attempt - 1))
    }),
  )
})

/** What a server does, as a property chooses it. */
const reaction = fc.oneof(
  fc.constantFrom<Reaction>('broken', 'silent', 200, 500, 502, 504),
  fc.tuple(fc.constantFrom(408, 429, 503), fc.nat(12)),
)
const request = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'DELETE', 'POST', 'PATCH'),
  idempotent: fc.constantFrom(undefined, undefined, true, false),
  afterMs: fc.nat(5_000),
})

test('calls stay within the budget, wait as required, and repeat only what is idempotent', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: 1, maxLength: 30 }),
      fc.array(reaction, { minLength: 1 }),
      async (requests, reactions) => {
        const refusedUntil = new Map<string, number>()
        const sent = new Map<string, number>()
        const server = new ScriptedServer(({ url, at }, index) => {
          const id = url.pathname
          assert.ok(at >= (refusedUntil.get(id) ?? 0), `${id} came before Retry-After`)
          sent.set(id, (sent.get(id) ?? 0) + 1)
          const chosen = reactions[index % reactions.length] ?? 200
          if (!Array.isArray(chosen)) return chosen === 200 ? json(1) : (chosen as Reaction)
          const [status, seconds] = chosen as [number, number]
          refusedUntil.set(id, at + seconds * 1_000)
          return problem(status, {}, { 'retry-after': String(seconds) })
        })
        const connection = connect(server.options({ random: Math.random }))
        const calls = requests.map(async ({ method, idempotent, afterMs }, index) => {
          await new Promise<void>((resolve) => void server.clock.after(afterMs, resolve))
          const begin = server.clock.now()
          await call(connection, { method, path: `/${index}`, idempotent }).catch(() => {})
          assert.ok(server.clock.now() - begin <= 30_000)
        })
        await server.clock.settle(Promise.all(calls))
        requests.forEach(({ method, idempotent }, index) => {
          const count = sent.get(`/${index}`) ?? 0
          assert.ok(count <= 4)
          const isRepeatable = idempotent ?? ['GET', 'PUT', 'DELETE'].includes(method)
          if (!isRepeatable) assert.equal(count, 1, `${method} was sent ${count} times`)
        })
        // All of it happens within a minute, with fewer than a hundred calls.
        assert.ok(server.requests.length - requests.length <= 10)
        assert.equal(server.clock.pending, 0)
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
})
