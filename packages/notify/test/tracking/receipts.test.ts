import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, manualClock, Secret } from '@gatehouse/kit'
import fc from 'fast-check'
import type { Provider } from '../../src/index.ts'
import { createReceiptTokens } from '../../src/links/receipt-token.ts'
import { deliveryIdOf, newId } from '../../src/model/id.ts'
import { baseUrl, linkSecret } from '../support/providers/mail-links.ts'
import { purgeBuckets } from '../support/purge.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const dayMs = 86_400_000
const tokens = createReceiptTokens({ secret: linkSecret, lifetimeMs: 35 * dayMs })
const presentClock = () => manualClock(Date.now())

/** The service with receipt tokens, and alice reachable on every channel. */
async function setupReceipts(t: { after(end: () => Promise<void>): void }, options: SetupOptions = {}, settings = {}) {
  const s = await setup({ linkSecret, publicUrl: baseUrl, ...options })
  t.after(() => s.close())
  await seedEventType(s, 'order.shipped', settings)
  const report = async (...receipts: object[]) => {
    const response = await s.http.inject({ method: 'POST', url: '/v1/receipts', payload: { receipts } })
    return { status: response.statusCode, body: response.json(), text: response.body }
  }
  const send = async (channel: string, event = 'order.shipped') => {
    const sent = await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: {}, channels: [channel] })
    return { id: sent.body.id as string, deliveryId: sent.body.deliveries[0].id as string }
  }
  return { ...s, report, send }
}

const accepted = { status: 200, results: [{ status: 'accepted' }] }
const outline = ({ status, body }: { status: number; body: { results?: unknown } }) => ({
  status,
  results: body.results,
})

async function recordOf(s: Pick<Setup, 'call'>, id: string) {
  const { body } = await s.call('GET', `/v1/notifications/${id}`)
  const timeline = body.timeline as ReadonlyArray<{ what: string; at: string; detail?: Record<string, unknown> }>
  return { state: body.deliveries[0].state as string, provider: body.deliveries[0].provider as string, timeline }
}

const receiptsIn = (timeline: Awaited<ReturnType<typeof recordOf>>['timeline']) =>
  timeline.filter(({ detail }) => detail?.provider === 'receipts').map(({ what, detail }) => [what, detail?.link])

async function sentPush(s: Awaited<ReturnType<typeof setupReceipts>>) {
  const { id, deliveryId } = await s.send('push')
  await eventually(
    () => recordOf(s, id),
    ({ state }) => state === 'sent',
  )
  return { id, token: tokens.issue(deliveryId, s.clock.now()) }
}

test('a receipt token names its delivery and is invalid after any change', () => {
  const now = Date.UTC(2026, 5, 1)
  const others = createReceiptTokens({ secret: new Secret('another secret of 32 characters!'), lifetimeMs: dayMs })
  fc.assert(
    fc.property(fc.nat(32_766), fc.nat(47), fc.nat(62), (bucket, at, by) => {
      const deliveryId = deliveryIdOf(newId(bucket), 'push')
      const token = tokens.issue(deliveryId, now)
      assert.deepEqual(tokens.read(token, now), { kind: 'valid', deliveryId })
      assert.deepEqual(others.read(token, now), { kind: 'invalid' })
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const other = letters[(letters.indexOf(token[at] ?? '') + 1 + by) % 64]
      assert.deepEqual(tokens.read(`${token.slice(0, at)}${other}${token.slice(at + 1)}`, now), { kind: 'invalid' })
    }),
  )
})

test('a receipt token is the same all day, and expires', () => {
  const id = deliveryIdOf(newId(0), 'push')
  const noon = Date.UTC(2026, 5, 1, 12)
  assert.equal(tokens.issue(id, noon), tokens.issue(id, noon + dayMs / 4))
  assert.notEqual(tokens.issue(id, noon), tokens.issue(id, noon + dayMs))
  assert.equal(tokens.read(tokens.issue(id, noon), noon + 35 * dayMs).kind, 'valid')
  assert.equal(tokens.read(tokens.issue(id, noon), noon + 36 * dayMs).kind, 'expired')
})

test('an app reports with the token of its push alone, and the state follows', async (t) => {
  const s = await setupReceipts(t)
  const { id } = await s.send('push')
  const mailbox = async () => (await s.call('GET', '/dev/mailbox')).body.messages
  const [push] = await eventually(mailbox, ({ length }) => length === 1)
  await eventually(
    () => recordOf(s, id),
    ({ state }) => state === 'sent',
  )
  for (const [report, state] of [
    ['delivered', 'delivered'],
    ['opened', 'opened'],
    ['clicked', 'clicked'],
  ]) {
    assert.deepEqual(outline(await s.report({ token: push.receipt_token, report })), accepted)
    assert.equal((await recordOf(s, id)).state, state)
  }
  assert.equal((await recordOf(s, id)).provider, 'mailbox-push')
})

test('an item of the feed has a receipt token only for readers who may read its text', async (t) => {
  const s = await setupReceipts(t)
  const { id } = await s.send('in-app')
  const feed = async (scopes: string) =>
    (await s.call('GET', '/v1/users/alice/inbox', undefined, scopes)).body.items as Array<{ receipt_token?: string }>
  const [item] = await eventually(
    () => feed('user:alice read:notifications'),
    ({ length }) => length === 1,
  )
  assert.deepEqual(outline(await s.report({ token: item?.receipt_token, report: 'clicked', link: 'reply' })), accepted)
  const { state, timeline } = await recordOf(s, id)
  assert.deepEqual([state, receiptsIn(timeline)], ['clicked', [['clicked', 'reply']]])
  assert.equal('receipt_token' in ((await feed('admin:notifications read:notifications'))[0] ?? {}), false)
})

test('a receipt counts once, also when repeated later, and a click once for each link', async (t) => {
  const s = await setupReceipts(t)
  const { id, token } = await sentPush(s)
  const click = (link?: string) => ({ token, report: 'clicked', ...(link ? { link } : {}) })
  await s.report(click('a'), click('a'), click('b'), { token, report: 'opened' })
  await s.report(click('a'), click(), { token, report: 'opened' })
  s.clock.advance(20 * dayMs)
  for (let times = 0; times < 3; times++) await purgeBuckets(s.store, retention, s.clock.now())
  assert.deepEqual(outline(await s.report(click('b'))), accepted)
  assert.deepEqual(receiptsIn((await recordOf(s, id)).timeline), [
    ['clicked', 'a'],
    ['clicked', 'b'],
    ['opened', undefined],
    ['clicked', undefined],
  ])
})

const retention = {
  notificationDays: 90,
  logDays: 30,
  deadLetterDays: 90,
  inboxDays: 365,
  deadDeviceDays: 30,
  linkDays: 365,
  stateChangeDays: 365,
}

test('a late receipt never lowers a state, and never changes a bounced one', async (t) => {
  const s = await setupReceipts(t)
  const { id, token } = await sentPush(s)
  await s.report({ token, report: 'clicked' })
  await s.report({ token, report: 'delivered' })
  await s.report({ token, report: 'opened' })
  assert.equal((await recordOf(s, id)).state, 'clicked')
  const other = await sentPush(s)
  const { messages } = (await s.call('GET', '/dev/mailbox')).body
  const { id: message } = messages.find((each: { state: string }) => each.state === 'sent')
  await s.call('POST', `/dev/mailbox/${message}/bounced`)
  await s.report({ token: other.token, report: 'opened' })
  assert.equal((await recordOf(s, other.id)).state, 'bounced')
})

test('a token adds at most twenty entries to a timeline', async (t) => {
  const s = await setupReceipts(t)
  const { id, token } = await sentPush(s)
  const flood = Array.from({ length: 50 }, (_, n) => ({ token, report: 'clicked', link: `link ${n}` }))
  const { body } = await s.report(...flood)
  assert.equal(body.results.length, 50)
  assert.equal(receiptsIn((await recordOf(s, id)).timeline).length, 20)
  const more = await s.report(...flood)
  assert.deepEqual(more.body.results.at(-1), { status: 'rejected', reason: 'limited' }, 'sixty a minute')
  s.clock.advance(60_000)
  assert.deepEqual(outline(await s.report({ token, report: 'opened' })), accepted)
  assert.equal(receiptsIn((await recordOf(s, id)).timeline).length, 20)
})

test('invalid and expired tokens are rejected one by one, beside accepted ones', async (t) => {
  const s = await setupReceipts(t)
  const { id, token } = await sentPush(s)
  const victim = await sentPush(s)
  const others = createReceiptTokens({ secret: new Secret('another secret of 32 characters!'), lifetimeMs: dayMs })
  const grafted = victim.token.slice(0, 24) + token.slice(24)
  const old = tokens.issue(deliveryIdOf(id, 'push'), s.clock.now() - 40 * dayMs)
  const forged = [others.issue(deliveryIdOf(victim.id, 'push'), s.clock.now()), grafted, 'x', `${token}A`, `${token}=`]
  const { body, status } = await s.report(
    ...forged.map((each) => ({ token: each, report: 'opened' })),
    { token: old, report: 'clicked' },
    { token, report: 'opened' },
  )
  const invalid = { status: 'rejected', reason: 'invalid' }
  assert.deepEqual(
    [status, body.results],
    [200, [...forged.map(() => invalid), { status: 'rejected', reason: 'expired' }, { status: 'accepted' }]],
  )
  assert.equal((await recordOf(s, victim.id)).state, 'sent')
  assert.equal((await recordOf(s, id)).state, 'opened')
})

test('the response to a receipt does not reveal whether its delivery still exists', async (t) => {
  const s = await setupReceipts(t)
  const { token } = await sentPush(s)
  const known = await s.report({ token, report: 'opened' })
  const again = await s.report({ token, report: 'opened' })
  await s.call('DELETE', '/v1/users/alice/data', undefined, 'admin:privacy admin:notifications read:personal-data')
  const erased = await s.report({ token, report: 'clicked', link: 'https://shop.example' })
  const never = await s.report({ token: tokens.issue(deliveryIdOf(newId(0), 'push'), s.clock.now()), report: 'opened' })
  const elsewhere = deliveryIdOf(newId(7), 'push')
  const foreign = await s.report({ token: tokens.issue(elsewhere, s.clock.now()), report: 'opened' })
  for (const each of [again, erased, never, foreign]) assert.deepEqual([each.status, each.text], [200, known.text])
  assert.equal((await s.database.query('SELECT 1 FROM notify.timeline_entry')).rowCount, 0)
})

test('malformed receipts are rejected with what was expected and without the token', async (t) => {
  const s = await setupReceipts(t)
  const { token } = await sentPush(s)
  const bad = [
    [{ token, report: 'bounced' }],
    [{ token, report: 'opened', extra: 1 }],
    [{ report: 'opened' }],
    [{ token, report: 'clicked', link: 'x'.repeat(501) }],
    [{ token, report: 'clicked', link: '' }],
    [{ token, report: 'opened', at: 'yesterday' }],
    [{ token: 'x'.repeat(201), report: 'opened' }],
    Array.from({ length: 101 }, () => ({ token, report: 'opened' })),
    [],
  ]
  for (const receipts of bad) {
    const { status, text } = await s.report(...receipts)
    assert.equal(status, 400, text)
    assert.ok(!text.includes(token), text)
  }
  const misplaced = await s.report({ token, report: 'opened', link: 'https://shop.example' })
  assert.equal(misplaced.status, 422)
  assert.deepEqual(misplaced.body.errors, [
    { pointer: '/receipts/0/link', detail: 'is for clicked, and this receipt says opened' },
  ])
  const { status } = await s.report({ token, report: 'clicked', link: 'x'.repeat(70_000) })
  assert.equal(status, 413)
})

test('the time of a receipt is limited to between the message and now', async (t) => {
  const s = await setupReceipts(t, { clock: presentClock() })
  const { id, token } = await sentPush(s)
  const now = s.clock.now()
  const at = (milliseconds: number) => new Date(milliseconds).toISOString()
  s.clock.advance(60_000)
  await s.report({ token, report: 'delivered', at: at(now + 30_000) })
  await s.report({ token, report: 'opened', at: at(now + 10 * dayMs) })
  await s.report({ token, report: 'clicked', at: '1970-01-01T00:00:00Z' })
  const { timeline } = await recordOf(s, id)
  const times = new Map(timeline.map(({ what, at: time }) => [what, Date.parse(time)]))
  assert.deepEqual([times.get('delivered'), times.get('opened')], [now + 30_000, now + 60_000])
  assert.ok((times.get('clicked') ?? 0) > now - 60_000)
})

test('a click on a sensitive notification is recorded without the link', async (t) => {
  const s = await setupReceipts(t, {}, { sensitive: true })
  const { id, token } = await sentPush(s)
  await s.report({ token, report: 'clicked', link: 'https://shop.example/reset/secret' })
  const { state, timeline } = await recordOf(s, id)
  assert.deepEqual([state, receiptsIn(timeline)], ['clicked', [['clicked', undefined]]])
})

test('a receipt that changes a state is published with its link masked', async (t) => {
  const { topic, published } = createManualTopic()
  const s = await setupReceipts(t, { topic, tables: { streaming: true } })
  const { id, token } = await sentPush(s)
  await s.report({ token, report: 'clicked', link: 'https://shop.example/of/zelda' })
  const payloads = await eventually(
    async () => published.map(({ payload }) => payload as { state: string; delivery_id: string }),
    (events) => events.length === 2,
  )
  assert.deepEqual(
    payloads.map(({ state, delivery_id: deliveryId }) => [state, deliveryId]),
    ['sent', 'clicked'].map((state) => [state, deliveryIdOf(id, 'push')]),
  )
  const masked = await s.call('GET', `/v1/notifications/${id}`, undefined, 'admin:notifications')
  const clicks = masked.body.timeline.filter(({ what }: { what: string }) => what === 'clicked')
  assert.deepEqual(clicks[0].detail, { state: 'clicked', provider: 'receipts', link: '•••' })
})

test('no tokens and no receipts exist without the link secret', async (t) => {
  const s = await setup()
  t.after(() => s.close())
  await seedEventType(s)
  await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['push'] })
  const mailbox = async () => (await s.call('GET', '/dev/mailbox')).body.messages
  const [push] = await eventually(mailbox, ({ length }) => length === 1)
  assert.equal('receipt_token' in push, false)
  assert.equal((await s.http.inject({ method: 'POST', url: '/v1/receipts', payload: {} })).statusCode, 404)
})

test('no receipt token is written to the log', async (t) => {
  const lines: string[] = []
  const log = createLog('trace', { write: (line) => void lines.push(line) })
  const s = await setupReceipts(t, { log })
  const { token } = await sentPush(s)
  await s.report({ token, report: 'opened' })
  await s.report({ token, report: 'nonsense' })
  await s.report({ token: `${token.slice(1)}A`, report: 'opened' })
  assert.ok(!lines.some((line) => line.includes(token.slice(1))))
})

for (const channel of ['push', 'email', 'sms'] as const)
  test(`a receipt of ${channel} before the provider's answer is kept, and never lowered by it`, async (t) => {
    const hold = Promise.withResolvers<void>()
    const called = Promise.withResolvers<string>()
    let calls = 0
    const provider: Provider = {
      name: 'slow',
      channel,
      timeoutMs: 10_000,
      async send(messages) {
        calls += 1
        called.resolve(messages[0]?.deliveryId ?? '')
        await hold.promise
        return messages.map(() => ({ kind: 'accepted', providerMessageId: 'm1' }))
      },
    }
    const s = await setupReceipts(t, { providers: { [channel]: [provider] } })
    const { id } = await s.send(channel)
    const deliveryId = await called.promise
    const token = tokens.issue(deliveryId, s.clock.now())
    await s.report({ token, report: 'opened' })
    assert.equal((await recordOf(s, id)).state, 'opened')
    hold.resolve()
    const { provider: name, timeline } = await eventually(
      () => recordOf(s, id),
      (record) => record.timeline.some(({ what }) => what === 'sent'),
    )
    assert.equal(name, 'slow')
    assert.equal((await recordOf(s, id)).state, 'opened')
    assert.equal(timeline.filter(({ what }) => what === 'opened').length, 1)
    assert.equal((await s.database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 0)
    assert.equal(calls, 1)
  })

test('a push without a recorded answer is not repeated once its only device reports it', async (t) => {
  const called = Promise.withResolvers<string>()
  let calls = 0
  const provider: Provider = {
    name: 'silent',
    channel: 'push',
    timeoutMs: 10_000,
    async send(messages) {
      calls += 1
      called.resolve(messages[0]?.deliveryId ?? '')
      return messages.map(() => ({ kind: 'ambiguous', reason: 'no answer' }))
    },
  }
  const backoff = { baseMs: 3_600_000, factor: 1, maxMs: 3_600_000 }
  const s = await setupReceipts(t, { providers: { push: [provider] }, options: { backoff } })
  const { id } = await s.send('push')
  const token = tokens.issue(await called.promise, s.clock.now())
  await eventually(
    () => recordOf(s, id),
    ({ timeline }) => timeline.some(({ what }) => what === 'attempt_failed'),
  )
  await s.report({ token, report: 'opened' })
  s.clock.advance(7_200_000)
  assert.equal((await s.database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 0)
  assert.equal((await recordOf(s, id)).state, 'opened')
  assert.equal(calls, 1)
})
