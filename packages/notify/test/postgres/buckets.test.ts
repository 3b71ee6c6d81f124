import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider, SendResult } from '../../src/index.ts'
import { bucketOfUser } from '../../src/model/id.ts'
import type { PostgresNotifyOptions } from '../../src/postgres/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const buckets = 4
const users = Array.from({ length: 24 }, (_, n) => `user-${n}`)

interface Spread {
  readonly s: Setup
  readonly sent: Array<{ readonly userId: string; readonly id: string }>
  /** What the provider answers from now on. */
  answer(result: SendResult): void
}

/** Users of every bucket, who can be reached by email. */
async function spread(tables: PostgresNotifyOptions = { buckets }): Promise<Spread> {
  assert.equal(new Set(users.map((user) => bucketOfUser(user, buckets))).size, buckets, 'every bucket has users')
  const sent: Spread['sent'] = []
  let result: SendResult = { kind: 'accepted' }
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(({ userId, id }) => {
        if (result.kind === 'accepted') sent.push({ userId, id })
        return result
      }),
  }
  const s = await setup({ tables, providers: { email: [provider] } })
  await seedEventType(s)
  const recipients = users.map((user_id) => ({ user_id, email: `${user_id}@example.com` }))
  assert.ok((await s.call('PUT', '/v1/recipients', { recipients })).status < 300)
  return {
    s,
    sent,
    answer(next) {
      result = next
    },
  }
}

const places = (distributed: boolean) => (distributed ? 'one at a time' : 'at once')

const eventOf = (user_id: string) => ({
  event: 'order.shipped',
  user_id,
  data: { order_id: 'A-1' },
  channels: ['email'],
  dedup_key: 'k',
})

for (const distributed of [false, true])
  test(`users of many buckets are admitted in them (${places(distributed)})`, async (t) => {
    const { s, sent } = await spread({ buckets, distributed })
    t.after(s.close)
    const bulk = () =>
      s.http.inject({
        method: 'POST',
        url: '/v1/notify/bulk',
        headers: { authorization: 'Bearer write:notifications' },
        payload: users.map(eventOf),
      })
    const lines = async () =>
      (await bulk()).body
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const first = await lines()
    await eventually(
      async () => sent.length,
      (count) => count === users.length,
    )
    assert.deepEqual(new Set(sent.map(({ userId }) => userId)), new Set(users))
    const again = await lines()
    assert.deepEqual(
      again.map(({ id }) => id),
      first.map(({ id }) => id),
    )
    assert.ok(again.every(({ deliveries }) => deliveries[0].outcome === 'duplicate'))
    const { rows } = await s.database.query<{ bucket: number; user_id: string }>(
      'SELECT bucket, user_id FROM notify.delivery',
    )
    assert.ok(rows.every(({ bucket, user_id }) => bucket === bucketOfUser(user_id, buckets)))
    assert.equal(sent.length, users.length)
  })

for (const distributed of [false, true])
  test(`what is scheduled in any bucket fires, is read and cancelled (${places(distributed)})`, async (t) => {
    const { s, sent } = await spread({ buckets, distributed })
    t.after(s.close)
    const fire_at = new Date(s.clock.now() + 60_000).toISOString()
    const made = await Promise.all(
      users.map((user) => s.call('POST', '/v1/scheduled', { fire_at, payload: eventOf(user) })),
    )
    for (const { body } of made) assert.equal((await s.call('GET', `/v1/scheduled/${body.id}`)).status, 200)
    for (const { body } of made.slice(0, 4))
      assert.equal((await s.call('DELETE', `/v1/scheduled/${body.id}`)).status, 204)
    s.clock.advance(60_000)
    await eventually(
      async () => sent.length,
      (count) => count === users.length - 4,
    )
    assert.deepEqual(new Set(sent.map(({ userId }) => userId)), new Set(users.slice(4)))
  })

for (const distributed of [false, true])
  test(`of what is scheduled in one bucket each fires when it is due (${places(distributed)})`, async (t) => {
    const { s, sent } = await spread({ buckets, distributed })
    t.after(s.close)
    const [user = ''] = users
    const begun = s.clock.now()
    for (const minutes of [3, 1, 2]) {
      const fire_at = new Date(begun + minutes * 60_000).toISOString()
      const { status } = await s.call('POST', '/v1/scheduled', {
        fire_at,
        payload: { ...eventOf(user), dedup_key: fire_at },
      })
      assert.equal(status, 201)
    }
    for (const fired of [1, 2, 3]) {
      s.clock.advance(60_000)
      await eventually(
        async () => sent.length,
        (count) => count === fired,
      )
    }
  })

test('dead letters of all buckets are listed newest first, replayed once, and discarded', async (t) => {
  const { s, sent, answer } = await spread()
  t.after(s.close)
  answer({ kind: 'permanent', code: 'refused', reason: 'no such mailbox' })
  for (const user of users) await s.call('POST', '/v1/notify', eventOf(user))
  const list = (query: string) => s.call('GET', `/v1/dead-letters?${query}`)
  await eventually(
    () => list('limit=100'),
    ({ body }) => body.items.length === users.length,
  )
  const ids: string[] = []
  for (let before = ''; ; before = `&cursor=${ids.at(-1)}`) {
    const { body } = await list(`limit=7${before}`)
    ids.push(...body.items.map(({ id }: { id: string }) => id))
    if (body.items.length < 7) break
  }
  assert.equal(new Set(ids).size, users.length)
  assert.deepEqual(ids, ids.toSorted().reverse())
  answer({ kind: 'accepted' })
  const discarded = await s.call('POST', '/v1/dead-letters/discard', { user_id: users[0] })
  assert.deepEqual(discarded.body, { discarded: 1 })
  const replayed = await s.call('POST', '/v1/dead-letters/replay', { cause: 'permanent' })
  assert.deepEqual(replayed.body, { replayed: users.length - 1 })
  await eventually(
    async () => sent.length,
    (count) => count === users.length - 1,
  )
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', { cause: 'permanent' })).body, { replayed: 0 })
})

test('erasing a user takes their rows out of their bucket and nobody else’s', async (t) => {
  const { s, sent } = await spread()
  t.after(s.close)
  for (const user of users) await s.call('POST', '/v1/notify', eventOf(user))
  await eventually(
    async () => sent.length,
    (count) => count === users.length,
  )
  await Promise.all(s.notify.workers.map((worker) => worker.stop()))
  const [user = ''] = users
  assert.equal((await s.call('DELETE', `/v1/users/${user}/data`)).status, 200)
  for (const table of ['notification', 'delivery', 'dedup_log', 'recipient', 'cap']) {
    const { rows } = await s.database.query<{ user_id: string }>(`SELECT DISTINCT user_id FROM notify.${table}`)
    const left = rows.map(({ user_id }) => user_id).filter((each) => each !== 'alice')
    assert.deepEqual(left.sort(), users.slice(1).sort(), table)
  }
})
