import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultOptions, type Provider, type SendResult } from '../../src/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const caps = { total: 1_000, channels: {}, priorities: {} }

interface Failing {
  readonly s: Setup
  /** What the provider answers from now on. */
  answer(answer: (userId: string) => SendResult): void
}

/** Nine mails to nine users of several buckets, rejected in two ways, and a text that does not render. */
async function failing(): Promise<Failing> {
  let answer = (userId: string): SendResult => ({
    kind: 'permanent',
    code: '550',
    reason: userId < 'user-6' ? `5.1.1 <${userId}@example.com> unknown, id 8a7f00c4d1` : '5.7.1 rejected by policy',
  })
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) => messages.map(({ userId }) => answer(userId)),
  }
  const s = await setup({ tables: { buckets: 4 }, providers: { email: [provider] }, options: { caps } })
  await seedEventType(s)
  await seedEventType(s, 'order.lost')
  await s.call('PUT', '/v1/templates/order.lost/email/en', {
    body: '{{ order_id | date: "%Y" | nothing }}',
    publish: false,
  })
  for (let n = 0; n < 9; n++) {
    const user_id = `user-${n}`
    await s.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
    const event = n % 2 ? 'order.shipped' : 'order.lost'
    await s.call('POST', '/v1/notify', { event, user_id, data: { order_id: 'A-1' }, channels: ['email'] })
  }
  await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    ({ body }) => body.items.length === 9,
  )
  return {
    s,
    answer: (next) => {
      answer = next
    },
  }
}

test('dead letters are grouped, found by group, and replayed at a rate with their progress', async (t) => {
  const { s, answer } = await failing()
  t.after(s.close)
  const summary = async (query: string, scopes?: string) =>
    (await s.call('GET', `/v1/dead-letters/summary?${query}`, undefined, scopes)).body
  const counts = ({ groups }: { groups: Array<{ key?: string; count: number }> }) =>
    groups.map(({ key, count }) => [key, count])
  const byCause = await summary('group_by=cause')
  assert.deepEqual([counts(byCause), byCause.total, byCause.complete], [[['permanent', 9]], 9, true])
  assert.deepEqual(counts(await summary('group_by=provider')), [['post', 9]])
  assert.deepEqual(counts(await summary('group_by=event')), [
    ['order.lost', 5],
    ['order.shipped', 4],
  ])
  const { groups } = await summary('group_by=fingerprint')
  assert.deepEqual(
    groups.map(({ count }: { count: number }) => count),
    [6, 3],
    'addresses and ids do not part what died of the same',
  )
  assert.match(groups[0].sample.detail, /^post answered 550: 5\.1\.1 <user-\d@example\.com> unknown/)
  assert.ok(Date.parse(groups[0].first_at) <= Date.parse(groups[0].last_at))
  assert.deepEqual(groups[0].trend, [...Array.from({ length: 11 }, () => 0), 6], 'all of them died just now')
  const masked = await summary('group_by=fingerprint', 'read:delivery')
  assert.equal(
    masked.groups[0].sample.detail,
    'post answered 550: 5.1.1 •••'.replace('5.1.1 ', ''),
    JSON.stringify(masked),
  )
  assert.deepEqual(counts(await summary('group_by=event&user_id=user-3')), [['order.shipped', 1]])
  assert.equal((await s.call('GET', '/v1/dead-letters/summary')).status, 400)

  const list = async (query: string) => (await s.call('GET', `/v1/dead-letters?${query}`)).body.items.length
  assert.equal(await list(`fingerprint=${groups[1].key}`), 3)
  assert.equal(await list('provider=post'), 9)
  assert.equal(await list('provider=other'), 0)
  const later = new Date(s.clock.now() + 1).toISOString()
  assert.deepEqual([await list(`from=${later}`), await list(`to=${later}`)], [0, 9])

  answer((userId) => (userId === 'user-8' ? { kind: 'permanent', code: '550', reason: 'no' } : { kind: 'accepted' }))
  const selection = { fingerprint: groups[1].key, rate_per_second: 2 }
  await s.call('DELETE', `/v1/suppressions?scope=*`)
  const { replayed, batch_id: batchId } = (await s.call('POST', '/v1/dead-letters/replay', selection)).body
  assert.equal(replayed, 3)
  const { rows } = await s.database.query<{ due_at: number }>(
    'SELECT due_at FROM notify.delivery_queue ORDER BY due_at',
  )
  const dueIn = rows.map(({ due_at: dueAt }) => dueAt - s.clock.now())
  assert.ok(
    dueIn.every((ms) => [0, 500, 1_000].includes(ms)) && new Set(dueIn).size === dueIn.length && dueIn.includes(1_000),
    `due in ${dueIn}`,
  )
  const progress = async () => (await s.call('GET', `/v1/replays/${batchId}`)).body
  s.clock.advance(1_000)
  const { created_at: _, first, ...done } = await eventually(progress, ({ waiting }) => waiting === 0)
  assert.deepEqual(done, { batch_id: batchId, total: 3, sent: 2, waiting: 0, dead: 1 })
  assert.deepEqual(first.map(({ status }: { status: string }) => status).sort(), ['dead', 'sent', 'sent'])
  const nothing = await s.call('POST', '/v1/dead-letters/replay', { provider: 'other' })
  assert.deepEqual(nothing.body, { replayed: 0 }, 'a batch of nothing has no id')
  const purgeAfter = (days: number) =>
    s.store.privacy.purge(0, defaultOptions.retention, Date.now() + days * 86_400_000)
  await purgeAfter(29)
  assert.equal((await s.call('GET', `/v1/replays/${batchId}`)).status, 200)
  await purgeAfter(31)
  assert.equal((await s.call('GET', `/v1/replays/${batchId}`)).status, 404, 'its progress was kept for 30 days')
})
