import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { NotifyStore, Provider } from '../../src/index.ts'
import { shipped } from '../support/providers/webhook-provider.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const orders = ['A-1', 'A-2', 'A-3']

/** Breakers of which that of `first` is half open. The question whether it may be probed fails once, and is then denied. */
function halfOpen({ providerHealth }: NotifyStore, error: Error): NotifyStore['providerHealth'] {
  let count = 0
  return {
    ...providerHealth,
    open: async (now) => new Map([['first', now - 1]]),
    async probe() {
      if (count++ === 0) throw error
      return false
    },
  }
}

/** Mails claimed together by a worker with two providers, and to which order numbers the second was called. */
async function claimTogether(t: TestContext, error: Error): Promise<{ readonly s: Setup; readonly called: string[] }> {
  const called: string[] = []
  const provider = (name: string): Provider => ({
    ...{ name, channel: 'email', timeoutMs: 1_000 },
    async send(messages) {
      called.push(...messages.map(({ content }) => `${name}: ${content.subject}`))
      return messages.map(() => ({ kind: 'accepted' }))
    },
  })
  const before = await setup({ work: false })
  await seedEventType(before)
  for (const order_id of orders)
    await before.call('POST', '/v1/notify', { ...shipped, channels: ['email'], data: { order_id } })
  const s = await setup({
    ...{ database: before.database, clock: before.clock },
    store: { ...before.store, providerHealth: halfOpen(before.store, error) },
    providers: { email: [provider('first'), provider('second')] },
  })
  t.after(async () => {
    await s.notify.stop()
    await before.close()
  })
  await eventually(
    async () => called.length,
    (calls) => calls >= orders.length - 1,
  )
  return { s, called }
}

const readQueue = async ({ database }: Setup) =>
  (await database.query('SELECT crashes, lease_until IS NOT NULL AS leased FROM notify.delivery_queue')).rows

test('a delivery for which the breakers could not be asked is released without a crash', async (t) => {
  const error = Object.assign(new Error('the connection was lost'), { code: '08006' })
  const { s, called } = await claimTogether(t, error)
  assert.deepEqual(new Set(called).size, orders.length - 1, 'the others are called at once')
  const released = await eventually(
    () => readQueue(s),
    (rows) => rows.length === 1 && (rows[0] as { leased: boolean }).leased === false,
  )
  assert.deepEqual(released, [{ crashes: 0, leased: false }])
  s.clock.advance(1_000)
  await eventually(
    async () => called.length,
    (calls) => calls === orders.length,
  )
  assert.deepEqual(
    called.toSorted(),
    orders.map((order) => `second: Order ${order}`),
  )
})

test('a claim asks a database that is silent once, and releases what it has', async (t) => {
  const before = await setup({ work: false })
  await seedEventType(before)
  for (const order_id of orders)
    await before.call('POST', '/v1/notify', { ...shipped, channels: ['email'], data: { order_id } })
  let questions = 0
  const silent: NotifyStore['providerHealth'] = {
    ...halfOpen(before.store, new Error('never')),
    async probe() {
      questions++
      await setTimeout(2_100)
      throw Object.assign(new Error('it did not answer in time'), { code: '57014' })
    },
  }
  const email: Provider[] = ['first', 'second'].map((name) => ({
    ...{ name, channel: 'email', timeoutMs: 1_000 },
    send: async (messages) => messages.map(() => ({ kind: 'accepted' })),
  }))
  const { database, clock } = before
  const s = await setup({ database, clock, store: { ...before.store, providerHealth: silent }, providers: { email } })
  t.after(async () => {
    await s.notify.stop()
    await before.close()
  })
  const queue = await eventually(
    () => readQueue(s),
    (rows) => questions > 0 && rows.every((row) => !(row as { leased: boolean }).leased),
  )
  assert.deepEqual(queue, Array(orders.length).fill({ crashes: 0, leased: false }))
  assert.equal(questions, 1)
})

test('a delivery that may itself be at fault is left to its lease, and the others are sent', async (t) => {
  const { s, called } = await claimTogether(t, new TypeError('its target can not be read'))
  assert.equal(called.length, orders.length - 1)
  const left = await eventually(
    () => readQueue(s),
    (rows) => rows.length === 1,
  )
  assert.deepEqual(left, [{ crashes: 0, leased: true }])
})
