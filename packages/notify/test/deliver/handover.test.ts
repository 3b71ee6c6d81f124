import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type ManualClock, systemClock } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import type { NotifyOptions } from '../../src/config/options.ts'
import type { NotifyStore, Provider } from '../../src/index.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore } from '../support/engine/engine.ts'
import { provider as base, shipped } from '../support/providers/webhook-provider.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

interface Counts {
  /** How often the breakers were read: by each of two workers at its start, and again a second later. */
  reads: number
  /** Claims of mails, and the mails that they found. */
  claims: number
  claimed: number
}

/** A store that counts the claims of mails. */
function counting(store: NotifyStore, counts: Counts): NotifyStore {
  const { deliveries, providerHealth } = store
  return {
    ...store,
    providerHealth: {
      ...providerHealth,
      open(now, maxWaitMs) {
        counts.reads++
        return providerHealth.open(now, maxWaitMs)
      },
    },
    deliveries: {
      ...deliveries,
      async claim(request) {
        const result = await deliveries.claim(request)
        if (request.channel !== 'email') return result
        counts.claims++
        counts.claimed += result.deliveries.length
        return result
      },
    },
  }
}

interface Working {
  readonly s: Setup
  readonly counts: Counts
  readonly orders: string[]
}

/** A service whose worker of mails has nothing to do, and takes in what is admitted. */
async function working(
  t: TestContext,
  send: (order: string) => ReturnType<Provider['send']> | undefined = () => undefined,
  options: Partial<NotifyOptions> = {},
): Promise<Working> {
  const counts: Counts = { reads: 0, claims: 0, claimed: 0 }
  const orders: string[] = []
  const provider: Provider = {
    ...base,
    async send(messages, signal) {
      const [message] = messages
      const order = message?.content.subject ?? ''
      orders.push(order)
      return send(order) ?? base.send(messages, signal)
    },
  }
  const database = await notifyDatabase()
  await migrateNotify(database)
  const store = counting(postgresNotifyStore(database), counts)
  const caps = { total: 1_000, channels: {}, priorities: {} }
  const s = await setup({ database, store, providers: { email: [provider] }, options: { caps, ...options } })
  t.after(s.close)
  await seedEventType(s)
  await eventually(
    async () => counts.reads,
    (reads) => reads > 3,
  )
  return { s, counts, orders }
}

const accept = (s: Setup, orders: readonly string[]) =>
  s.notify.accept(orders.map((order_id) => ({ ...shipped, channels: ['email'], data: { order_id } })))

interface QueueRow {
  readonly subject: string
  readonly attempt: number
  readonly crashes: number
  readonly leased: boolean
}

async function readQueue({ database }: Pick<Setup, 'database'>): Promise<QueueRow[]> {
  const { rows } = await database.query<QueueRow>(
    `SELECT message->>'subject' AS subject, attempt, crashes, lease_until IS NOT NULL AS leased
       FROM notify.delivery_queue ORDER BY 1`,
  )
  return rows
}

const isEmpty = (rows: readonly QueueRow[]) => rows.length === 0

test('what is admitted while the worker has nothing to do is sent without a claim', async (t) => {
  const { s, counts, orders } = await working(t)
  const accepted = await accept(s, ['A-1', 'A-2', 'A-3'])
  await eventually(() => readQueue(s), isEmpty)
  assert.deepEqual(orders.sort(), ['Order A-1', 'Order A-2', 'Order A-3'])
  assert.equal(counts.claimed, 0)
  const [first] = accepted
  assert.ok(first && 'accepted' in first)
  const { body } = await s.call('GET', `/v1/notifications/${first.accepted.id}`)
  assert.deepEqual(body.timeline.at(-1).detail, {
    state: 'sent',
    attempt: 1,
    results: [{ target: 'email', provider: 'reporter', result: 'accepted' }],
  })
})

test('an event that comes with its replay in one batch is handed over once', async (t) => {
  const { s, counts, orders } = await working(t)
  const event = { ...shipped, channels: ['email'] as const, data: { order_id: 'A-1' }, dedup_key: 'A-1' }
  const accepted = await s.notify.accept([event, event, event])
  assert.deepEqual(
    accepted.map((each) => 'accepted' in each && each.accepted.deliveries.map(({ outcome }) => outcome)),
    [['queued'], ['duplicate'], ['duplicate']],
  )
  await eventually(() => readQueue(s), isEmpty)
  // What would come a second time would come before this.
  await accept(s, ['A-2'])
  await eventually(
    async () => orders,
    (all) => all.includes('Order A-2'),
  )
  assert.deepEqual([orders, counts.claimed], [['Order A-1', 'Order A-2'], 0])
})

test('what fails after a handover is claimed for its next attempt', async (t) => {
  let calls = 0
  const { s, counts } = await working(t, () =>
    calls++ === 0 ? Promise.resolve([{ kind: 'transient', reason: 'busy' }]) : undefined,
  )
  await accept(s, ['A-1'])
  await eventually(
    async () => s.clock.advance(500),
    () => calls === 2,
  )
  await eventually(() => readQueue(s), isEmpty)
  assert.equal(counts.claimed, 1)
})

test('more than the worker takes in is queued for anybody, and all of it is sent once', async (t) => {
  const { s, counts, orders } = await working(t, undefined, { claimSize: 1 })
  const wanted = Array.from({ length: 60 }, (_, n) => `A-${n}`)
  await accept(s, wanted)
  await eventually(() => readQueue(s), isEmpty)
  assert.deepEqual(orders.sort(), wanted.map((order) => `Order ${order}`).sort())
  assert.ok(counts.claimed >= 30, `${counts.claimed} were claimed`)
})

test('a worker that stops releases what was handed over and not begun', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const slots = { concurrency: { push: 1, email: 1, sms: 1, 'in-app': 1 } }
  const { s, orders } = await working(
    t,
    (order) => (order === 'Order A-1' ? promise.then(() => [{ kind: 'accepted' }]) : undefined),
    slots,
  )
  await accept(s, ['A-1'])
  await eventually(
    async () => orders.length,
    (count) => count === 1,
  )
  await accept(s, ['A-2', 'A-3'])
  const worker = s.notify.workers.find(({ name }) => name === 'deliver email')
  const stopped = worker?.stop()
  resolve()
  await stopped
  assert.deepEqual(
    (await readQueue(s)).map(({ crashes, leased }) => ({ crashes, leased })),
    [
      { crashes: 0, leased: false },
      { crashes: 0, leased: false },
    ],
  )
  assert.deepEqual(orders, ['Order A-1'])
  await accept(s, ['A-4'])
  assert.deepEqual((await readQueue(s)).at(-1), { subject: 'Order A-4', attempt: 0, crashes: 0, leased: false })
})

test('nothing is handed over while the only provider pauses', async (t) => {
  const { s, orders } = await working(t, () =>
    Promise.resolve([{ kind: 'rate_limited', retryAfterMs: 60_000, accountWide: true, reason: 'slow down' }]),
  )
  await accept(s, ['A-1'])
  await eventually(
    () => readQueue(s),
    ([first]) => first?.leased === false,
  )
  await eventually(
    async () => {
      await accept(s, ['A-2'])
      return (await readQueue(s)).at(-1)
    },
    (last) => last?.attempt === 0,
  )
  assert.equal(orders.length, 1)
})

test('a process that does not send a channel holds none of its deliveries', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  await accept(s, ['A-1'])
  assert.deepEqual(await readQueue(s), [{ subject: 'Order A-1', attempt: 0, crashes: 0, leased: false }])
})

test('what was handed over before quiet hours, and finds a slot in them, waits for the morning', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const slots = { concurrency: { push: 1, email: 1, sms: 1, 'in-app': 1 } }
  const { s, orders, counts } = await working(
    t,
    (order) => (order === 'Order A-1' ? promise.then(() => [{ kind: 'accepted' }]) : undefined),
    slots,
  )
  const evening = new Date(s.clock.now() + 86_400_000)
  evening.setUTCHours(21, 59, 0, 0)
  s.clock.advance(evening.getTime() - s.clock.now())
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '07:00' } })
  await accept(s, ['A-1', 'A-2'])
  await eventually(
    async () => orders.length,
    (count) => count === 1,
  )
  s.clock.advance(120_000)
  resolve()
  const dueAt = async () => {
    const { rows } = await s.database.query<{ due_at: number }>('SELECT due_at FROM notify.delivery_queue')
    return rows.map(({ due_at }) => new Date(due_at).getUTCHours())
  }
  await eventually(dueAt, ([hour]) => hour === 7)
  assert.deepEqual(orders, ['Order A-1'])
  assert.ok(counts.claimed <= 1)
})

test('what quiet hours deferred is sent in the morning without a claim', async (t) => {
  const { s, counts, orders } = await working(t)
  const evening = new Date(s.clock.now() + 86_400_000)
  evening.setUTCHours(23, 0, 0, 0)
  s.clock.advance(evening.getTime() - s.clock.now())
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '07:00' } })
  await accept(s, ['A-1', 'A-2'])
  assert.deepEqual(await readQueue(s), [])
  s.clock.advance(8 * 3_600_000 + 1_000)
  await eventually(
    async () => orders.length,
    (count) => count === 2,
  )
  await eventually(() => readQueue(s), isEmpty)
  assert.deepEqual(orders.sort(), ['Order A-1', 'Order A-2'])
  assert.equal(counts.claimed, 0)
})

test('what was aggregated is sent at its flush without a claim', async (t) => {
  const { s, counts, orders } = await working(t)
  await s.call('PUT', '/v1/event-types/order.shipped', {
    channels: ['email'],
    aggregation: { threshold: 5, actor: 'order_id' },
  })
  await accept(s, ['A-1', 'A-2'])
  assert.deepEqual(await readQueue(s), [])
  s.clock.advance(301_000)
  await eventually(
    async () => orders.length,
    (count) => count === 2,
  )
  await eventually(() => readQueue(s), isEmpty)
  assert.equal(counts.claimed, 0)
})

test('what was scheduled is sent when it fires without a claim', async (t) => {
  const { s, counts, orders } = await working(t)
  const fire_at = new Date(s.clock.now() + 60_000).toISOString()
  const payload = { ...shipped, channels: ['email'], data: { order_id: 'A-1' } }
  assert.equal((await s.call('POST', '/v1/scheduled', { fire_at, payload })).status, 201)
  s.clock.advance(61_000)
  await eventually(
    async () => orders.length,
    (count) => count === 1,
  )
  await eventually(() => readQueue(s), isEmpty)
  assert.equal(counts.claimed, 0)
})

describe('a process that dies between the commit and the handover', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'leaves a lease, and another process sends what it held when that has ended', async (t) => {
    const running = server ?? assert.fail('PostgreSQL did not start')
    const database = await postgresDatabase(running)
    const clock = systemClock as ManualClock
    const seeded = await setup({ database, clock, work: false })
    await seedEventType(seeded)
    const { rows: names } = await database.query<{ name: string }>('SELECT current_database() AS name')
    const url = running.url.replace(/[^/]+$/, names[0]?.name ?? '')
    const dying = fork(join(import.meta.dirname, '../support/processes/dying-acceptor.ts'), [url])
    const [, signal] = await once(dying, 'exit')
    assert.equal(signal, 'SIGKILL')
    assert.deepEqual(await readQueue(seeded), [{ subject: 'Order A-1', attempt: 1, crashes: 0, leased: true }])
    const sent: string[] = []
    const provider: Provider = {
      ...base,
      async send(messages, signal) {
        sent.push(...messages.map(({ retried, content }) => `${content.subject} ${retried}`))
        return base.send(messages, signal)
      },
    }
    const other = await setup({ database, clock, providers: { email: [provider] } })
    t.after(other.close)
    await database.query("UPDATE notify.delivery_queue SET lease_until = now() - interval '1 second'")
    await eventually(() => readQueue(other), isEmpty)
    assert.deepEqual(sent, ['Order A-1 true'])
    await seeded.notify.stop()
  })
})
