import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judge, type RetryPolicy, type TargetResult } from '../src/deliver/outcome.ts'
import type { Target } from '../src/notification.ts'
import type { SendResult } from '../src/providers/provider.ts'
import type { ClaimedDelivery } from '../src/store.ts'

const target: Target = { id: 'phone', address: 'token-1' }
const policy: RetryPolicy = {
  attempts: 5,
  backoff: { baseMs: 1_000, factor: 2, longestMs: 60_000 },
  suppressionDays: { bounced: 90, complained: 0 },
  patienceMs: 3_600_000,
}

const fresh: ClaimedDelivery = {
  bucket: 0,
  deliveryId: '01a2029b-a2d9-717a-901e-7ca1d9f10000',
  userId: 'alice',
  channel: 'push',
  event: 'order.shipped',
  critical: false,
  attempt: 1,
  failures: 0,
  crashes: 0,
  sensitive: false,
  message: { targets: [target], body: 'Hello', locale: 'en' } as ClaimedDelivery['message'],
  suppressions: [],
}

interface Call {
  readonly at: number
  readonly provider: string
  readonly result: SendResult
}

/** Plays a delivery through its tries, each at its time, at the provider whose turn it is. */
function play(providers: readonly string[], answers: readonly SendResult[], random: number) {
  const calls: Call[] = []
  let claimed = fresh
  let now = 1_000_000
  const begun = now
  for (let n = 0; n < 10_000; n++) {
    const failed = claimed.message.failedProviders ?? []
    const [provider = ''] = providers.toSorted((a, b) => failed.indexOf(a) - failed.indexOf(b))
    const result = answers[n % answers.length] as SendResult
    calls.push({ at: now, provider, result })
    const results: TargetResult[] = [{ target, provider, result }]
    const hasAnother = (_target: Target, named: readonly string[]) => providers.some((name) => !named.includes(name))
    const { next } = judge(claimed, results, policy, { now, random, hasAnother })
    if (next.kind !== 'again') return { calls, ended: true, tookMs: now - begun }
    const { waitsSince: _since, ...message } = claimed.message
    claimed = { ...claimed, failures: next.failures, message: { ...message, ...next.left } }
    now = next.dueAt
  }
  return { calls, ended: false, tookMs: now - begun }
}

const reason = 'because'
const anyResult: fc.Arbitrary<SendResult> = fc.oneof(
  fc.option(fc.nat(120_000), { nil: undefined }).map(
    (retryAfterMs): SendResult => ({
      kind: 'rate_limited',
      reason,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }),
  ),
  fc.constantFrom<SendResult>(
    { kind: 'transient', reason },
    { kind: 'transient', reason, retryAfterMs: 30_000 },
    { kind: 'ambiguous', reason },
    { kind: 'misconfigured', reason },
  ),
)
const anyPlay = fc.tuple(
  fc.constantFrom(['a'], ['a', 'b'], ['a', 'b', 'c']),
  fc.array(anyResult, { minLength: 1, maxLength: 12 }),
  fc.double({ min: 0, max: 0.999, noNaN: true }),
)
const burning = new Set<SendResult['kind']>(['transient', 'ambiguous'])

test('every sequence of failures ends, after no more attempts and no longer patience than there are', () => {
  fc.assert(
    fc.property(anyPlay, ([providers, answers, random]) => {
      const { calls, ended, tookMs } = play(providers, answers, random)
      assert.ok(ended, 'it goes on for ever')
      assert.ok(calls.filter(({ result }) => burning.has(result.kind)).length <= policy.attempts)
      assert.ok(tookMs <= (policy.attempts + 1) * (policy.patienceMs + 180_000), `it took ${tookMs} ms`)
      assert.ok(calls.length <= (policy.attempts + 1) * 80, `${calls.length} calls`)
    }),
  )
})

test('a provider that is asked again at once is given the pause it asked for, and a second at the least', () => {
  fc.assert(
    fc.property(anyPlay, ([providers, answers, random]) => {
      const { calls } = play(providers, answers, random)
      for (const [n, { at, provider, result }] of calls.entries()) {
        const next = calls[n + 1]
        if (next?.provider !== provider || burning.has(result.kind)) continue
        const asked = result.kind === 'rate_limited' ? (result.retryAfterMs ?? 60_000) : 2_000
        assert.ok(next.at - at >= Math.max(1_000, asked), `${provider} was asked again after ${next.at - at} ms`)
      }
    }),
  )
})
