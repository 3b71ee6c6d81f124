import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import type { Provider, SendResult } from '../../src/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const accepted: SendResult = { kind: 'accepted' }
const backoff = { baseMs: 10, factor: 1, maxMs: 10 }
const mail = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
const text = { ...mail, channels: ['sms'] }

/** A provider of a channel that answers as the test says, and the calls it got. */
function provider(name: string, answer: () => SendResult, channel: 'email' | 'sms' = 'email') {
  const calls: string[] = []
  const made: Provider = {
    name,
    channel,
    timeoutMs: 1_000,
    async send(messages) {
      calls.push(...messages.map(({ id }) => id))
      return messages.map(answer)
    },
  }
  return { calls, made }
}

/** Lets time pass until the notification's only delivery is in `state`; answers the delivery. */
async function until(s: Setup, id: string, state: string) {
  return eventually(
    async () => {
      s.clock.advance(250)
      return (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries[0]
    },
    (delivery) => delivery.state === state || delivery.ended === state,
  )
}

const failures: readonly [what: string, result: SendResult][] = [
  ['refuses the connection', { kind: 'transient', reason: 'connect ECONNREFUSED' }],
  ['does not answer', { kind: 'ambiguous', reason: 'no answer' }],
  ['refuses our credentials', { kind: 'misconfigured', reason: '401' }],
  ['asks for a minute for this recipient', { kind: 'rate_limited', retryAfterMs: 60_000, reason: '429' }],
]
for (const [what, result] of failures)
  test(`a mail whose provider ${what} goes to the next one at its next attempt`, async (t) => {
    const [first, second] = [provider('first', () => result), provider('second', () => accepted)]
    const s = await setup({ providers: { email: [first.made, second.made] }, options: { backoff } })
    t.after(s.close)
    await seedEventType(s)
    const begun = s.clock.now()
    const { body } = await s.call('POST', '/v1/notify', mail)
    const { provider: by } = await until(s, body.id, 'sent')
    assert.deepEqual([first.calls.length, second.calls.length, by], [1, 1, 'second'])
    assert.ok(s.clock.now() - begun < 30_000, 'it did not wait for the first one')
  })

test('a delivery whose providers all fail goes to each in turn until its attempts are used up', async (t) => {
  const broken: SendResult = { kind: 'transient', reason: '503' }
  const order: string[] = []
  const [first, second] = ['first', 'second'].map((name) =>
    provider(name, () => {
      order.push(name)
      return broken
    }),
  ) as [ReturnType<typeof provider>, ReturnType<typeof provider>]
  const s = await setup({ providers: { email: [first.made, second.made] }, options: { backoff } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', mail)
  await until(s, body.id, 'dead_letter')
  assert.deepEqual(order, ['first', 'second', 'first', 'second', 'first'])
})

test('a critical SMS that may have been sent stays with its provider unless failover is allowed', async (t) => {
  for (const [settings, expected] of [
    [{}, ['first', 'first']],
    [{ failover_on_timeout: true }, ['first', 'second']],
  ] as const) {
    const order: string[] = []
    const first = provider(
      'first',
      () => {
        order.push('first')
        return order.length === 1 ? { kind: 'ambiguous', reason: 'no answer' } : accepted
      },
      'sms',
    )
    const second = provider(
      'second',
      () => {
        order.push('second')
        return accepted
      },
      'sms',
    )
    const s = await setup({ providers: { sms: [first.made, second.made] }, options: { backoff } })
    t.after(s.close)
    await seedEventType(s, 'order.shipped', { priority: 'critical', ...settings })
    const { body } = await s.call('POST', '/v1/notify', text)
    await until(s, body.id, 'sent')
    assert.deepEqual(order, expected)
  }
})

test('a provider that keeps asking for an immediate retry is called ever more rarely', async (t) => {
  const always = provider('always', () => ({ kind: 'rate_limited', retryAfterMs: 0, reason: '429' }))
  const s = await setup({ providers: { email: [always.made] }, options: { patienceMs: 600_000 } })
  t.after(s.close)
  await seedEventType(s)
  const begun = s.clock.now()
  const { body } = await s.call('POST', '/v1/notify', mail)
  const delivery = await eventually(
    async () => {
      s.clock.advance(5_000)
      return (await s.call('GET', `/v1/notifications/${body.id}`)).body.deliveries[0]
    },
    ({ ended }) => ended === 'dead_letter',
  )
  assert.equal(delivery.state, 'queued')
  assert.ok(always.calls.length <= 20, `${always.calls.length} calls in ten minutes`)
  assert.ok(s.clock.now() - begun >= 480_000)
  const { body: letters } = await s.call('GET', '/v1/dead-letters?cause=waited_too_long')
  assert.equal(letters.items.length, 1)
})

test('a replayed dead letter begins with the preferred provider again', async (t) => {
  let works = false
  const answer = (): SendResult => (works ? accepted : { kind: 'transient', reason: '503' })
  const [first, second] = [provider('first', answer), provider('second', answer)]
  const s = await setup({ providers: { email: [first.made, second.made] }, options: { backoff } })
  t.after(s.close)
  await seedEventType(s)
  const { body } = await s.call('POST', '/v1/notify', mail)
  await until(s, body.id, 'dead_letter')
  works = true
  await s.call('POST', '/v1/dead-letters/replay', { cause: 'attempts_exhausted' })
  const { provider: by } = await until(s, body.id, 'sent')
  assert.equal(by, 'first')
})

test('a provider is not called in a pause it asked for, not even by a process started later', async (t) => {
  const calls: string[] = []
  const clock = manualClock()
  const limited = (name: string, retryAfterMs: number) =>
    provider(name, () => {
      calls.push(name)
      return { kind: 'rate_limited', retryAfterMs, reason: '429' }
    }).made
  const providers = { email: [limited('first', 120_000), limited('second', 6_000)] }
  const before = await setup({ providers, clock })
  await seedEventType(before)
  const { body } = await before.call('POST', '/v1/notify', mail)
  await eventually(
    async () => clock.advance(250),
    () => calls.length === 2,
  )
  const timeline = async (s: Setup) => (await s.call('GET', `/v1/notifications/${body.id}`)).body.timeline
  const postponements = async (s: Setup) =>
    (await timeline(s)).filter(({ what }: { what: string }) => what === 'postponed').length
  await eventually(
    () => postponements(before),
    (count) => count === 2,
  )
  await before.notify.stop()
  const after = await setup({ providers, clock, database: before.database })
  t.after(after.close)
  for (let seconds = 0; seconds < 110; seconds++) {
    const due = calls.length
    clock.advance(1_000)
    const { rowCount } = await after.database.query('SELECT 1 FROM notify.delivery_queue WHERE due_at <= $1', [
      new Date(clock.now()).toISOString(),
    ])
    if (rowCount > 0)
      await eventually(
        () => postponements(after),
        (count) => calls.length > due && count === calls.length,
      )
  }
  assert.equal(calls.filter((name) => name === 'first').length, 1)
  assert.ok(calls.length > 3, 'the second one was called meanwhile')
})
