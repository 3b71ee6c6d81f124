import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { defaultOptions } from '../../src/config/options.ts'
import type { SendResult } from '../../src/index.ts'
import { post, provider } from '../support/providers/webhook-provider.ts'
import { type Answer, eventually, type Setup, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const minute = 60_000
const day = 24 * 60 * minute
const begun = Date.parse('2026-06-01T12:00:00Z')
/** Enough that a distributed database has some of them on each of its nodes. */
const users = Array.from({ length: 8 }, (_, n) => `user-${n}`)
const cap = 4

/** A service, what was sent by it, and what the provider answers. */
interface Scene {
  readonly s: Setup
  /** The texts that each user got by email. */
  readonly mails: Map<string, string[]>
  /** State changes that were published, as `user state`. */
  readonly changes: () => readonly string[]
  readonly answer: { now: SendResult }
}

async function createScene(t: { after(work: () => Promise<void>): void }): Promise<Scene> {
  const mails = new Map<string, string[]>(users.map((user) => [user, []]))
  const answer: Scene['answer'] = { now: { kind: 'accepted' } }
  const email = {
    ...provider,
    send: async (messages: Parameters<typeof provider.send>[0]) =>
      messages.map(({ userId, content }) => {
        if (answer.now.kind === 'accepted') mails.get(userId)?.push(content.body)
        return answer.now
      }),
  }
  const { topic, published } = createManualTopic()
  const options = { caps: { total: cap, channels: {}, priorities: {} } }
  const s = await setup({
    topic,
    options,
    tables: { streaming: true },
    clock: manualClock(begun),
    providers: { email: [email] },
  })
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'photo.liked', { channels: ['email'], aggregation: { actor: 'actor', threshold: 1 } })
  await seedEventType(s, 'news.weekly', { channels: ['email'] })
  await seedEventType(s, 'code.sent', { channels: ['email'], priority: 'critical' })
  for (const user of users) {
    await s.call('PUT', `/v1/recipients/${user}`, { email: `${user}@example.com` })
    await s.call('PUT', `/v1/users/${user}/preferences/news.weekly`, { quiet_hours: { start: '11:00', end: '12:30' } })
  }
  const changes = () => published.map(({ payload }) => `${payload.user_id} ${payload.state}`)
  return { s, mails, changes, answer }
}

const outcomesOf = ({ body }: Answer): string[] => body.deliveries.map(({ outcome }: { outcome: string }) => outcome)

/** The same event for each user; what it came to must be this for all of them. */
async function notifyAll(s: Setup, event: object, expected: readonly string[]): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>()
  for (const user_id of users) {
    const answer = await s.call('POST', '/v1/notify', { data: { order_id: 'A-1' }, ...event, user_id })
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    assert.deepEqual(outcomesOf(answer), expected, user_id)
    answers.set(user_id, answer)
  }
  return answers
}

/** Waits until each user has so many mails, and no one has more. */
async function mailed({ mails }: Scene, count: number): Promise<void> {
  await eventually(
    async () => [...mails.values()].map(({ length }) => length),
    (lengths) => lengths.every((length) => length >= count),
  )
  assert.deepEqual(
    [...mails.values()].map(({ length }) => length),
    users.map(() => count),
  )
}

/** Accepted, sent, and not sent again; what the provider and the user report is recorded and published once. */
async function sendAndReport(scene: Scene): Promise<void> {
  const { s, changes } = scene
  const event = { event: 'order.shipped', channels: ['email', 'in-app'], dedup_key: 'first' }
  const first = await notifyAll(s, event, ['queued', 'queued'])
  await mailed(scene, 1)
  const again = await notifyAll(s, event, ['duplicate', 'duplicate'])
  for (const user of users) assert.equal(again.get(user)?.body.id, first.get(user)?.body.id)
  for (const user of users) {
    const { body } = first.get(user) ?? assert.fail()
    const isSent = ({ state }: { state: string }) => state === 'sent'
    const found = () => s.call('GET', `/v1/notifications/${body.id}`)
    await eventually(found, (answer) => answer.body.deliveries.every(isSent))
    const report = { eventId: `of ${user}`, deliveryId: body.deliveries[0].id, report: 'delivered', at: s.clock.now() }
    for (let times = 0; times < 2; times++) assert.equal((await post(s, [report])).status, 204)
    assert.equal((await found()).body.deliveries[0].state, 'delivered')
    const inbox = await s.call('GET', `/v1/users/${user}/inbox`)
    assert.equal(inbox.body.items.length, 1)
  }
  const expected = users.flatMap((user) => [`${user} delivered`, `${user} sent`, `${user} sent`]).sort()
  await eventually(
    async () => changes().length,
    (length) => length >= expected.length,
  )
  assert.deepEqual(changes().toSorted(), expected)
}

/** Deferred until the end of quiet hours, gathered for five minutes, and scheduled: each goes out once, at its time. */
async function waitForTimes(scene: Scene): Promise<void> {
  const { s, mails } = scene
  await notifyAll(s, { event: 'news.weekly' }, ['deferred'])
  for (const actor of ['Ann', 'Bob']) await notifyAll(s, { event: 'photo.liked', data: { actor } }, ['aggregated'])
  const fire_at = new Date(begun + 60 * minute).toISOString()
  for (const user_id of users) {
    const payload = { event: 'order.shipped', user_id, data: { order_id: 'later' }, channels: ['email'] }
    assert.equal((await s.call('POST', '/v1/scheduled', { fire_at, payload })).status, 201)
  }
  for (const [minutes, count] of [
    [5, 2],
    [30, 3],
    [60, 4],
  ] as const) {
    s.clock.set(begun + minutes * minute)
    await mailed(scene, count)
  }
  for (const texts of mails.values()) assert.equal(texts.at(-1), 'Order later left.')
}

/** Over the cap nothing is sent but what is critical; what a provider refuses is sent once it is replayed. */
async function exceedAndReplay(scene: Scene): Promise<void> {
  const { s, answer } = scene
  await notifyAll(s, { event: 'order.shipped', channels: ['email'] }, ['capped'])
  answer.now = { kind: 'permanent', code: '550', reason: 'no' }
  await notifyAll(s, { event: 'code.sent' }, ['queued'])
  const letters = () => s.call('GET', '/v1/dead-letters')
  await eventually(letters, ({ body }) => body.items.length === users.length)
  answer.now = { kind: 'accepted' }
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', {})).body.replayed, users.length)
  await mailed(scene, cap + 1)
  assert.deepEqual((await letters()).body.items, [])
}

const tablesOfUsers = [
  'notification',
  'delivery',
  'dedup_log',
  'inbox',
  'timeline_entry',
  'cap',
  'state_change',
] as const

async function countRows(s: Setup, tables: readonly string[] = tablesOfUsers): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of tables) {
    // A row has the changes of one transaction; where one was erased is a gap.
    const changes = table === 'state_change' ? ', unnest(changes) AS e WHERE e.id IS NOT NULL' : ''
    const { rows } = await s.database.query<{ count: number }>(`SELECT count(*) FROM notify.${table}${changes}`)
    counts[table] = rows[0]?.count ?? 0
  }
  return counts
}

/** One user is exported and erased, the others stay; then everything grows old and is removed. */
async function exportAndRemove({ s }: Scene): Promise<void> {
  // The queue first: what leaves it is in the outbox from then on.
  await eventually(
    () => countRows(s, ['delivery_queue', 'outbox']),
    ({ delivery_queue: queue, outbox }) => queue === 0 && outbox === 0,
  )
  await Promise.all(s.notify.workers.map((worker) => worker.stop()))
  const [erased = ''] = users
  const before = await countRows(s)
  const { body } = await s.call('GET', `/v1/users/${erased}/data`)
  for (const table of tablesOfUsers) {
    assert.ok(body.data[table]?.length > 0, `${table} is exported`)
    assert.equal(body.data[table].length * users.length, before[table], table)
  }
  assert.equal((await s.call('DELETE', `/v1/users/${erased}/data`)).status, 200)
  const left = await countRows(s)
  for (const table of tablesOfUsers)
    assert.equal((left[table] ?? 0) * users.length, (before[table] ?? 0) * (users.length - 1), table)
  assert.deepEqual((await s.call('GET', `/v1/users/${erased}/data`)).body.data, {})

  const later = s.clock.now() + 1_000 * day
  const { retention } = defaultOptions
  for (let bucket = 0; bucket < s.store.intake.buckets; bucket++)
    while ((await s.store.privacy.purge(bucket, retention, later)) > 0);
  while ((await s.store.stateChanges.purge(later, false, 1_000)) > 0);
  const aging = [...tablesOfUsers, 'outbox', 'delivery_queue', 'deferred', 'scheduled', 'pending_window', 'dead_letter']
  assert.deepEqual(await countRows(s, aging), Object.fromEntries(aging.map((table) => [table, 0])))
  assert.equal((await s.database.query('SELECT FROM notify.state_change')).rowCount, 0, 'gaps too')
}

test('a notification lives from its acceptance to its removal, whatever becomes of it', async (t) => {
  const scene = await createScene(t)
  await sendAndReport(scene)
  await waitForTimes(scene)
  await exceedAndReplay(scene)
  await exportAndRemove(scene)
})
