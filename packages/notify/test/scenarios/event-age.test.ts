import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '@gatehouse/kit'
import type { Provider } from '../../src/index.ts'
import {
  begun,
  code,
  minute,
  readData,
  readNotification,
  setupCodes,
  ttl_seconds,
  ttlMs,
} from '../support/expiring-codes.ts'
import { eventually, seedEventType } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

test('the age of a scheduled event counts from its due time, however late it fires', async (t) => {
  for (const [lateMs, expected] of [
    [ttlMs - minute, 'queued'],
    [ttlMs, 'expired'],
  ] as const) {
    const { s, clock, calls, start } = await setupCodes(t, { work: false })
    await s.call('POST', '/v1/scheduled', { fire_at: new Date(begun + minute).toISOString(), payload: code })
    clock.advance(minute + lateMs)
    await start()
    const [{ id } = assert.fail()] = await eventually(
      async () => (await s.database.query<{ id: string }>('SELECT id FROM notify.notification')).rows,
      ({ length }) => length === 1,
    )
    const { deliveries, expires_at } = await readNotification(s, id)
    assert.equal(expires_at, new Date(begun + minute + ttlMs).toISOString())
    assert.equal(deliveries[0].outcome, expected)
    if (expected === 'queued')
      await eventually(
        async () => calls.length,
        (count) => count === 1,
      )
    else assert.deepEqual([calls, await readData(s)], [[], [{ data: null }]])
  }
})

test('the age of a topic event counts from its publication, also while it is parked', async (t) => {
  const { topic, deliver } = createManualTopic()
  const { s, clock, calls } = await setupCodes(t, { topic }, { rate_limit: { limit: 1, per_seconds: 600 } })
  const outcomes = async () => {
    const { rows } = await s.database.query<{ id: string }>('SELECT id FROM notify.notification ORDER BY id')
    const found = await Promise.all(rows.map(({ id }) => readNotification(s, id)))
    return found.map(({ deliveries }) => deliveries[0].outcome)
  }
  await deliver(1, code, begun - ttlMs)
  assert.deepEqual(await outcomes(), ['expired'])
  await deliver(2, code, begun + 1_000_000)
  clock.advance(10 * minute)
  await eventually(outcomes, ({ length }) => length === 2)
  assert.deepEqual([await outcomes(), calls], [['expired', 'expired'], []])
})

test('the age of a replayed topic message without an event type counts from its dead letter', async (t) => {
  const { topic, deliver } = createManualTopic()
  const { s, clock, calls } = await setupCodes(t, { topic })
  await deliver(1, { ...code, event: 'sms.code' }, begun)
  await seedEventType(s, 'sms.code', { ttl_seconds })
  clock.advance(ttlMs)
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', {})).body.replayed, 1)
  const [{ id } = assert.fail()] = await eventually(
    async () => (await s.database.query<{ id: string }>('SELECT id FROM notify.notification')).rows,
    ({ length }) => length === 1,
  )
  assert.deepEqual([(await readNotification(s, id)).deliveries[0].outcome, calls], ['expired', []])
})

test('expired items of a pending set are left out when it is flushed', async (t) => {
  const metrics = createMetrics()
  const aggregation = { actor: 'order_id', threshold: 1 }
  const { s, clock, calls, provider, start } = await setupCodes(
    t,
    { work: false },
    { priority: 'normal', aggregation, ttl_seconds: 600 },
  )
  const like = async (order_id: string): Promise<string> =>
    (await s.call('POST', '/v1/notify', { ...code, data: { order_id } })).body.id
  const early = [await like('ann'), await like('bob')]
  clock.advance(9 * minute)
  const late = [await like('cid'), await like('dan'), await like('eve')]
  clock.advance(minute)
  const bodies: string[] = []
  const noting: Provider = {
    ...provider,
    send(messages, signal) {
      bodies.push(...messages.map(({ content }) => content.body))
      return provider.send(messages, signal)
    },
  }
  await s.call('PUT', `/v1/templates/${code.event}/email/en`, {
    subject: 'x',
    body: '{{ count }}: {{ actors | join: "," }}',
  })
  await start({ providers: { email: [noting] }, metrics })
  await eventually(
    async () => calls.length,
    (count) => count > 0,
  )
  assert.deepEqual(bodies, ['3: cid,dan,eve'])
  for (const id of early) assert.equal((await readNotification(s, id)).deliveries[0].outcome, 'expired')
  for (const id of late) assert.equal((await readNotification(s, id)).timeline.at(-1).what, 'combined')
  const { rows } = await s.database.query<{ expires_at: number }>(
    "SELECT expires_at FROM notify.notification WHERE decisions::text LIKE '%aggregation%'",
  )
  assert.deepEqual(rows, [{ expires_at: begun + 19 * minute }], 'it expires with the first of its items')
  const counter = await metrics.getSingleMetric('notify_expired_total')?.get()
  assert.deepEqual(counter?.values, [{ labels: { channel: 'email' }, value: 2 }])
})
