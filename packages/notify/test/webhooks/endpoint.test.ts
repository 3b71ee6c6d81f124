import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createMetrics, manualClock } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import type { Provider, Report } from '../../src/index.ts'
import {
  type DeliveryReport,
  type DeliveryState,
  deliveryReports,
  nextState,
} from '../../src/model/delivery/delivery-state.ts'
import { suppressingOf } from '../../src/model/delivery/suppression.ts'
import { deliveryIdOf, newId } from '../../src/model/id.ts'
import { postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { post, provider, send, setupWebhooks, shipped, stateOf } from '../support/providers/webhook-provider.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

test('a signed webhook raises the state, is in the timeline, and counts once', async (t) => {
  const metrics = createMetrics()
  const s = await setupWebhooks(t, { metrics })
  const { id, deliveryId } = await send(s)
  const report = { eventId: 'e1', deliveryId, report: 'delivered', at: s.clock.now() }
  for (let times = 0; times < 3; times++) assert.equal((await post(s, [report, report])).status, 204)
  const { body } = await s.call('GET', `/v1/notifications/${id}`)
  assert.equal(body.deliveries[0].state, 'delivered')
  assert.equal(body.timeline.filter((e: { what: string }) => e.what === 'delivered').length, 1)
  const text = await metrics.metrics()
  assert.match(text, /notify_webhooks_total\{provider="reporter",outcome="accepted"\} 3\b/)
  assert.match(text, /notify_reports_total\{provider="reporter",report="delivered",outcome="changed"\} 1\b/)
  assert.match(text, /notify_reports_total\{provider="reporter",report="delivered",outcome="duplicate"\} 5\b/)
})

test('webhook reports that are malformed or of unknown deliveries are skipped', async (t) => {
  const s = await setupWebhooks(t)
  const { id, deliveryId } = await send(s)
  const at = s.clock.now()
  const strange = [
    { eventId: 'e1', report: 'delivered', at },
    { eventId: 'e2', deliveryId: 'not-an-id', report: 'delivered', at },
    { eventId: 'e3', deliveryId: deliveryIdOf(newId(0), 'email'), report: 'delivered', at },
    { eventId: 'e4', deliveryId: deliveryIdOf(newId(4_000), 'email'), report: 'delivered', at },
    { eventId: 'e\u0000', deliveryId, report: 'bounced', at },
    { eventId: 'x'.repeat(300), deliveryId, report: 'bounced', at },
  ]
  const fine = { eventId: 'e9', deliveryId, report: 'opened', at: Number.MAX_SAFE_INTEGER, reason: 'a\u0000\ud800b' }
  assert.equal((await post(s, [...strange, fine])).status, 204)
  const { body } = await s.call('GET', `/v1/notifications/${id}`)
  assert.equal(body.deliveries[0].state, 'opened')
  assert.equal(body.timeline.at(-1).at, new Date(at).toISOString(), 'a time that cannot be is now')
  assert.equal(
    (await s.database.query('SELECT 1 FROM notify.timeline_entry WHERE report_key IS NOT NULL')).rows.length,
    1,
  )
})

test('hard bounces and complaints suppress the address; soft bounces do not', async (t) => {
  const s = await setupWebhooks(t)
  const table = [
    ['bounced', true, 'bounced', []],
    ['bounced', false, 'bounced', ['bounced']],
    ['complained', false, 'bounced', ['complained']],
    ['unsubscribed', false, 'sent', ['unsubscribed']],
  ] as const
  for (const [report, soft, state, reasons] of table) {
    const { id, deliveryId } = await send(s)
    const event = { eventId: randomUUID(), deliveryId, report, soft, at: s.clock.now(), reason: 'so it was' }
    assert.equal((await post(s, [event])).status, 204)
    assert.equal(await stateOf(s, id), state, report)
    const { body } = await s.call('GET', '/v1/suppressions')
    const found = body.items.map((each: { reason: string; address: string }) => [each.reason, each.address])
    assert.deepEqual(
      found,
      reasons.map((reason) => [reason, 'alice@example.com']),
    )
    const next = await s.call('POST', '/v1/notify', shipped)
    assert.equal(next.body.deliveries[0].outcome, reasons.length > 0 ? 'undeliverable' : 'queued', report)
    await s.call('DELETE', '/v1/suppressions?user_id=alice&lift_reason=a+test')
  }
})

test('a bounce of a deferred mail, of a fallback or of a replay suppresses its address', async (t) => {
  const push: Provider = {
    name: 'pusher',
    channel: 'push',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'permanent', code: '400', reason: 'no' })),
  }
  const night = Date.parse('2026-06-01T23:00:00Z')
  const s = await setupWebhooks(t, { clock: manualClock(night), providers: { email: [provider], push: [push] } })
  const untilSent = (id: string) =>
    eventually(
      async () => (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries,
      (deliveries) =>
        deliveries.some(
          (each: { channel: string; state: string }) => each.channel === 'email' && each.state === 'sent',
        ),
    )
  const bounceOf = async (id: string) => {
    await untilSent(id)
    const deliveryId = deliveryIdOf(id, 'email')
    await post(s, [{ eventId: randomUUID(), deliveryId, report: 'bounced', soft: false, at: s.clock.now() }])
    const { body } = await s.call('GET', '/v1/suppressions')
    await s.call('DELETE', '/v1/suppressions?user_id=alice&lift_reason=a+test')
    return body.items.map(({ channel, address, reason }: Record<string, string>) => [channel, address, reason])
  }
  const suppressed = [['email', 'alice@example.com', 'bounced']]
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  const { body: deferred } = await s.call('POST', '/v1/notify', shipped)
  assert.equal(deferred.deliveries[0].outcome, 'deferred')
  s.clock.set(Date.parse('2026-06-02T08:00:00Z'))
  assert.deepEqual(await bounceOf(deferred.id), suppressed, 'deferred')
  const { body: pushed } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push'] })
  assert.deepEqual(await bounceOf(pushed.id), suppressed, 'the fallback of a push')
  await s.call('DELETE', '/v1/templates/order.shipped/email/en')
  const { body: failed } = await s.call('POST', '/v1/notify', shipped)
  assert.equal(failed.deliveries[0].outcome, 'failed')
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'x', body: 'repaired' })
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', { cause: 'template' })).body.replayed, 1)
  assert.deepEqual(await bounceOf(failed.id), suppressed, 'planned again by a replay')
})

test('a report before the recorded acceptance ends the delivery and removes sensitive data', async (t) => {
  let answer: (() => void) | undefined
  const slow: Provider = {
    ...provider,
    timeoutMs: 10_000,
    async send(messages) {
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setup({ providers: { email: [slow] } })
  t.after(s.close)
  await seedEventType(s, 'order.shipped', { sensitive: true })
  const { body } = await s.call('POST', '/v1/notify', shipped)
  await eventually(
    async () => answer,
    (waiting) => waiting !== undefined,
  )
  await post(s, [{ eventId: 'e1', deliveryId: body.deliveries[0].id, report: 'delivered', at: s.clock.now() }])
  answer?.()
  assert.equal(await stateOf(s, body.id), 'delivered')
  const { rows } = await s.database.query('SELECT data FROM notify.notification')
  assert.deepEqual(rows, [{ data: null }])
})

test('a report after a delivery became a dead letter removes the dead letter', async (t) => {
  const silent: Provider = {
    ...provider,
    send: async (messages) => messages.map(() => ({ kind: 'ambiguous', reason: 'no answer' })),
  }
  const s = await setup({ providers: { email: [silent] } })
  t.after(s.close)
  await seedEventType(s, 'order.shipped', { sensitive: true })
  const { body } = await s.call('POST', '/v1/notify', shipped)
  const [{ id: deliveryId }] = body.deliveries
  const record = async () => (await s.call('GET', `/v1/notifications/${body.id}`)).body.deliveries[0]
  await eventually(
    async () => {
      s.clock.advance(60_000)
      return record()
    },
    ({ ended }) => ended === 'dead_letter',
  )
  await post(s, [{ eventId: 'e1', deliveryId, report: 'unsubscribed', at: s.clock.now() }])
  assert.equal((await record()).ended, 'dead_letter', 'a report that changes no state changes nothing')
  await post(s, [{ eventId: 'e2', deliveryId, report: 'delivered', at: s.clock.now() }])
  const after = await record()
  assert.deepEqual([after.state, after.ended], ['delivered', undefined])
  assert.deepEqual((await s.call('GET', '/v1/dead-letters')).body.items, [])
  const { rows } = await s.database.query('SELECT data FROM notify.notification')
  assert.deepEqual(rows, [{ data: null }], 'nothing is kept of what is sensitive')
})

const anyReport = fc.record({
  delivery: fc.nat({ max: 2 }),
  report: fc.constantFrom<DeliveryReport>(...deliveryReports.filter((report) => report !== 'acknowledged')),
  soft: fc.boolean(),
})

test('reports in any order, batch and number end in the same states and suppressions', async (t) => {
  const s = await setupWebhooks(t)
  const stream = fc.array(anyReport, { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(stream, fc.infiniteStream(fc.nat()), async (events, random) => {
      const sent = await Promise.all([send(s), send(s), send(s)])
      const reports = events.map(
        ({ delivery, report, soft }): Report => ({
          eventId: randomUUID(),
          deliveryId: sent[delivery]?.deliveryId ?? '',
          report,
          soft,
          at: s.clock.now(),
        }),
      )
      const pick = () => random.next().value
      const doubled = reports.flatMap((report) => Array.from({ length: 1 + (pick() % 3) }, () => report))
      const shuffled = doubled
        .map((report) => ({ report, place: pick() }))
        .sort((a, b) => a.place - b.place)
        .map(({ report }) => report)
      const requests: Report[][] = []
      while (shuffled.length > 0) requests.push(shuffled.splice(0, 1 + (pick() % 4)))
      await Promise.all(requests.map((each) => post(s, each)))

      for (const { id, deliveryId } of sent) {
        const mine = reports.filter((report) => report.deliveryId === deliveryId)
        const expected = mine.reduce((state, { report }) => nextState(state, report) ?? state, 'sent' as DeliveryState)
        assert.equal(await stateOf(s, id), expected)
      }
      const suppressing = reports.flatMap(({ report, soft = false }) => suppressingOf(report, soft, {}, 0) ?? [])
      const { body } = await s.call('GET', '/v1/suppressions')
      assert.deepEqual(
        new Set(body.items.map(({ reason }: { reason: string }) => reason)),
        new Set(suppressing.map(({ reason }) => reason)),
      )
      await s.call('DELETE', '/v1/suppressions?user_id=alice&lift_reason=a+test')
    }),
    { numRuns: 12 },
  )
})

testWith('postgresql', '20 concurrent requests with the same event ids count each id once', async () => {
  const server = await startDatabaseServer()
  try {
    const s = await setup({ providers: { email: [provider] }, database: await postgresDatabase(server) })
    await seedEventType(s)
    const sent = await Promise.all([send(s), send(s), send(s)])
    const reports = sent.map(({ deliveryId }, index): Report => {
      return { eventId: `e${index}`, deliveryId, report: 'opened', at: s.clock.now() }
    })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, turn) =>
        s.store.deliveries.report(
          (turn % 2 ? reports : reports.toReversed()).map((report) => ({
            ...report,
            provider: 'reporter',
            deliveryId: report.deliveryId ?? '',
          })),
          s.clock.now(),
        ),
      ),
    )
    const outcomes = answers.flat()
    assert.equal(outcomes.filter((outcome) => outcome === 'changed').length, 3)
    assert.equal(outcomes.filter((outcome) => outcome === 'duplicate').length, 57)
    const { rows } = await s.database.query("SELECT 1 FROM notify.timeline_entry WHERE entry_type = 'opened'")
    assert.equal(rows.length, 3)
    await s.close()
  } finally {
    await server.stop()
  }
})
