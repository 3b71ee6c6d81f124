import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManagementChange, manualClock } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { defaultOptions } from '../../src/config/options.ts'
import type { OutgoingMessage, Provider, SendResult } from '../../src/index.ts'
import { type Suppression, suppresses } from '../../src/model/delivery/suppression.ts'
import { migrateNotify, postgresDatabase, postgresNotifyStore, startDatabaseServer } from '../support/engine/engine.ts'
import { purgeBuckets } from '../support/purge.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }

async function outcomes(s: Setup, request: object = shipped): Promise<string[]> {
  const { body } = await s.call('POST', '/v1/notify', request)
  return body.deliveries.map((d: { outcome: string }) => d.outcome)
}

test('a suppression applies to its channel, address and scope until it ends', () => {
  const entry: Suppression = { channel: 'email', address: 'a@example.com', scope: '*', reason: 'bounced' }
  const request = { channel: 'email', address: 'a@example.com', event: 'news', critical: false, now: 1_000 } as const
  const table = [
    [entry, request, true, 'the very address'],
    [entry, { ...request, address: 'A@Example.com' }, true, 'mail addresses are compared without case'],
    [entry, { ...request, address: 'b@example.com' }, false, 'another address of the user'],
    [entry, { ...request, channel: 'sms' }, false, 'another channel'],
    [{ ...entry, address: '*' }, { ...request, address: 'b@example.com' }, true, 'any address'],
    [{ ...entry, scope: 'news' }, request, true, 'its event type'],
    [{ ...entry, scope: 'orders' }, request, false, 'another event type'],
    [{ ...entry, expiresAt: 1_001 }, request, true, 'not yet ended'],
    [{ ...entry, expiresAt: 1_000 }, request, false, 'ended'],
    [entry, { ...request, critical: true }, true, 'a mailbox that is gone takes no critical mail either'],
    [{ ...entry, reason: 'manual' }, { ...request, critical: true }, true, 'the management means all'],
    [{ ...entry, reason: 'complained' }, { ...request, critical: true }, false, 'a complaint spares what is critical'],
    [{ ...entry, reason: 'unsubscribed' }, { ...request, critical: true }, false, 'so does an unsubscription'],
    [{ ...entry, reason: 'unsubscribed' }, request, true, 'and nothing else'],
  ] as const
  for (const [suppression, message, expected, why] of table)
    assert.equal(suppresses(suppression, message), expected, why)
})

test('suppressions are listed, added and lifted by filter and page by page', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const added = await s.call('POST', '/v1/suppressions', {
    user_id: 'alice',
    channel: 'email',
    address: 'alice@example.com',
    detail: 'asked by phone',
  })
  assert.equal(added.status, 201)
  assert.deepEqual([added.body.scope, added.body.reason, added.body.expires_at], ['*', 'manual', undefined])
  assert.deepEqual(await outcomes(s), ['undeliverable'])
  for (const scope of ['a', 'b', 'c'])
    await s.call('POST', '/v1/suppressions', { user_id: 'bob', channel: 'email', scope, reason: 'unsubscribed' })
  const pages: string[][] = []
  for (let before: string | undefined, more = true; more; ) {
    const { body } = await s.call('GET', `/v1/suppressions?limit=2${before ? `&cursor=${before}` : ''}`)
    pages.push(body.items.map((each: { scope: string }) => each.scope))
    before = body.next
    more = before !== undefined
  }
  assert.deepEqual(pages, [['c', 'b'], ['a', '*'], []])
  const filtered = await s.call('GET', '/v1/suppressions?reason=unsubscribed&scope=b&user_id=bob')
  assert.deepEqual(
    filtered.body.items.map((each: { address: string }) => each.address),
    ['*'],
  )
  assert.deepEqual((await s.call('DELETE', '/v1/suppressions?user_id=bob&channel=email')).body, { lifted: 3 })
  assert.equal((await s.call('DELETE', '/v1/suppressions')).status, 400, 'never all by an oversight')
  assert.equal((await s.call('DELETE', `/v1/suppressions/${added.body.id}`)).status, 204)
  assert.equal((await s.call('DELETE', `/v1/suppressions/${added.body.id}`)).status, 404)
  assert.deepEqual(await outcomes(s), ['queued'])
  for (const [method, path] of [
    ['GET', '/v1/suppressions'],
    ['POST', '/v1/suppressions'],
    ['DELETE', '/v1/suppressions?user_id=bob'],
    ['DELETE', `/v1/suppressions/${added.body.id}`],
  ] as const)
    assert.equal((await s.call(method, path, undefined, 'write:notifications')).status, 403, `${method} ${path}`)
})

test('a mail address is suppressed, found and lifted whatever the case of its letters', async (t) => {
  const s = await setup()
  t.after(s.close)
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', address: 'Alice@Example.com' })
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'push', address: 'Token' })
  const found = async (address: string) =>
    (await s.call('GET', `/v1/suppressions?address=${address}`)).body.items.length
  assert.deepEqual([await found('alice@example.com'), await found('token'), await found('Token')], [1, 0, 1])
  assert.deepEqual((await s.call('DELETE', '/v1/suppressions?address=ALICE@example.com')).body, { lifted: 1 })
})

test('a suppression that is added twice is stored once, with the later end', async (t) => {
  const s = await setup()
  t.after(s.close)
  const about = { user_id: 'alice', channel: 'email', address: 'alice@example.com' }
  const at = (days: number) => new Date(s.clock.now() + days * 86_400_000).toISOString()
  const first = await s.call('POST', '/v1/suppressions', { ...about, expires_at: at(2) })
  const second = await s.call('POST', '/v1/suppressions', { ...about, expires_at: at(1) })
  assert.deepEqual([second.body.id, second.body.expires_at], [first.body.id, at(2)])
  const forever = await s.call('POST', '/v1/suppressions', about)
  assert.deepEqual([forever.body.id, forever.body.expires_at], [first.body.id, undefined])
  assert.match((await s.call('POST', '/v1/suppressions', { ...about, expires_at: at(0) })).body.detail, /expires_at/)
})

test('a suppression ends at its time and is purged with the old records', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  const expires_at = new Date(s.clock.now() + 60_000).toISOString()
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', expires_at })
  assert.deepEqual(await outcomes(s), ['undeliverable'])
  s.clock.advance(60_000)
  assert.deepEqual(await outcomes(s), ['queued'])
  assert.deepEqual((await s.call('GET', '/v1/suppressions')).body.items, [])
  await purgeBuckets(s.store, defaultOptions.retention, s.clock.now())
  const { rows } = await s.database.query('SELECT 1 FROM notify.suppression')
  assert.equal(rows.length, 0)
})

test('users see their suppressions and can lift an unsubscription but not a bounce', async (t) => {
  const s = await setup()
  t.after(s.close)
  const own = 'user:alice write:preferences'
  const bounce = await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', reason: 'bounced' })
  const left = await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', reason: 'unsubscribed' })
  const { body } = await s.call('GET', '/v1/users/alice/suppressions', undefined, own)
  assert.deepEqual(
    body.items.map((each: { reason: string }) => each.reason),
    ['unsubscribed', 'bounced'],
  )
  assert.equal((await s.call('DELETE', `/v1/users/alice/suppressions/${left.body.id}`, undefined, own)).status, 204)
  assert.equal((await s.call('DELETE', `/v1/users/alice/suppressions/${bounce.body.id}`, undefined, own)).status, 403)
  assert.equal((await s.call('GET', '/v1/users/bob/suppressions', undefined, own)).status, 403)
  assert.equal((await s.call('DELETE', `/v1/users/bob/suppressions/${bounce.body.id}`)).status, 404)
})

test('an address that a provider reports as gone is suppressed for the declared time', async (t) => {
  const gone: SendResult = { kind: 'permanent', code: '5.1.1', reason: 'no such user', undeliverable: 'bounced' }
  const provider: Provider = {
    name: 'scripted',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages: readonly OutgoingMessage[]) => messages.map(() => gone),
  }
  const s = await setup({ providers: { email: [provider] }, options: { suppressionDays: { bounced: 30 } } })
  t.after(s.close)
  await seedEventType(s)
  assert.deepEqual(await outcomes(s), ['queued'])
  const { body } = await eventually(
    () => s.call('GET', '/v1/suppressions?user_id=alice'),
    (answer) => answer.body.items.length > 0,
  )
  const [{ address, reason, detail, since, expires_at }] = body.items
  assert.deepEqual([address, reason, detail], ['alice@example.com', 'bounced', 'no such user'])
  assert.equal(Date.parse(expires_at) - Date.parse(since), 30 * 86_400_000)
  assert.deepEqual(await outcomes(s), ['undeliverable'])
  assert.deepEqual(await outcomes(s, { ...shipped, channels: ['in-app'] }), ['queued'], 'on that channel alone')
})

testWith('postgresql', '20 concurrent requests that add the same suppressions get the stored ones', async () => {
  const server = await startDatabaseServer()
  try {
    const database = await postgresDatabase(server)
    await migrateNotify(database, { buckets: 4 })
    const store = postgresNotifyStore(database, { buckets: 4 })
    const entries = ['a', 'b', 'c'].map(
      (scope) => ({ userId: 'alice', channel: 'email', address: '*', scope, reason: 'unsubscribed' }) as const,
    )
    const now = manualClock().now()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => store.suppressions.add(turn % 2 ? entries : entries.toReversed(), now)),
    )
    assert.equal(new Set(answers.flat().map(({ id }) => id)).size, 3)
    assert.equal((await store.suppressions.list({ userId: 'alice' }, 10, undefined, now)).length, 3)
    await database.close()
  } finally {
    await server.stop()
  }
})

test('a complaint is lifted only with a reason, which the audit trail keeps', async (t) => {
  const changes: ManagementChange[] = []
  const s = await setup({
    work: false,
    recordChange: async (change) => {
      changes.push(change)
    },
  })
  t.after(s.close)
  const add = async (user_id: string, reason: string, scope = '*') =>
    (await s.call('POST', '/v1/suppressions', { user_id, channel: 'email', reason, scope })).body.id as string
  const [complaint, bounce] = [await add('alice', 'complained'), await add('alice', 'bounced')]
  const lift = (path: string) => s.call('DELETE', `/v1/suppressions${path}`)
  const refused = await lift(`/${complaint}`)
  assert.deepEqual([refused.status, refused.body.errors[0].pointer], [422, '/lift_reason'])
  assert.equal((await lift(`/${bounce}`)).status, 204)
  changes.length = 0
  assert.equal((await lift(`/${complaint}?lift_reason=asked%20by%20phone`)).status, 204)
  assert.deepEqual(changes[0]?.after, { lift_reason: 'asked by phone' })
  for (const user of ['bob', 'cid', 'dan']) {
    await add(user, 'complained')
    await add(user, 'unsubscribed', 'news')
  }
  assert.deepEqual((await lift('?channel=email&dry_run=true')).body, { lifted: 0, matched: 6, complaints: 3 })
  assert.equal((await lift('?channel=email')).status, 422)
  assert.deepEqual((await lift('?scope=news')).body, { lifted: 3 }, 'no complaint is among them')
  assert.deepEqual((await lift('?user_id=bob&lift_reason=a%20mistake')).body, { lifted: 1 })
  assert.equal(await s.store.suppressions.lift({ channel: 'email', complaints: false }), 0)
  assert.equal((await lift('?dry_run=true')).status, 400, 'a filter is needed for a count as well')
})
