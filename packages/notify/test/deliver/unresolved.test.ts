import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SendResult } from '@gatehouse/providers'
import fc from 'fast-check'
import type { RecordResult } from '../../src/store/store.ts'
import { anyPlay, anyResult, type Call, fresh, limited, play, playBegins } from '../support/play.ts'
import { claimDue } from '../support/processes/claims.ts'
import { createSmsProviders } from '../support/providers/sms-providers.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const ambiguous: SendResult = { kind: 'ambiguous', reason: 'no answer' }
const accepted: SendResult = { kind: 'accepted' }
const unavailable: SendResult = { kind: 'transient', reason: '503' }
const noneAccepted: SendResult = { ...unavailable, noneAccepted: true }
const text = { event: 'code', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['sms'] }
const backoff = { baseMs: 10, factor: 1, maxMs: 10 }

const provides = fc.oneof({ weight: 2, arbitrary: anyResult }, fc.constantFrom(ambiguous, noneAccepted))
const anyBreakers = fc.array(
  fc
    .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(120_000), fc.integer({ min: 1, max: 600_000 }))
    .map(([provider, after, forMs]) => ({
      provider,
      from: playBegins + after,
      until: playBegins + after + forMs,
    })),
  { maxLength: 6 },
)

/** Calls of a provider while it was open whether another one had accepted the message. */
function calledBeside(calls: readonly Call[]): string[] {
  let unresolved: string | undefined
  return calls.flatMap(({ provider, result }) => {
    const found = unresolved !== undefined && provider !== unresolved ? [`${provider} beside ${unresolved}`] : []
    if (result.kind === 'ambiguous') unresolved = provider
    else if ('noneAccepted' in result && result.noneAccepted) unresolved = undefined
    return found
  })
}

test('no other provider is called while one may have accepted the message, over any history', async () => {
  const message = { ...fresh.message, failoverOnTimeout: false } as const
  await fc.assert(
    fc.asyncProperty(
      anyPlay,
      fc.array(provides, { minLength: 1, maxLength: 12 }),
      anyBreakers,
      async (plan, answers, breakers) => {
        const { calls, end } = await play({ ...plan, answers, breakers, delivery: { message } })
        assert.deepEqual(calledBeside(calls), [])
        assert.notEqual(end, 'endless')
      },
    ),
    {
      numRuns: 500,
      examples: [
        [{ providers: ['a', 'b'], answers: [], random: 0, restarts: true }, [ambiguous, unavailable, accepted], []],
        [{ providers: ['a', 'b'], answers: [], random: 0, restarts: true }, [ambiguous, limited(60_000), accepted], []],
        [
          { providers: ['a', 'b'], answers: [], random: 0, restarts: true },
          [ambiguous, accepted],
          [{ provider: 'a', from: playBegins + 1, until: playBegins + 60_000 }],
        ],
      ],
    },
  )
})

test('a message that may have been sent fails over once its provider denies accepting it', async () => {
  const message = { ...fresh.message, failoverOnTimeout: false } as const
  const answers = [ambiguous, unavailable, noneAccepted, accepted]
  const { calls } = await play({ providers: ['a', 'b'], answers, random: 0, restarts: true, delivery: { message } })
  assert.deepEqual(
    calls.map(({ provider }) => provider),
    ['a', 'a', 'a', 'b'],
  )
})

/** A critical event type, and a way to let time pass until its only delivery is `sent` or ended as `state` says. */
async function critical(s: Setup, settings: object = {}) {
  await seedEventType(s, 'code', { priority: 'critical', ...settings })
  const { body } = await s.call('POST', '/v1/notify', text)
  return (state: string, stepMs = 250) =>
    eventually(
      async () => {
        s.clock.advance(stepMs)
        return (await s.call('GET', `/v1/notifications/${body.id}`)).body.deliveries[0]
      },
      (delivery) => delivery.state === state || delivery.ended === state,
    )
}

const refusals: readonly [what: string, result: SendResult][] = [
  ['503', unavailable],
  ['a request to wait for a minute', limited(60_000)],
  ['a refusal of our credentials', { kind: 'misconfigured', reason: '401' }],
]
for (const [what, result] of refusals)
  test(`a critical SMS that may have been sent stays with its provider after ${what}`, async (t) => {
    const { order, providers } = createSmsProviders({ first: [ambiguous, result, accepted], second: [accepted] })
    const s = await setup({ providers: { sms: providers }, options: { backoff } })
    t.after(s.close)
    const until = await critical(s)
    await until('sent', 5_000)
    assert.deepEqual(order, ['first', 'first', 'first'])
  })

test('a critical SMS that may have been sent waits while the breaker of its provider is open', async (t) => {
  const { order, providers } = createSmsProviders({ first: [ambiguous, accepted], second: [accepted] })
  const breaker = { windowMs: 60_000, minCalls: 1, failureRate: 0.1, openMs: 60_000, maxOpenMs: 60_000 }
  const s = await setup({ providers: { sms: providers }, options: { backoff, breaker } })
  t.after(s.close)
  const begun = s.clock.now()
  await (await critical(s))('sent')
  assert.deepEqual(order, ['first', 'first'])
  assert.ok(s.clock.now() - begun >= 60_000)
})

test('a message that waits for its unresolved provider expires on time', async (t) => {
  const { order, providers } = createSmsProviders({ first: [ambiguous], second: [accepted] })
  const breaker = { windowMs: 600_000, minCalls: 1, failureRate: 0.1, openMs: 600_000, maxOpenMs: 600_000 }
  const s = await setup({ providers: { sms: providers }, options: { backoff, breaker } })
  t.after(s.close)
  const begun = s.clock.now()
  await (await critical(s, { ttl_seconds: 60 }))('expired')
  assert.deepEqual(order, ['first'])
  assert.ok(s.clock.now() - begun < 300_000, 'it ended before the breaker lets a probe through')
})

test('a replayed critical SMS goes to the provider that may have sent it already', async (t) => {
  const { order, providers, retried } = createSmsProviders({
    first: [ambiguous, unavailable, accepted],
    second: [accepted],
  })
  const s = await setup({ providers: { sms: providers }, options: { backoff, attempts: 2 } })
  t.after(s.close)
  const until = await critical(s)
  await until('dead_letter')
  await s.call('POST', '/v1/dead-letters/replay', { cause: 'attempts_exhausted' })
  await until('sent')
  assert.deepEqual(order, ['first', 'first', 'first'])
  assert.deepEqual(retried, [false, true, true], 'its provider is asked to look for the earlier ones')
})

test('a replay remembers which provider may have sent its dead letter in the last attempt', async (t) => {
  const { order, providers } = createSmsProviders({ first: [unavailable, accepted], second: [ambiguous, accepted] })
  const s = await setup({ providers: { sms: providers }, options: { backoff, attempts: 2 } })
  t.after(s.close)
  const until = await critical(s)
  await until('dead_letter')
  await s.call('POST', '/v1/dead-letters/replay', { cause: 'attempts_exhausted' })
  await until('sent')
  assert.deepEqual(order, ['first', 'second', 'second'])
})

test('a replay honours the pause that a provider asked for in the last attempt', async (t) => {
  const pausing: SendResult = { ...unavailable, retryAfterMs: 600_000 } as SendResult
  const { order, providers } = createSmsProviders({ first: [pausing, accepted], second: [accepted] })
  const s = await setup({ providers: { sms: providers }, options: { backoff, attempts: 1 } })
  t.after(s.close)
  const until = await critical(s)
  await until('dead_letter')
  await s.call('POST', '/v1/dead-letters/replay', { cause: 'attempts_exhausted' })
  await until('sent')
  assert.deepEqual(order, ['first', 'second'])
})

test('a critical SMS whose process died during the call does not go to another provider', async (t) => {
  const crashing = createSmsProviders({ first: [accepted], second: [accepted] })
  const before = await setup({ providers: { sms: crashing.providers }, options: { leaseMs: 5_000 } })
  const { store, database, clock } = before
  await before.notify.stop()
  const { promise, resolve } = Promise.withResolvers<RecordResult>()
  const dead = { ...store, deliveries: { ...store.deliveries, record: () => promise } }
  const dying = await setup({ providers: { sms: crashing.providers }, store: dead, database, clock })
  t.after(async () => {
    resolve({ late: 0, deadDevices: [], failed: new Map() })
    await dying.notify.stop()
    await before.close()
  })
  await seedEventType(dying, 'code', { priority: 'critical' })
  await dying.call('POST', '/v1/notify', text)
  await eventually(
    async () => clock.advance(50),
    () => crashing.order.length === 1,
  )
  await database.query("UPDATE notify.delivery_queue SET lease_until = now() - interval '1 second'")
  const [claimed] = await claimDue(store.deliveries, {
    buckets: [await bucketOf(database)],
    channel: 'sms',
    leaseMs: 5_000,
    now: clock.now(),
  })
  assert.deepEqual(claimed?.message.unresolved, { sms: 'first' })
})

async function bucketOf(database: Setup['database']): Promise<number> {
  const { rows } = await database.query<{ bucket: number }>('SELECT bucket FROM notify.delivery_queue')
  return rows[0]?.bucket ?? assert.fail('no delivery waits')
}
