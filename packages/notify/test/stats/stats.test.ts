import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { Provider, SendResult } from '../../src/index.ts'
import { countedDomain, measures } from '../../src/model/measure.ts'
import { countedSmsCode } from '../../src/model/sms-code.ts'
import { postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { post, provider as reporter, send, setupWebhooks, shipped } from '../support/providers/webhook-provider.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly (number | null)[]
}

/** The sums of what was counted, by labels. */
async function counted(s: Pick<Setup, 'call'>, query: string, scopes?: string): Promise<Record<string, number>> {
  const { status, body } = await s.call('GET', `/v1/stats?${query}`, undefined, scopes)
  assert.equal(status, 200, JSON.stringify(body))
  const sum = ({ values }: Series) => values.reduce<number>((all, value) => all + (value ?? 0), 0)
  return Object.fromEntries(
    (body.series as Series[]).map((series) => [Object.values(series.labels).sort().join(' '), sum(series)]),
  )
}

test('what is decided, sent and reported is counted by channel, event, provider and domain', async (t) => {
  const s = await setupWebhooks(t)
  const { deliveryId } = await send(s)
  await send(s)
  const at = s.clock.now()
  const report = (name: string, eventId: string, machine = false) => ({
    eventId,
    deliveryId,
    report: name,
    at,
    machine,
  })
  for (let times = 0; times < 2; times++)
    assert.equal(
      (await post(s, [report('delivered', '1'), report('opened', '2', true), report('opened', '3')])).status,
      204,
    )
  assert.deepEqual(await counted(s, 'measure=outcomes'), { 'email queued': 2 })
  assert.deepEqual(await counted(s, 'measure=outcomes&by=event'), { 'order.shipped queued': 2 })
  await eventually(
    () => counted(s, 'measure=attempts&by=provider'),
    (attempts) => attempts['reporter sent'] === 2,
  )
  const states = { 'delivered email': 1, 'email opened': 1, 'email opened_by_machine': 1 }
  assert.deepEqual(await counted(s, 'measure=states'), states)
  assert.deepEqual(await counted(s, 'measure=states&by=domain'), {
    'called other reporter': 2,
    'delivered other reporter': 1,
    'opened other reporter': 1,
    'opened_by_machine other reporter': 1,
  })
  const { body } = await s.call('GET', '/v1/stats?measure=latency&by=provider')
  assert.deepEqual(
    body.series.map(({ labels }: Series) => labels),
    ['0.5', '0.95', '0.99'].map((quantile) => ({ provider: 'reporter', quantile })),
  )
})

test('texts that lack a variable are counted by template, new suppressions by reason', async (t) => {
  const s = await setupWebhooks(t)
  await s.call('PUT', '/v1/templates/order.lost/email/en', { subject: 'Lost', body: '{{ order_id }} by {{ who }}' })
  await s.call('PUT', '/v1/event-types/order.lost', { channels: ['email'] })
  for (const data of [{ order_id: '1' }, { order_id: '2', who: 'Ann' }, {}])
    await s.call('POST', '/v1/notify', { event: 'order.lost', user_id: 'alice', data })
  const { deliveryId } = await send(s)
  assert.deepEqual(await counted(s, 'measure=texts&by=template'), {
    'complete order.lost': 1,
    'incomplete order.lost': 2,
    'complete order.shipped': 1,
  })
  const at = s.clock.now()
  const bounce = { eventId: '1', deliveryId, report: 'bounced', at }
  for (const report of [bounce, bounce, { ...bounce, eventId: '2', report: 'complained' }]) await post(s, [report])
  const manual = { user_id: 'bob', channel: 'email', address: 'bob@example.com', reason: 'manual' }
  assert.equal((await s.call('POST', '/v1/suppressions', manual)).status, 201)
  s.clock.advance(1)
  assert.equal((await s.call('POST', '/v1/suppressions', manual)).status, 201)
  const growth = { bounced: 1, complained: 1, manual: 1 }
  assert.deepEqual(await counted(s, 'measure=suppressions&by=reason'), growth, 'one that was there is not new')
})

test('failed SMS are counted by provider and code, dead devices once each', async (t) => {
  const rejected = (code: string): SendResult => ({ kind: 'permanent', code, reason: 'no' })
  const sms: Provider = {
    ...reporter,
    channel: 'sms',
    send: async (messages) =>
      messages.map(({ content }) => {
        const code = /code (\S+)/.exec(content.body)?.[1]
        return code === undefined ? { kind: 'accepted' } : rejected(code)
      }),
  }
  const push: Provider = {
    name: 'fcm',
    channel: 'push',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => ({ kind: 'dead_token', reason: 'UNREGISTERED' })),
  }
  const s = await setup({ providers: { sms: [sms], push: [push] } })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/users/alice/devices/tablet', { token: 't2' })
  await s.call('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Order {{ order_id }} left' })
  const notify = async (orderId: string, channel: string) => {
    const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: orderId }, channels: [channel] }
    const { body } = await s.call('POST', '/v1/notify', event)
    return body.deliveries[0].id as string
  }
  const delivered = await notify('A-1', 'sms')
  for (const orderId of ['code 30007', 'code 21211', 'code secret-of-alice']) await notify(orderId, 'sms')
  await eventually(
    () => counted(s, 'measure=attempts'),
    (attempts) => attempts['sent sms'] === 1,
  )
  const bounce = { eventId: '1', deliveryId: delivered, report: 'bounced', at: s.clock.now(), code: '30003' }
  for (const report of [bounce, bounce, { ...bounce, eventId: '2', report: 'delivered' }]) await post(s, [report])
  await eventually(
    () => counted(s, 'measure=sms_failures&by=code'),
    (codes) => Object.keys(codes).length === 4,
  )
  const codes = { '30003 reporter': 1, '30007 reporter': 1, '21211 reporter': 1, 'other reporter': 1 }
  assert.deepEqual(await counted(s, 'measure=sms_failures&by=code'), codes)
  assert.deepEqual(await counted(s, 'measure=sms_failures&by=provider'), { reporter: 4 })
  await Promise.all([notify('A-5', 'push'), notify('A-6', 'push')])
  await eventually(
    () => counted(s, 'measure=dead_devices&by=provider'),
    ({ fcm }) => fcm === 2,
  )
  await eventually(
    () => counted(s, 'measure=attempts'),
    (attempts) => attempts['dead_letter push'] === 2,
  )
  assert.deepEqual(await counted(s, 'measure=dead_devices&by=provider'), { fcm: 2 }, 'each device once')
})

test('a code of a failed SMS is counted by itself only where it is known', () => {
  assert.equal(countedSmsCode('30006'), '30006')
  assert.equal(countedSmsCode('+44 7700 900000'), 'other')
  assert.equal(countedSmsCode(undefined), 'none')
})

test('statistics are for those who may read deliveries, and name what is wrong with a query', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  assert.deepEqual(await counted(s, 'measure=outcomes', 'read:delivery'), {})
  assert.equal((await s.call('GET', '/v1/stats?measure=outcomes', undefined, 'read:settings')).status, 403)
  for (const [query, pointer] of [
    ['measure=latency&by=domain', '/by'],
    ['measure=outcomes&by=event&step=60', '/step'],
    ['measure=outcomes&from=2020-01-01T00:00:00Z', '/from'],
  ] as const) {
    const { status, body } = await s.call('GET', `/v1/stats?${query}`)
    assert.equal(status, 400)
    assert.equal(body.errors[0].pointer, pointer)
  }
})

test('a mail domain is counted by name only where it is one of a large provider', () => {
  assert.equal(countedDomain('Alice@GMail.com'), 'gmail.com')
  assert.equal(countedDomain('alice@googlemail.com'), 'gmail.com')
  assert.equal(countedDomain('alice@alice-example.org'), 'other')
  assert.equal(countedDomain('no address'), 'other')
})

test('no label of what is kept holds anything of a person', async (t) => {
  const s = await setupWebhooks(t)
  await s.call('PUT', '/v1/users/alice/recipient', { email: 'alice@private-domain.example' })
  const { deliveryId } = await send(s)
  await post(s, [{ eventId: '1', deliveryId, report: 'bounced', at: s.clock.now(), reason: 'alice is not known' }])
  await s.notify.stop()
  const { rows } = await s.database.query<{ measure: keyof typeof measures; labels: Record<string, string> }>(
    'SELECT DISTINCT measure, labels FROM notify.stat',
  )
  assert.ok(rows.length >= 5)
  for (const { measure, labels } of rows) assert.deepEqual(Object.keys(labels).sort(), [...measures[measure]].sort())
  assert.doesNotMatch(JSON.stringify(rows), /alice|private/)
})

test('an installation without any event has nothing to say, and its first step is open', async (t) => {
  const s = await setupWebhooks(t)
  assert.deepEqual(await s.notify.findings(), [])
  const steps = async () => Object.fromEntries((await s.notify.setup(new Set())).map(({ id, done }) => [id, done]))
  assert.deepEqual(await steps(), { first_notification: false, providers: false, webhook: false })
  const { deliveryId } = await send(s)
  await post(s, [{ eventId: '1', deliveryId, report: 'delivered', at: s.clock.now() }])
  assert.deepEqual(await steps(), { first_notification: true, providers: false, webhook: true })
})

test('a provider that was sent much and reported nothing is found, and one that is paused', async (t) => {
  const s = await setupWebhooks(t)
  for (let n = 0; n < 20; n++) await send(s)
  await eventually(
    () => counted(s, 'measure=attempts&by=provider'),
    (attempts) => attempts['reporter sent'] === 20,
  )
  assert.deepEqual(await s.notify.findings(), [], 'reports of what was just sent are yet to come')
  assert.equal((await s.call('POST', '/v1/providers/reporter/pause', {})).status, 200)
  await s.notify.stop()
  s.clock.advance(2 * 3_600_000)
  assert.deepEqual(await s.notify.findings(), [
    { code: 'provider_paused', severity: 'info', subject: 'reporter' },
    { code: 'provider_silent', severity: 'warning', subject: 'reporter', count: 20 },
  ])
})

testWith('postgresql', 'two processes on one database add up, and a stop loses nothing', async (t) => {
  const server = await startDatabaseServer()
  t.after(() => server.stop())
  const database = await postgresDatabase(server)
  const one = await setupWebhooks(t, { database })
  const another = await setup({ database, clock: one.clock, work: false })
  for (const s of [one, another, one, another, another])
    assert.equal((await s.call('POST', '/v1/notify', shipped)).status, 202)
  await another.notify.stop()
  await one.notify.stop()
  const { rows } = await database.query<{ step: number; sum: number }>(
    `SELECT step, sum(value)::bigint AS sum FROM notify.stat WHERE measure = 'outcomes' GROUP BY step ORDER BY step`,
  )
  assert.deepEqual(rows, [
    { step: 60, sum: 5 },
    { step: 3_600, sum: 5 },
  ])
})
