import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SendResult } from '@gatehouse/providers'
import fc from 'fast-check'
import { anyPlay, type Call, countedKinds, limited, play, playBegins, policy, reason } from '../support/play.ts'

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

test('every sequence of results ends within the attempts and the patience of the policy', async () => {
  await fc.assert(
    fc.asyncProperty(anyPlay, async (anyOf) => {
      const { calls, end, endedAt } = await play(anyOf)
      const tookMs = endedAt - playBegins
      assert.ok(end === 'done' || end === 'dead', end)
      assert.ok(calls.filter(({ result }) => countedKinds.has(result.kind)).length <= policy.attempts)
      assert.ok(tookMs <= (policy.attempts + 1) * (policy.patienceMs + 180_000), `it took ${tookMs} ms`)
      assert.ok(calls.length <= (policy.attempts + 1) * 80 * anyOf.providers.length, `${calls.length} calls`)
    }),
  )
})

test('no sequence of results has a provider called before the end of its pause', async () => {
  const answers = [limited(120_000), limited(6_000), { kind: 'accepted' } as const]
  await fc.assert(
    fc.asyncProperty(anyPlay, async (anyOf) => {
      const { calls } = await play(anyOf)
      assert.deepEqual(tooEarly(calls), [])
    }),
    {
      numRuns: 500,
      examples: [[{ providers: ['a', 'b'], answers, random: 0, restarts: true }]],
    },
  )
})

test('a delivery is due when the first of its providers is free, not when the last one is', async () => {
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
      calls.map(({ provider, at }) => [provider, at - playBegins]),
      expected,
    )
  }
})

test('a provider that keeps asking for short pauses gives way to the next one', async () => {
  const answers = [0, 0, 0, 0].map(limited)
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
