import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProviderPool } from '../../src/deliver/providers/provider-pool.ts'
import type { Provider, SendResult } from '../../src/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const mail = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
const accepted: SendResult = { kind: 'accepted' }
const broken: SendResult = { kind: 'transient', reason: 'the provider answered 503' }
const breaker = { windowMs: 60_000, minCalls: 5, failureRate: 0.5, openMs: 60_000, maxOpenMs: 600_000 }
const options = { breaker, caps: { total: 999, channels: {}, priorities: {} } }

/** The two providers of email as one process has them, and the calls each got. */
function pair(first: () => SendResult) {
  const calls = { first: 0, second: 0 }
  const provider = (name: 'first' | 'second', answer: () => SendResult): Provider => ({
    name,
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      calls[name] += messages.length
      return messages.map(answer)
    },
  })
  return { calls, providers: { email: [provider('first', first), provider('second', () => accepted)] } }
}

async function sent(s: Setup, count: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, () => s.call('POST', '/v1/notify', mail)))
  for (const { body } of answers)
    await eventually(
      async () => {
        s.clock.advance(500)
        return s.call('GET', `/v1/notifications/${body.id}`)
      },
      (answer) => answer.body.deliveries[0].state === 'sent',
    )
}

test('a breaker that one process opened is open for another, which probes and closes it', async (t) => {
  let isHealthy = false
  const [ours, theirs] = [pair(() => (isHealthy ? accepted : broken)), pair(() => (isHealthy ? accepted : broken))]
  const one = await setup({ providers: ours.providers, options })
  t.after(one.close)
  await seedEventType(one)
  await sent(one, 10)
  assert.equal(ours.calls.second, 10)
  await one.notify.stop()

  const other = await setup({ database: one.database, clock: one.clock, providers: theirs.providers, options })
  t.after(() => other.notify.stop())
  const { rows } = await one.database.query<{ open_until: number }>(
    "SELECT open_until FROM notify.provider_health WHERE provider = 'first'",
  )
  one.clock.set((rows[0]?.open_until ?? 0) - 30_000)
  await sent(other, 3)
  assert.deepEqual(theirs.calls, { first: 0, second: 3 }, 'it read it from the store')

  isHealthy = true
  one.clock.set(rows[0]?.open_until ?? 0)
  await sent(other, 5)
  assert.ok(theirs.calls.first >= 1, 'it probed')
  const closed = await one.database.query("SELECT open_until FROM notify.provider_health WHERE provider = 'first'")
  assert.deepEqual(closed.rows, [{ open_until: null }])
  const before = { ...theirs.calls }
  await sent(other, 5)
  assert.deepEqual(theirs.calls, { first: before.first + 5, second: before.second })
})

test('a failed probe keeps the breaker open twice as long; the other provider sends its message', async (t) => {
  const { calls, providers } = pair(() => broken)
  const s = await setup({ providers, options })
  t.after(s.close)
  await seedEventType(s)
  await sent(s, 10)
  const openUntil = async () => {
    const { rows } = await s.database.query<{ open_until: number }>(
      "SELECT open_until FROM notify.provider_health WHERE provider = 'first'",
    )
    return rows[0]?.open_until ?? assert.fail('it is closed')
  }
  s.clock.set(await openUntil())
  const probedAt = s.clock.now()
  const before = calls.first
  await sent(s, 1)
  assert.equal(calls.first, before + 1, 'one call probed')
  assert.ok((await openUntil()) - probedAt >= 2 * breaker.openMs)
})

test('a breaker that opened while the clock was ahead is probed once the clock is right', async (t) => {
  let isHealthy = false
  const hour = 3_600_000
  const { calls, providers } = pair(() => (isHealthy ? accepted : broken))
  const s = await setup({ providers, options })
  t.after(s.close)
  await seedEventType(s)
  const start = s.clock.now()
  s.clock.set(start + hour)
  await sent(s, 10)
  s.clock.set(start + hour / 2)
  isHealthy = true
  const before = calls.first
  await eventually(
    async () => {
      await s.call('POST', '/v1/notify', mail)
      return calls.first
    },
    (probed) => probed > before,
  )
  await eventually(
    () => s.database.query("SELECT open_until FROM notify.provider_health WHERE provider = 'first'"),
    ({ rows }) => (rows[0] as { open_until: number | null }).open_until === null,
  )
})

const ofAddress: SendResult = { kind: 'ambiguous', ofAddress: true, reason: 'closed' }
for (const result of [accepted, ofAddress])
  test(`a provider that the management paused is found so while every call is ${result.kind}`, async (t) => {
    const s = await setup({ work: false })
    t.after(s.close)
    const provider: Provider = { name: 'first', channel: 'email', timeoutMs: 1_000, send: async () => [accepted] }
    const pool = new ProviderPool([provider], s.store.providerHealth, breaker, s.clock)
    await pool.refresh()
    await s.store.providerPauses.set('first', s.clock.now() + 60_000, s.clock.now())
    await eventually(
      async () => {
        await pool.reportResults(provider, [result])
        return pool.isPaused(provider)
      },
      (isPaused) => isPaused,
    )
  })

test('a pause that a provider asked for does not end with a shorter one', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  const provider: Provider = { name: 'first', channel: 'email', timeoutMs: 1_000, send: async () => [accepted] }
  const pool = new ProviderPool([provider], s.store.providerHealth, breaker, s.clock)
  const limitedFor = (retryAfterMs: number): SendResult => ({
    kind: 'rate_limited',
    retryAfterMs,
    accountWide: true,
    reason: 'too many',
  })
  for (const retryAfterMs of [60_000, 2_000]) await pool.reportResults(provider, [limitedFor(retryAfterMs)])
  s.clock.advance(30_000)
  assert.ok(pool.isPaused(provider))
  s.clock.advance(30_000)
  assert.ok(!pool.isPaused(provider))
})

test('a pause from a clock that was ahead ends within the longest one after it is set back', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  const provider: Provider = { name: 'first', channel: 'email', timeoutMs: 1_000, send: async () => [accepted] }
  const pool = new ProviderPool([provider], s.store.providerHealth, breaker, s.clock)
  const limited: SendResult = { kind: 'rate_limited', retryAfterMs: 60_000, accountWide: true, reason: 'too many' }
  const right = s.clock.now()
  s.clock.set(right + 86_400_000)
  await pool.reportResults(provider, [limited])
  s.clock.set(right)
  assert.ok(pool.isPaused(provider))
  s.clock.advance(300_000)
  assert.ok(!pool.isPaused(provider))
  s.clock.set(right + 86_400_000)
  assert.ok(!pool.isPaused(provider), 'it does not come back')
})
