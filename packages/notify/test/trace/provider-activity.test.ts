import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock, silentLog } from '@gatehouse/kit'
import { ProviderActivity } from '../../src/context/provider-activity.ts'
import { defaultOptions, type Provider, type SendResult } from '../../src/index.ts'
import { answerFingerprint, withoutIds } from '../../src/model/delivery/answer-fingerprint.ts'
import { durationSlot, percentileOf, slotDurationMs } from '../../src/model/durations.ts'
import type { ActivityCounts, ProviderActivityStore } from '../../src/store/store.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const caps = { total: 1_000, channels: {}, priorities: {} }

test('a duration is counted in a slot that is at most a fifth too long', () => {
  for (const ms of [0, 0.4, 1, 3, 17, 80, 250, 1_500, 30_000]) {
    const slotMs = slotDurationMs(durationSlot(ms))
    assert.ok(slotMs >= Math.floor(ms) && slotMs <= Math.max(1, Math.ceil(ms * 1.2)), `${ms} counts as ${slotMs}`)
  }
  assert.equal(durationSlot(1e9), durationSlot(70_000))
  assert.equal(percentileOf([], 0.5), undefined)
  const counts = [
    { slot: durationSlot(10), calls: 94 },
    { slot: durationSlot(1_000), calls: 6 },
  ]
  assert.ok((percentileOf(counts, 0.5) ?? 0) < 13)
  assert.ok((percentileOf(counts, 0.95) ?? 0) >= 1_000)
})

test('answers that differ in ids and addresses alone have one fingerprint, and none is kept', () => {
  const one = '550 5.1.1 <ann@example.com> unknown, id 8a7f00c4d1, call +4915112345678 "Ann Lee"'
  const other = '550 5.1.1 <bob@example.org> unknown, id 11bb22cc33, call +14155550100 "Bob"'
  assert.equal(answerFingerprint('permanent', one), answerFingerprint('permanent', other))
  assert.notEqual(answerFingerprint('permanent', one), answerFingerprint('transient', one))
  assert.notEqual(answerFingerprint('permanent', '550 5.1.1 no'), answerFingerprint('permanent', '550 5.7.1 no'))
  assert.doesNotMatch(withoutIds(one), /ann|lee|8a7f|4915/i)
  assert.match(withoutIds(one), /^550 5\.1\.1/)
})

interface Scene {
  readonly s: Setup
  answer(result: SendResult): void
  send(): Promise<unknown>
  read(scopes?: string): ReturnType<Setup['call']>
}

async function scene(more: Partial<Provider> = {}): Promise<Scene> {
  let result: SendResult = { kind: 'accepted' }
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => result),
    ...more,
  }
  const providerSources = { post: { kind: 'smtp', setting: 'SMTP_URL' } }
  const s = await setup({ providers: { email: [provider] }, providerSources, options: { caps } })
  await seedEventType(s)
  return {
    s,
    answer: (next) => {
      result = next
    },
    send: () =>
      s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['email'] }),
    read: (scopes) => s.call('GET', '/v1/providers/post', undefined, scopes),
  }
}

test('calls of the last hour are counted with their durations and errors', async (t) => {
  const { s, answer, send, read } = await scene()
  t.after(s.close)
  for (let n = 0; n < 3; n++) await send()
  const { body: accepted } = await eventually(read, ({ body }) => body.calls === 3)
  assert.deepEqual([accepted.state, accepted.failures, accepted.rejections, accepted.errors], ['closed', 0, 0, []])
  assert.deepEqual([accepted.kind, accepted.credentials], ['smtp', 'SMTP_URL'])
  assert.ok(accepted.p50_ms >= 1 && accepted.p95_ms >= accepted.p50_ms)
  answer({ kind: 'permanent', code: '550', reason: '5.1.1 <alice@example.com> unknown, id 8a7f00c4d1' })
  for (let n = 0; n < 2; n++) await send()
  const { body } = await eventually(
    () => read('read:delivery read:personal-data'),
    (each) => each.body.calls === 5,
  )
  assert.deepEqual([body.failures, body.rejections], [0, 2])
  const [error] = body.errors
  assert.deepEqual([error.result, error.count, error.sample], ['permanent', 2, '550 •••'])
  answer({ kind: 'transient', reason: '451 4.7.0 try again, id 8a7f00c4d1, Ann' })
  await send()
  const errors = async (scopes: string) => (await read(scopes)).body.errors
  const kinds = await eventually(
    () => errors('read:delivery read:personal-data'),
    (all) => all.length === 2,
  )
  assert.equal(kinds[1].sample, '451 4.7.0 try again, id #, Ann')
  assert.equal((await errors('read:delivery'))[1].sample, '451 4.7.0 •••', 'the words of others are masked')
  s.clock.advance(2 * 3_600_000)
  const later = (await read()).body
  assert.deepEqual([later.calls, later.errors, later.p50_ms], [0, [], undefined])
  const rows = async () => (await s.database.query('SELECT 1 FROM notify.provider_call')).rowCount
  assert.ok((await rows()) > 0)
  await s.store.privacy.purge(0, defaultOptions.retention, s.clock.now() + 8 * 86_400_000)
  assert.equal(await rows(), 0, 'they were kept for a day')
  assert.equal((await s.database.query('SELECT 1 FROM notify.provider_error')).rowCount, 0)
})

test('a provider that rejects our credentials is misconfigured until a call succeeds', async (t) => {
  const { s, answer, send, read } = await scene()
  t.after(s.close)
  answer({ kind: 'misconfigured', reason: '535 5.7.8 wrong password for ops@example.com' })
  await send()
  const { body } = await eventually(read, (each) => each.body.state === 'misconfigured')
  assert.equal(body.state, 'misconfigured')
  assert.equal((await read('read:delivery read:personal-data')).body.problem, '535 5.7.8 wrong password for @')
  assert.equal((await read('read:delivery')).body.problem, '535 5.7.8 •••')
  assert.equal(body.credentials, 'SMTP_URL')
  answer({ kind: 'accepted' })
  const healthy = await eventually(
    async () => {
      s.clock.advance(20_000)
      return read()
    },
    (each) => each.body.state === 'closed',
  )
  assert.equal(healthy.body.problem, undefined)
})

test('webhooks that nobody signed are counted apart, and hide none that was refused', async (t) => {
  const { s, read } = await scene({
    reports: {
      read: async ({ headers }) =>
        headers['x-signature'] === 'good'
          ? { kind: 'reports', reports: [] }
          : headers['x-signature'] === 'odd'
            ? { kind: 'reports', reports: [], unreadableReason: 'an unknown event' }
            : { kind: 'rejected', reason: 'the signature does not match' },
    },
  })
  t.after(s.close)
  assert.deepEqual((await read()).body.webhook, { path: '/v1/webhooks/post', refused: 0, unverified: 0 })
  const post = (signature: string) =>
    s.http.inject({ method: 'POST', url: '/v1/webhooks/post', headers: { 'x-signature': signature }, payload: 'x' })
  assert.equal((await post('good')).statusCode, 204)
  assert.equal((await post('odd')).statusCode, 204)
  for (let n = 0; n < 20; n++) assert.equal((await post('bad')).statusCode, 403)
  const { body } = await eventually(read, (each) => each.body.webhook.unverified === 20)
  const at = new Date(s.clock.now()).toISOString()
  const { path } = body.webhook
  assert.deepEqual(body.webhook, {
    path,
    refused: 1,
    last_at: at,
    refused_at: at,
    refusal: 'an unknown event',
    unverified: 20,
    unverified_at: at,
    unverified_reason: 'the signature does not match',
  })
})

test('what a process counted is stored when it stops, and once it can be where it could not', async (t) => {
  const { s, send } = await scene()
  t.after(() => s.database.close())
  const add = s.store.providerActivity.add
  let failures = 0
  Object.assign(s.store.providerActivity, {
    add: (counts: Parameters<typeof add>[0]) =>
      failures++ === 0 ? Promise.reject(new Error('the database is away')) : add(counts),
  })
  await send()
  await eventually(
    async () => failures,
    (count) => count >= 2,
  )
  await send()
  await eventually(
    () => s.database.query('SELECT 1 FROM notify.delivery_queue'),
    ({ rowCount }) => rowCount === 0,
  )
  await s.http.close()
  await s.notify.stop()
  const { rows } = await s.database.query<{ calls: number }>(
    'SELECT sum(calls)::integer AS calls FROM notify.provider_call',
  )
  assert.equal(rows[0]?.calls, 2)
})

test('counts that can not be stored for long are kept up to a number, the latest', async () => {
  const clock = manualClock(Date.parse('2026-06-01T12:00:00Z'))
  const stored: number[] = []
  let isAway = true
  const store: Pick<ProviderActivityStore, 'add'> = {
    async add({ calls }) {
      if (isAway) throw new Error('the database is away')
      stored.push(...calls.map(({ minute }) => minute))
    },
  }
  const activity = new ProviderActivity({ store: store as ProviderActivityStore, clock, log: silentLog })
  for (let minute = 0; minute < 12_000; minute++) {
    activity.recordCall('post', [{ kind: 'accepted' }], 1)
    clock.advance(60_000)
  }
  await activity.stop()
  isAway = false
  await activity.stop()
  assert.equal(stored.length, 10_000)
  assert.equal(Math.max(...stored), clock.now() - 60_000)
})

test('of counts that failed and those that came meanwhile the latest are kept', async () => {
  const clock = manualClock(Date.parse('2026-06-01T12:00:00Z'))
  const stored: ActivityCounts[] = []
  let failures = 0
  const count = (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      clock.advance(60_000)
      activity.recordCall('post', [{ kind: 'accepted' }], 1)
      activity.recordWebhook('post')
    }
  }
  const store: Pick<ProviderActivityStore, 'add'> = {
    async add(counts) {
      if (failures++ >= 2) stored.push(counts)
      else {
        count(6_000)
        throw new Error('the database is away')
      }
    },
  }
  const activity = new ProviderActivity({ store: store as ProviderActivityStore, clock, log: silentLog })
  count(6_000)
  for (let stops = 0; stops < 3; stops++) await activity.stop()
  const minutes = stored.flatMap(({ calls }) => calls.map(({ minute }) => minute))
  const latest = clock.now() - (clock.now() % 60_000)
  assert.equal(Math.max(...minutes), latest)
  assert.equal(minutes.filter((minute) => minute > latest - 12_000 * 60_000).length, 12_000)
  assert.equal(stored[0]?.webhooks[0]?.acceptedAt, clock.now())
})
