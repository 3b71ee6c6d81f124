import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import fc from 'fast-check'
import { type Carriers, createCarriers } from '../src/deliver/carriers.ts'
import { judge, noProvider, type RetryPolicy, type TargetResult } from '../src/deliver/outcome.ts'
import { withoutCarrier } from '../src/deliver/refusal.ts'
import type { Target } from '../src/notification.ts'
import { defaultOptions } from '../src/options.ts'
import type { Provider, SendResult } from '../src/providers/provider.ts'
import type { ClaimedDelivery, ProviderHealth } from '../src/store.ts'

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

/** No breaker is ever open. */
const allHealthy: ProviderHealth = {
  open: async () => new Map(),
  report: async () => false,
  probe: async () => false,
}

/** The channel as a process that was just started knows it: nothing of what providers answered before. */
function startProcess(names: readonly string[], clock: ManualClock): Carriers {
  const providers = names.map((name): Provider => ({ name, channel: 'push', timeoutMs: 1_000, send: async () => [] }))
  return createCarriers(providers, allHealthy, defaultOptions.breaker, clock)
}

interface Play {
  readonly providers: readonly string[]
  readonly answers: readonly SendResult[]
  readonly random: number
  /** Whether another process takes the delivery at each of its attempts. */
  readonly restarts: boolean
}

/** Plays a delivery through its attempts, each when it is due, as a worker does. */
async function play({ providers, answers, random, restarts }: Play) {
  const calls: Call[] = []
  const clock = manualClock(1_000_000)
  const begun = clock.now()
  let carriers = startProcess(providers, clock)
  let claimed = fresh
  for (let n = 0; n < 10_000; n++) {
    if (restarts) carriers = startProcess(providers, clock)
    const carrier = carriers.choose(target, claimed.message) ?? (await carriers.probe(target, claimed.message))
    const results: TargetResult[] = []
    if (carrier.kind === 'provider') {
      const { provider } = carrier
      const result = answers[calls.length % answers.length] as SendResult
      calls.push({ at: clock.now(), provider: provider.name, result })
      await carriers.seen(provider, [result])
      results.push({ target, provider: provider.name, result })
    } else results.push({ target, provider: noProvider, result: withoutCarrier(carrier, 'push', clock.now()) })
    const context = { now: clock.now(), random, availability: carriers.availability }
    const { next } = judge(claimed, results, policy, context)
    if (next.kind !== 'again') return { calls, ended: true, tookMs: clock.now() - begun }
    const message = JSON.parse(JSON.stringify({ ...claimed.message, ...next.left }))
    claimed = { ...claimed, failures: next.failures, message }
    clock.set(next.dueAt)
  }
  return { calls, ended: false, tookMs: clock.now() - begun }
}

const reason = 'because'
const pause = fc.option(fc.nat(120_000), { nil: undefined })
const anyResult: fc.Arbitrary<SendResult> = fc.oneof(
  fc.tuple(pause, fc.boolean()).map(
    ([retryAfterMs, pauses]): SendResult => ({
      kind: 'rate_limited',
      reason,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(pauses ? { pauses } : {}),
    }),
  ),
  fc.nat(120_000).map((retryAfterMs): SendResult => ({ kind: 'transient', reason, retryAfterMs })),
  fc.constantFrom<SendResult>(
    { kind: 'transient', reason },
    { kind: 'ambiguous', reason },
    { kind: 'misconfigured', reason },
    { kind: 'accepted' },
    { kind: 'permanent', code: '550', reason },
  ),
)
const anyPlay = fc.record({
  providers: fc.constantFrom(['a'], ['a', 'b'], ['a', 'b', 'c']),
  answers: fc.array(anyResult, { minLength: 1, maxLength: 12 }),
  random: fc.double({ min: 0, max: 0.999, noNaN: true }),
  restarts: fc.boolean(),
})
const burning = new Set<SendResult['kind']>(['transient', 'ambiguous'])

/** The pause that an answer asks for, a second where it counts no attempt. */
function pauseOf({ result }: Call): number {
  if (result.kind === 'transient') return result.retryAfterMs ?? 0
  if (result.kind === 'rate_limited') return Math.max(1_000, result.retryAfterMs ?? 60_000)
  return result.kind === 'misconfigured' ? 2_000 : 0
}

/** The calls that came before the end of a pause which their provider had asked for. */
function tooEarly(calls: readonly Call[]): string[] {
  return calls.flatMap(({ at, provider }, index) =>
    calls
      .slice(0, index)
      .filter((before) => before.provider === provider && at < before.at + pauseOf(before))
      .map((before) => `${provider} ${at - before.at} ms after it had asked for ${pauseOf(before)}`),
  )
}

test('every sequence of answers ends, after no more attempts and no longer patience than there are', async () => {
  await fc.assert(
    fc.asyncProperty(anyPlay, async (given) => {
      const { calls, ended, tookMs } = await play(given)
      assert.ok(ended, 'it goes on for ever')
      assert.ok(calls.filter(({ result }) => burning.has(result.kind)).length <= policy.attempts)
      assert.ok(tookMs <= (policy.attempts + 1) * (policy.patienceMs + 180_000), `it took ${tookMs} ms`)
      assert.ok(calls.length <= (policy.attempts + 1) * 80 * given.providers.length, `${calls.length} calls`)
    }),
  )
})

test('over any sequence of answers no provider is called before the end of its pause, in whatever process', async () => {
  const other: SendResult = { kind: 'rate_limited', reason, retryAfterMs: 6_000 }
  const long: SendResult = { kind: 'rate_limited', reason, retryAfterMs: 120_000 }
  await fc.assert(
    fc.asyncProperty(anyPlay, async (given) => {
      const { calls } = await play(given)
      assert.deepEqual(tooEarly(calls), [])
    }),
    {
      numRuns: 500,
      examples: [[{ providers: ['a', 'b'], answers: [long, other, { kind: 'accepted' }], random: 0, restarts: true }]],
    },
  )
})

test('a delivery is due when the first of its providers is free, not when the last one is', async () => {
  const limited = (retryAfterMs: number): SendResult => ({ kind: 'rate_limited', reason, retryAfterMs })
  for (const [answers, expected] of [
    [
      [limited(120_000), limited(6_000), { kind: 'accepted' }],
      [
        ['a', 0],
        ['b', 1_000],
        ['b', 7_000],
      ],
    ],
    [
      [limited(6_000), limited(120_000), { kind: 'accepted' }],
      [
        ['a', 0],
        ['b', 1_000],
        ['a', 6_000],
      ],
    ],
    [
      [limited(3_000), { kind: 'accepted' }],
      [
        ['a', 0],
        ['a', 3_000],
      ],
    ],
    [
      [{ kind: 'transient', reason, retryAfterMs: 90_000 }, { kind: 'accepted' }],
      [
        ['a', 0],
        ['b', 0],
      ],
    ],
  ] as ReadonlyArray<[SendResult[], unknown[]]>) {
    const { calls } = await play({ providers: ['a', 'b'], answers, random: 0, restarts: true })
    assert.deepEqual(
      calls.map(({ provider, at }) => [provider, at - 1_000_000]),
      expected,
    )
  }
})

test('a provider that asks again and again for a short pause gives way to the next one', async () => {
  const answers: SendResult[] = [0, 0, 0, 0].map((retryAfterMs) => ({ kind: 'rate_limited', reason, retryAfterMs }))
  const { calls } = await play({
    providers: ['a', 'b'],
    answers: [...answers, { kind: 'accepted' }],
    random: 0,
    restarts: false,
  })
  assert.deepEqual(
    calls.map(({ provider }) => provider),
    ['a', 'a', 'a', 'a', 'b'],
  )
})
