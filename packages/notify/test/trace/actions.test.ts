import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Database, manualClock, type Query, type Queryable, type Rows } from '@gatehouse/kit'
import type { Provider } from '../../src/index.ts'
import { bucketOfUser } from '../../src/model/id.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { testBuckets } from '../support/engine/engine.ts'
import { claimDue } from '../support/processes/claims.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }

async function started(options: SetupOptions = {}): Promise<Setup> {
  const s = await setup(options)
  await seedEventType(s)
  return s
}

const notify = async ({ call }: Setup, body: object) => (await call('POST', '/v1/notify', { ...shipped, ...body })).body
const cancel = (s: Setup, id: string, body: object = {}, scopes?: string) =>
  s.call('POST', `/v1/notifications/${id}/cancel`, body, scopes)
const resend = (s: Setup, id: string, body: object, scopes?: string) =>
  s.call('POST', `/v1/notifications/${id}/resend`, body, scopes)
const read = async ({ call }: Setup, id: string) => (await call('GET', `/v1/notifications/${id}`)).body
const endsOf = ({ deliveries }: { deliveries: Array<{ channel: string; ended?: string }> }) =>
  deliveries.map(({ channel, ended }) => `${channel} ${ended}`)
const mailbox = async ({ call }: Setup) => (await call('GET', '/dev/mailbox')).body.messages

test('a cancellation ends what is queued on its channels, and not what a worker has', async (t) => {
  const s = await started({ work: false })
  t.after(s.close)
  const { id } = await notify(s, { channels: ['email', 'sms', 'push'] })
  const [claimed] = await claimDue(s.store.deliveries, { channel: 'sms', now: s.clock.now() })
  assert.ok(claimed)
  assert.deepEqual((await cancel(s, id, { channels: ['email', 'sms'] })).body, {
    cancelled: ['email'],
    under_way: ['sms'],
  })
  assert.deepEqual(endsOf(await read(s, id)), ['push undefined', 'email cancelled', 'sms undefined'])
  assert.deepEqual(await claimDue(s.store.deliveries, { channel: 'email', now: s.clock.now() }), [])
  assert.deepEqual((await cancel(s, id, { channels: ['email'] })).body, { cancelled: [], under_way: [] })
  await s.store.deliveries.release([claimed], s.clock.now())
  assert.deepEqual((await cancel(s, id)).body, { cancelled: ['push', 'sms'], under_way: [] })
  const { timeline } = await read(s, id)
  const cancelled = timeline.filter(({ what }: { what: string }) => what === 'cancelled')
  assert.deepEqual(cancelled.map(({ channel }: { channel: string }) => channel).sort(), ['email', 'push', 'sms'])
})

test('a cancellation ends what quiet hours defer, and leaves the other channels deferred', async (t) => {
  const s = await started({ clock: manualClock(Date.parse('2026-06-01T23:30:00Z')) })
  t.after(s.close)
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  const { id } = await notify(s, { channels: ['email', 'sms'] })
  assert.deepEqual((await cancel(s, id, { channels: ['sms', 'push'] })).body, { cancelled: ['sms'], under_way: [] })
  s.clock.set(Date.parse('2026-06-02T08:00:01Z'))
  const sent = await eventually(
    () => read(s, id),
    ({ deliveries }) => deliveries[0].state === 'sent',
  )
  assert.deepEqual(endsOf(sent), ['email undefined', 'sms cancelled'])
  assert.deepEqual(
    (await mailbox(s)).map(({ channel }: { channel: string }) => channel),
    ['email'],
  )
})

test('a cancellation takes a notification out of the window that gathers it', async (t) => {
  const s = await started()
  t.after(s.close)
  await seedEventType(s, 'photo.liked', {
    channels: ['email', 'in-app'],
    aggregation: { threshold: 10, actor: 'actor' },
  })
  const liked = (actor: string) => notify(s, { event: 'photo.liked', data: { order_id: actor, actor } })
  const [ann, bob, eve] = [await liked('ann'), await liked('bob'), await liked('eve')]
  assert.deepEqual((await cancel(s, ann.id)).body, { cancelled: ['email', 'in-app'], under_way: [] })
  assert.deepEqual((await cancel(s, bob.id, { channels: ['email'] })).body.cancelled, ['email'])
  assert.deepEqual(endsOf(await read(s, ann.id)), ['email cancelled', 'in-app cancelled'])
  s.clock.advance(300_001)
  await eventually(
    () => read(s, eve.id),
    ({ deliveries }) => deliveries.every(({ state }: { state?: string }) => state === 'sent'),
  )
  await eventually(
    () => read(s, bob.id),
    ({ deliveries }) => deliveries.at(-1).state === 'sent',
  )
  const bodies = (await mailbox(s)).map(({ channel, body }: { channel: string; body: string }) => `${channel} ${body}`)
  assert.deepEqual(bodies.sort(), ['email Order eve left.', 'in-app Order bob left.', 'in-app Order eve left.'])
  const alone = await liked('zoe')
  await cancel(s, alone.id)
  assert.equal((await s.database.query('SELECT FROM notify.pending_window')).rowCount, 0, 'no window stays empty')
})

test('a cancellation reports what is being flushed as under way', async (t) => {
  const s = await started({ work: false })
  t.after(s.close)
  await seedEventType(s, 'photo.liked', {
    channels: ['email', 'in-app'],
    aggregation: { threshold: 10, actor: 'actor' },
  })
  const liked = () => notify(s, { event: 'photo.liked', data: { order_id: 'A-1', actor: 'ann' } })
  const { id } = await liked()
  s.clock.advance(300_001)
  const buckets = [bucketOfUser('alice', testBuckets)]
  assert.equal((await s.store.waiting.closeWindows(buckets, 10, 60_000, s.clock.now())).length, 1)
  assert.deepEqual((await cancel(s, id)).body, { cancelled: [], under_way: ['email', 'in-app'] })
  await liked()
  const { body } = await cancel(s, id, { channels: ['email'] })
  assert.deepEqual(body, { cancelled: [], under_way: ['email'] }, 'another window is open beside it')
})

/** Takes no push: each ends as a dead letter, and falls back to email. */
const refusing: Provider = {
  name: 'refusing',
  channel: 'push',
  timeoutMs: 1_000,
  send: async (messages) => messages.map(() => ({ kind: 'permanent', code: '400', reason: 'no' })),
}

interface Shown {
  readonly deliveries: Array<{ channel: string; ended?: string }>
  readonly timeline: Array<{ what: string; channel?: string }>
}

const isPushDead = ({ timeline }: Shown) =>
  timeline.some(({ what, channel }) => what === 'dead_letter' && channel === 'push')
const fallbacks = async ({ database }: Setup) => (await database.query('SELECT FROM notify.deferred')).rowCount

test('an email that is cancelled while it is gathered does not come as the fallback of its push', async (t) => {
  const s = await started({ work: false })
  t.after(s.close)
  await seedEventType(s, 'photo.liked', { channels: ['push', 'email'], aggregation: { threshold: 10, actor: 'actor' } })
  const { id } = await notify(s, { event: 'photo.liked', data: { order_id: 'A-1', actor: 'ann' } })
  assert.deepEqual((await cancel(s, id, { channels: ['email'] })).body, { cancelled: ['email'], under_way: [] })
  s.clock.advance(300_001)
  const working = await setup({ database: s.database, clock: s.clock, providers: { push: [refusing] } })
  const dead = await eventually(() => read(s, id), isPushDead)
  await working.notify.stop()
  assert.deepEqual(endsOf(dead), ['push dead_letter', 'email cancelled'])
  assert.equal(await fallbacks(s), 0)
})

test('what is cancelled while its push is under way does not fall back to email', async (t) => {
  const sending = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<void>()
  const send: Provider['send'] = async (messages, signal) => {
    sending.resolve()
    await refused.promise
    return refusing.send(messages, signal)
  }
  const s = await started({ providers: { push: [{ ...refusing, timeoutMs: 30_000, send }] } })
  t.after(s.close)
  const { id } = await notify(s, { channels: ['push'] })
  await sending.promise
  assert.deepEqual((await cancel(s, id)).body, { cancelled: ['email'], under_way: ['push'] })
  assert.deepEqual((await cancel(s, id)).body, { cancelled: [], under_way: ['push'] })
  refused.resolve()
  const dead = await eventually(() => read(s, id), isPushDead)
  assert.deepEqual(endsOf(dead), ['push dead_letter', 'email cancelled'])
  assert.equal(await fallbacks(s), 0)
})

test('a cancelled sensitive notification keeps no data', async (t) => {
  const s = await started({ work: false })
  t.after(s.close)
  await seedEventType(s, 'sign_in.code', { channels: ['email'], sensitive: true })
  const { id } = await notify(s, { event: 'sign_in.code', channels: ['email', 'sms'] })
  const data = async () =>
    (await s.database.query<{ data: object | null }>('SELECT data FROM notify.notification')).rows
  await cancel(s, id, { channels: ['sms'] })
  assert.ok((await data())[0]?.data, 'the mail is still to be written')
  await cancel(s, id)
  assert.deepEqual(await data(), [{ data: null }])
  const { status, body } = await resend(s, id, { channels: ['email'] })
  assert.deepEqual([status, /erased/.test(body.detail)], [409, true])
})

test('a resend sends nothing of what is erased while it is audited', async (t) => {
  let erase = async (): Promise<unknown> => undefined
  const s = await started({ work: false, recordChange: async () => void (await erase()) })
  t.after(s.close)
  await seedEventType(s, 'sign_in.code', { channels: ['email'], sensitive: true })
  const code = await notify(s, { event: 'sign_in.code', channels: ['email'] })
  erase = () => s.store.notifications.cancel(code.id, ['email'], s.clock.now())
  assert.equal((await resend(s, code.id, { channels: ['email'] })).status, 409)
  const { id } = await notify(s, { channels: ['email'] })
  erase = () => s.store.privacy.eraseUser('alice')
  assert.equal((await resend(s, id, { channels: ['email'] })).status, 404)
  assert.equal((await s.database.query('SELECT FROM notify.notification')).rowCount, 0)
})

/** A database that awaits `before` whenever an admission is about to be written. */
function beforeAdmissions(database: Database, before: () => Promise<void>): Database {
  const hooked = <On extends Queryable>(on: On): On => ({
    ...on,
    async query<Row extends object>(query: string | Query, values?: readonly unknown[]): Promise<Rows<Row>> {
      const text = typeof query === 'string' ? query : query.text
      if (text.startsWith('CALL notify.run_at_once')) await before()
      return on.query<Row>(query, values)
    },
  })
  return { ...hooked(database), until: (signal) => hooked(database.until(signal)) }
}

test('a resend sends nothing of what is erased just before it is admitted', async (t) => {
  let erase: (() => Promise<unknown>) | undefined
  const database = beforeAdmissions(await notifyDatabase(), async () => {
    const erasing = erase
    erase = undefined
    await erasing?.()
  })
  const s = await started({ work: false, database })
  t.after(s.close)
  await seedEventType(s, 'sign_in.code', { channels: ['email'], sensitive: true })
  const code = await notify(s, { event: 'sign_in.code', channels: ['email'] })
  erase = () => s.store.notifications.cancel(code.id, ['email'], s.clock.now())
  assert.equal((await resend(s, code.id, { channels: ['email'] })).status, 409)
  const { id } = await notify(s, { channels: ['email'] })
  erase = () => s.store.privacy.eraseUser('alice')
  const both = [resend(s, id, { channels: ['in-app'] }), notify(s, { user_id: 'bob', channels: ['in-app'] })] as const
  const [refused, { id: other }] = await Promise.all(both)
  assert.equal(refused.status, 404)
  const { rows } = await s.database.query('SELECT id FROM notify.notification')
  assert.deepEqual(rows, [{ id: other }], 'what is admitted with it is')
})

test('a resend accepts the event again with its data, once for a key', async (t) => {
  const s = await started({ options: { caps: { total: 3, channels: {}, priorities: {} } } })
  t.after(s.close)
  const { id } = await notify(s, { channels: ['email'], dedup_key: 'k' })
  const first = await resend(s, id, { channels: ['sms'], dedup_key: 'k' })
  assert.equal(first.status, 202)
  assert.deepEqual(
    first.body.deliveries.map(({ channel, outcome }: { channel: string; outcome: string }) => [channel, outcome]),
    [['sms', 'queued']],
  )
  const repeated = await Promise.all(['k', 'k'].map((key) => resend(s, id, { channels: ['sms'], dedup_key: key })))
  for (const { body } of repeated) assert.deepEqual([body.id, body.deliveries[0].outcome], [first.body.id, 'duplicate'])
  const sent = await eventually(
    () => mailbox(s),
    ({ length }) => length === 2,
  )
  assert.deepEqual(sent.map(({ channel, body }: { channel: string; body: string }) => [channel, body]).sort(), [
    ['email', 'Order A-1 left.'],
    ['sms', 'Order A-1 left.'],
  ])
  const entries = async (of: string, what: string) =>
    (await read(s, of)).timeline.flatMap((each: { what: string; detail: object }) =>
      each.what === what ? [each.detail] : [],
    )
  assert.deepEqual(await entries(id, 'resent'), [{ into: first.body.id, channels: ['sms'] }])
  assert.equal((await entries(first.body.id, 'accepted'))[0].resend_of, id)
  assert.equal(
    (await resend(s, id, { channels: ['sms'] })).body.deliveries[0].outcome,
    'queued',
    'without a key it is new',
  )
  assert.equal((await resend(s, id, { channels: ['sms'] })).body.deliveries[0].outcome, 'capped')
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'sms' })
  assert.equal((await resend(s, id, { channels: ['sms'] })).body.deliveries[0].outcome, 'undeliverable')
})

test('producers and the management act on notifications, and users on their own', async (t) => {
  const s = await started({ work: false })
  t.after(s.close)
  const { id } = await notify(s, { channels: ['email'] })
  const channels = { channels: ['sms'] }
  for (const scopes of ['read:delivery', 'read:notifications', 'user:alice read:notifications'])
    for (const act of [cancel, resend]) assert.equal((await act(s, id, channels, scopes)).status, 403, scopes)
  for (const act of [cancel, resend])
    assert.equal((await act(s, id, channels, 'user:bob write:notifications')).status, 404)
  for (const scopes of ['write:notifications', 'user:olga admin:notifications']) {
    assert.equal((await cancel(s, id, channels, scopes)).status, 200)
    assert.equal((await resend(s, id, channels, scopes)).status, 202)
  }
  for (const body of [{}, { channels: [] }, { channels: ['fax'] }, { ...channels, data: {} }])
    assert.equal((await resend(s, id, body)).status, 400, JSON.stringify(body))
})
