import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createMetrics, type Log, silentLog } from '@gatehouse/kit'
import { postgresDatabase, startPostgres, testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { type DeliveryReport, type DeliveryState, deliveryReports, nextState } from '../src/delivery-state.ts'
import { deliveryIdOf, newId } from '../src/ids.ts'
import type { Provider, WebhookReport } from '../src/index.ts'
import { checkWebhook, signWebhook, webhookFault, webhookKey } from '../src/providers/standard-webhooks.ts'
import { suppressingOf } from '../src/suppression.ts'
import { build } from './providers/setup.ts'
import { eventually, furnish, type Setup, type SetupOptions, setup } from './setup.ts'

const key = webhookKey(Buffer.alloc(32, 7).toString('base64'))
const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }

/** A provider that takes everything, and whose reports are our own reports in JSON, signed as Standard Webhooks. */
const provider: Provider = {
  name: 'carrier',
  channel: 'email',
  timeoutMs: 1_000,
  send: async (messages) => messages.map(({ id }) => ({ kind: 'accepted', providerMessageId: id })),
  webhook: {
    mostBytes: 512 * 1024,
    refusal: webhookFault,
    async receive({ headers, body }, now) {
      const checked = checkWebhook([key], headers, body, now)
      if (checked.kind === 'refused') return checked
      try {
        return { kind: 'reports', reports: JSON.parse(body.toString()) }
      } catch {
        return { kind: 'malformed', reason: 'it is not JSON' }
      }
    },
  },
}

async function setupCarrier(t: { after(work: () => Promise<void>): void }, options: SetupOptions = {}): Promise<Setup> {
  const caps = { total: 1_000_000, channels: {}, priorities: {} }
  const s = await setup({ providers: { email: [provider] }, options: { caps }, ...options })
  t.after(s.close)
  await furnish(s)
  return s
}

async function send(s: Setup): Promise<{ id: string; deliveryId: string }> {
  const { body } = await s.call('POST', '/v1/notify', shipped)
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => answer.body.deliveries[0].state === 'sent',
  )
  return { id: body.id, deliveryId: body.deliveries[0].id }
}

async function post(s: Setup, reports: unknown, headers: Record<string, string> = {}, name: string = 'carrier') {
  const payload = typeof reports === 'string' ? reports : JSON.stringify(reports)
  const signed = signWebhook([key], randomUUID(), s.clock.now(), payload)
  const answer = await s.http.inject({
    method: 'POST',
    url: `/v1/webhooks/${name}`,
    headers: { 'content-type': 'application/json', ...signed, ...headers },
    payload,
  })
  return { status: answer.statusCode, type: answer.headers['content-type'], text: answer.body }
}

const stateOf = async (s: Setup, id: string) =>
  (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries[0].state

test('a signed webhook raises the state, is told in the timeline, and counts once however often it comes', async (t) => {
  const metrics = createMetrics()
  const s = await setupCarrier(t, { metrics })
  const { id, deliveryId } = await send(s)
  const report = { eventId: 'e1', deliveryId, report: 'delivered', at: s.clock.now() }
  for (let times = 0; times < 3; times++) assert.equal((await post(s, [report, report])).status, 204)
  const { body } = await s.call('GET', `/v1/notifications/${id}`)
  assert.equal(body.deliveries[0].state, 'delivered')
  assert.equal(body.timeline.filter((e: { what: string }) => e.what === 'delivered').length, 1)
  const text = await metrics.metrics()
  assert.match(text, /notify_webhooks_total\{provider="carrier",outcome="taken"\} 3\b/)
  assert.match(text, /notify_reports_total\{provider="carrier",report="delivered",outcome="changed"\} 1\b/)
  assert.match(text, /notify_reports_total\{provider="carrier",report="delivered",outcome="duplicate"\} 5\b/)
})

test('forged, stale and misdirected webhooks are refused as problems and change nothing', async (t) => {
  const metrics = createMetrics()
  const s = await setupCarrier(t, { metrics })
  const { id, deliveryId } = await send(s)
  const reports = [{ eventId: 'e1', deliveryId, report: 'bounced', at: s.clock.now() }]
  const forged = await post(s, reports, { 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` })
  assert.deepEqual([forged.status, forged.type], [403, 'application/problem+json'])
  const stale = { 'webhook-timestamp': String(Math.floor(s.clock.now() / 1_000) - 3_600) }
  assert.equal((await post(s, reports, stale)).status, 403)
  assert.equal((await post(s, reports, {}, 'nobody')).status, 404)
  assert.equal((await post(s, 'not json')).status, 400)
  assert.equal((await post(s, 'x'.repeat(512 * 1024 + 1))).status, 413)
  assert.equal(
    (
      await post(
        s,
        Array.from({ length: 10_001 }, () => 1),
      )
    ).status,
    413,
  )
  assert.equal(await stateOf(s, id), 'sent')
  for (const table of ['provider_event', 'suppression'])
    assert.equal((await s.database.query(`SELECT FROM notify.${table}`)).rows.length, 0, table)
  assert.match(await metrics.metrics(), /notify_webhooks_total\{provider="carrier",outcome="refused"\} 2\b/)
})

test('a webhook whose header fields give it away is answered before its body comes', async (t) => {
  const s = await setupCarrier(t)
  await s.http.listen({ port: 0, host: '127.0.0.1' })
  const { port } = s.http.server.address() as AddressInfo
  const stale = signWebhook([key], 'e1', s.clock.now() - 3_600_000, 'x')
  const signed = signWebhook([key], 'e1', s.clock.now(), 'x')
  const table = [
    ['nobody', 100, signed, 404],
    ['carrier', 100, {}, 403],
    ['carrier', 100, stale, 403],
    ['carrier', 512 * 1024 + 1, signed, 413],
  ] as const
  for (const [name, length, headers, expected] of table) {
    const path = `/v1/webhooks/${name}`
    const asked = request({ port, method: 'POST', path, headers: { ...headers, 'content-length': length } })
    asked.flushHeaders()
    const [answer] = await once(asked, 'response')
    assert.equal(answer.statusCode, expected)
    asked.on('error', () => {}).destroy()
  }
})

test('a provider tells nothing about deliveries on channels that it does not carry', async (t) => {
  const s = await setupCarrier(t)
  const { id, deliveryId } = await send(s)
  const forSms = deliveryIdOf(id, 'sms')
  const at = s.clock.now()
  const other: Provider = { ...provider, name: 'texts', channel: 'sms' }
  const both = await setup({ providers: { sms: [other] }, database: s.database, clock: s.clock, work: false })
  t.after(() => both.http.close())
  const reports = [deliveryId, forSms].map((each) => {
    return { eventId: `e-${each}`, deliveryId: each, report: 'complained', at }
  })
  assert.equal((await post(both, reports, {}, 'texts')).status, 204)
  assert.equal(await stateOf(s, id), 'sent')
  assert.deepEqual((await s.call('GET', '/v1/suppressions')).body.suppressions, [])
})

test('a webhook that can not be checked now is to be sent again', async (t) => {
  const away = { kind: 'unchecked', reason: 'nobody knows the key', busy: false } as const
  const [first, second] = [away, { ...away, busy: true }].map((received, index): Provider => {
    return { ...provider, name: `carrier-${index}`, webhook: { receive: async () => received } }
  })
  const s = await setupCarrier(t, { providers: { email: [first ?? provider, second ?? provider] } })
  assert.deepEqual((await post(s, [], {}, 'carrier-0')).status, 503)
  assert.deepEqual((await post(s, [], {}, 'carrier-1')).status, 429)
})

test('a report that nothing can be made of is taken, counted as unread, and told in the log', async (t) => {
  const metrics = createMetrics()
  const lines: unknown[] = []
  const log = { ...silentLog, warn: (line: unknown) => lines.push(line) } as unknown as Log
  const unread = { kind: 'reports', reports: [], unread: 'it is no notice' } as const
  const carrier: Provider = { ...provider, webhook: { receive: async () => unread } }
  const s = await setupCarrier(t, { providers: { email: [carrier] }, metrics, log })
  assert.equal((await post(s, [])).status, 204)
  assert.match(await metrics.metrics(), /notify_webhooks_total\{provider="carrier",outcome="unread"\} 1\b/)
  assert.deepEqual(lines.at(-1), { provider: 'carrier', reason: 'it is no notice', bytes: 2 })
})

test("a form that is larger than any of Twilio's is refused unread, whatever its signature", async (t) => {
  const account = { account_sid: `AC${'0'.repeat(32)}`, auth_token: 'a-token-of-the-account', from: '+14155550199' }
  const s = await setup({ providers: { sms: [build({ provider: 'twilio', ...account })] } })
  t.after(s.close)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': Buffer.alloc(20).toString('base64'),
  }
  const form = (fields: number) => Array.from({ length: fields }, (_, n) => `${n.toString(36)}=`).join('&')
  assert.equal((await post(s, form(200_000), headers, 'twilio')).status, 413)
  assert.equal((await post(s, form(10_000), headers, 'twilio')).status, 403)
})

test('what a webhook tells of deliveries that are not ours, or in a broken way, is left out and the rest is taken', async (t) => {
  const s = await setupCarrier(t)
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
  assert.equal((await s.database.query('SELECT FROM notify.provider_event')).rows.length, 1)
})

test('a hard bounce and a complaint make the address undeliverable, a soft bounce does not, an unsubscription spares the state', async (t) => {
  const s = await setupCarrier(t)
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
    const found = body.suppressions.map((each: { reason: string; address: string }) => [each.reason, each.address])
    assert.deepEqual(
      found,
      reasons.map((reason) => [reason, 'alice@example.com']),
    )
    const next = await s.call('POST', '/v1/notify', shipped)
    assert.equal(next.body.deliveries[0].outcome, reasons.length > 0 ? 'undeliverable' : 'queued', report)
    await s.call('DELETE', '/v1/suppressions?user_id=alice')
  }
})

test('a report that overtakes our own record of the ack ends the work, and leaves no data of what is sensitive', async (t) => {
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
  await furnish(s, 'order.shipped', { sensitive: true })
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

test('a report that comes after its delivery was given up takes back the dead letter, so that no replay sends it again', async (t) => {
  const silent: Provider = {
    ...provider,
    send: async (messages) => messages.map(() => ({ kind: 'ambiguous', reason: 'no answer' })),
  }
  const s = await setup({ providers: { email: [silent] } })
  t.after(s.close)
  await furnish(s, 'order.shipped', { sensitive: true })
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
  assert.deepEqual((await s.call('GET', '/v1/dead-letters')).body.dead_letters, [])
  const { rows } = await s.database.query('SELECT data FROM notify.notification')
  assert.deepEqual(rows, [{ data: null }], 'nothing is kept of what is sensitive')
})

const anyReport = fc.record({
  delivery: fc.nat({ max: 2 }),
  report: fc.constantFrom<DeliveryReport>(...deliveryReports.filter((report) => report !== 'acknowledged')),
  soft: fc.boolean(),
})

test('a stream of reports, however duplicated, shuffled and cut into requests, ends in the states and suppressions of the stream in order', async (t) => {
  const s = await setupCarrier(t)
  const stream = fc.array(anyReport, { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(stream, fc.infiniteStream(fc.nat()), async (events, random) => {
      const sent = await Promise.all([send(s), send(s), send(s)])
      const reports = events.map(
        ({ delivery, report, soft }): WebhookReport => ({
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
      const requests: WebhookReport[][] = []
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
        new Set(body.suppressions.map(({ reason }: { reason: string }) => reason)),
        new Set(suppressing.map(({ reason }) => reason)),
      )
      await s.call('DELETE', '/v1/suppressions?user_id=alice')
    }),
    { numRuns: 12 },
  )
})

testWith('postgresql', 'of 20 requests that bring the same event ids at once, each id counts once', async () => {
  const server = await startPostgres()
  try {
    const s = await setup({ providers: { email: [provider] }, database: await postgresDatabase(server) })
    await furnish(s)
    const sent = await Promise.all([send(s), send(s), send(s)])
    const reports = sent.map(({ deliveryId }, index): WebhookReport => {
      return { eventId: `e${index}`, deliveryId, report: 'opened', at: s.clock.now() }
    })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, turn) =>
        s.store.deliveries.report(
          (turn % 2 ? reports : reports.toReversed()).map((report) => ({
            ...report,
            provider: 'carrier',
            deliveryId: report.deliveryId ?? '',
          })),
          s.clock.now(),
        ),
      ),
    )
    const outcomes = answers.flat()
    assert.equal(outcomes.filter((outcome) => outcome === 'changed').length, 3)
    assert.equal(outcomes.filter((outcome) => outcome === 'duplicate').length, 57)
    const { rows } = await s.database.query("SELECT FROM notify.delivery_event WHERE what = 'opened'")
    assert.equal(rows.length, 3)
    await s.close()
  } finally {
    await server.stop()
  }
})
