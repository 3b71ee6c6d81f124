import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createMetrics, type Log, silentLog } from '@gatehouse/kit'
import { signWebhook } from '@gatehouse/providers'
import type { Provider } from '../../src/index.ts'
import { deliveryIdOf } from '../../src/model/id.ts'
import { buildProvider } from '../support/providers/providers.ts'
import { key, post, provider, send, setupWebhooks, stateOf } from '../support/providers/webhook-provider.ts'
import { setup } from '../support/setup.ts'

test('forged, stale and misdirected webhooks are rejected as problems and change nothing', async (t) => {
  const metrics = createMetrics()
  const s = await setupWebhooks(t, { metrics })
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
  for (const table of ['timeline_entry WHERE report_key IS NOT NULL', 'suppression'])
    assert.equal((await s.database.query(`SELECT 1 FROM notify.${table}`)).rows.length, 0, table)
  assert.match(await metrics.metrics(), /notify_webhooks_total\{provider="reporter",outcome="refused"\} 2\b/)
})

test('a webhook that its header fields invalidate is answered before its body arrives', async (t) => {
  const s = await setupWebhooks(t)
  await s.http.listen({ port: 0, host: '127.0.0.1' })
  const { port } = s.http.server.address() as AddressInfo
  const stale = signWebhook([key], 'e1', s.clock.now() - 3_600_000, 'x')
  const signed = signWebhook([key], 'e1', s.clock.now(), 'x')
  const table = [
    ['nobody', 100, signed, 404],
    ['reporter', 100, {}, 403],
    ['reporter', 100, stale, 403],
    ['reporter', 512 * 1024 + 1, signed, 413],
  ] as const
  for (const [name, length, headers, expected] of table) {
    const path = `/v1/webhooks/${name}`
    const pending = request({ port, method: 'POST', path, headers: { ...headers, 'content-length': length } })
    pending.flushHeaders()
    const [answer] = await once(pending, 'response')
    assert.equal(answer.statusCode, expected)
    pending.on('error', () => {}).destroy()
  }
})

test('a provider cannot report on deliveries of channels that it does not send on', async (t) => {
  const s = await setupWebhooks(t)
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
  assert.deepEqual((await s.call('GET', '/v1/suppressions')).body.items, [])
})

test('a webhook that cannot be verified now is answered with a status that repeats it', async (t) => {
  const away = { kind: 'unchecked', reason: 'nobody knows the key', busy: false } as const
  const [first, second] = [away, { ...away, busy: true }].map((received, index): Provider => {
    return { ...provider, name: `reporter-${index}`, reports: { read: async () => received } }
  })
  const s = await setupWebhooks(t, { providers: { email: [first ?? provider, second ?? provider] } })
  assert.deepEqual((await post(s, [], {}, 'reporter-0')).status, 503)
  assert.deepEqual((await post(s, [], {}, 'reporter-1')).status, 429)
})

test('an unreadable report is accepted, counted as unread and logged', async (t) => {
  const metrics = createMetrics()
  const lines: unknown[] = []
  const log = { ...silentLog, warn: (line: unknown) => lines.push(line) } as unknown as Log
  const unread = { kind: 'reports', reports: [], unreadableReason: 'it is no notice' } as const
  const reporter: Provider = { ...provider, reports: { read: async () => unread } }
  const s = await setupWebhooks(t, { providers: { email: [reporter] }, metrics, log })
  assert.equal((await post(s, [])).status, 204)
  assert.match(await metrics.metrics(), /notify_webhooks_total\{provider="reporter",outcome="unread"\} 1\b/)
  assert.deepEqual(lines.at(-1), { provider: 'reporter', reason: 'it is no notice', bytes: 2 })
})

test("a form larger than any of Twilio's is rejected unread, whatever its signature", async (t) => {
  const account = { account_sid: `AC${'0'.repeat(32)}`, auth_token: 'a-token-of-the-account', from: '+14155550199' }
  const s = await setup({ providers: { sms: [buildProvider({ provider: 'twilio', ...account })] } })
  t.after(s.close)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-twilio-signature': Buffer.alloc(20).toString('base64'),
  }
  const form = (fields: number) => Array.from({ length: fields }, (_, n) => `${n.toString(36)}=`).join('&')
  assert.equal((await post(s, form(200_000), headers, 'twilio')).status, 413)
  assert.equal((await post(s, form(10_000), headers, 'twilio')).status, 403)
})
