import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Provider } from '../../src/index.ts'
import { provider as base, shipped, stateOf } from '../support/providers/webhook-provider.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

/** One call at a time. Of a lease of 20 s, half a second is left for it to begin in. */
const oneSlot = { leaseMs: 20_000, concurrency: { push: 1, email: 1, sms: 1, 'in-app': 1 } }

/** A provider whose first call lasts until the test ends it. */
function slow() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const orders: string[] = []
  const provider: Provider = {
    ...base,
    timeoutMs: 14_500,
    async send(messages, signal) {
      orders.push(...messages.map(({ content }) => content.subject ?? ''))
      if (orders.length === 1) await promise
      return base.send(messages, signal)
    },
  }
  return { provider, orders, end: () => resolve() }
}

/** Two mails, accepted while nobody works. */
async function twoMails(): Promise<{ readonly before: Setup; readonly ids: readonly string[] }> {
  const before = await setup({ work: false })
  await seedEventType(before)
  const ids: string[] = []
  for (const order_id of ['first', 'second'])
    ids.push((await before.call('POST', '/v1/notify', { ...shipped, data: { order_id } })).body.id)
  return { before, ids }
}

/** Whoever works stops first: it would wait for its database for as long as its leases last. */
function closeAfter(t: TestContext, working: Setup, before: Setup): void {
  t.after(async () => {
    await working.notify.stop()
    await before.close()
  })
}

interface QueueRow {
  readonly subject: string
  readonly attempt: number
  readonly crashes: number
  readonly leased: boolean
}

async function readQueue({ database }: Setup): Promise<Record<string, QueueRow>> {
  const { rows } = await database.query<QueueRow>(
    "SELECT message->>'subject' AS subject, attempt, crashes, lease_until IS NOT NULL AS leased FROM notify.delivery_queue",
  )
  return Object.fromEntries(rows.map((row) => [row.subject, row]))
}

test('a delivery that finds no slot is released without a crash, and sent when there is one', async (t) => {
  const { before, ids } = await twoMails()
  const { provider, orders, end } = slow()
  const { database, clock } = before
  const s = await setup({ database, clock, providers: { email: [provider] }, options: oneSlot })
  closeAfter(t, s, before)
  const again = await eventually(
    () => readQueue(s),
    ({ 'Order second': second }) => (second?.attempt ?? 0) >= 3,
  )
  assert.equal(again['Order second']?.crashes, 0)
  assert.equal(again['Order first']?.attempt, 1, 'the one that is being called keeps its lease')
  end()
  for (const id of ids)
    await eventually(
      () => stateOf(s, id),
      (state) => state === 'sent',
    )
  assert.deepEqual(orders, ['Order first', 'Order second'])
})

test('a worker that stops releases what waits for a slot, and waits for the calls under way', async (t) => {
  const { before, ids } = await twoMails()
  const { provider, orders, end } = slow()
  const { database, clock } = before
  const options = { ...oneSlot, leaseMs: 600_000 }
  const s = await setup({ database, clock, providers: { email: [provider] }, options })
  await eventually(
    () => readQueue(s),
    ({ 'Order second': second }) => second?.leased === true && orders.length === 1,
  )
  const stopped = s.notify.stop()
  t.after(before.close)
  const left = await eventually(
    () => readQueue(s),
    ({ 'Order second': second }) => second?.leased === false,
  )
  assert.deepEqual([left['Order first']?.leased, left['Order second']?.crashes], [true, 0])
  end()
  await stopped
  assert.deepEqual(orders, ['Order first'])
  assert.equal(await stateOf(before, ids[0] ?? ''), 'sent')
})

test('once sending is stopped, events are stored, and the next process sends each once', async (t) => {
  const { before, ids } = await twoMails()
  const { provider, orders, end } = slow()
  const { database, clock } = before
  const options = { ...oneSlot, leaseMs: 600_000 }
  const s = await setup({ database, clock, providers: { email: [provider] }, options })
  t.after(before.close)
  await eventually(
    () => readQueue(s),
    ({ 'Order second': second }) => second?.leased === true && orders.length === 1,
  )
  s.notify.stopSending()
  s.notify.stopSending()
  const third = await s.call('POST', '/v1/notify', { ...shipped, data: { order_id: 'third' } })
  assert.equal(third.status, 202)
  end()
  await eventually(
    () => stateOf(s, ids[0] ?? ''),
    (state) => state === 'sent',
  )
  await s.notify.stop()
  assert.deepEqual(orders, ['Order first'])
  const left = await readQueue(before)
  assert.deepEqual(
    ['Order second', 'Order third'].map((subject) => [left[subject]?.leased, left[subject]?.crashes]),
    [
      [false, 0],
      [false, 0],
    ],
  )
  const next = await setup({ database, clock, providers: { email: [provider] } })
  for (const id of [...ids, third.body.id])
    await eventually(
      () => stateOf(next, id),
      (state) => state === 'sent',
    )
  await next.notify.stop()
  assert.deepEqual(orders.toSorted(), ['Order first', 'Order second', 'Order third'])
})

test('a delivery whose workers died is attempted before those claimed with it', async (t) => {
  const { before } = await twoMails()
  const { provider, orders, end } = slow()
  end()
  const { database, clock } = before
  await database.query("UPDATE notify.delivery_queue SET crashes = 3 WHERE message->>'subject' = 'Order second'")
  const s = await setup({ database, clock, providers: { email: [provider] }, options: oneSlot })
  closeAfter(t, s, before)
  await eventually(
    async () => orders,
    ({ length }) => length === 2,
  )
  assert.deepEqual(orders, ['Order second', 'Order first'])
})
