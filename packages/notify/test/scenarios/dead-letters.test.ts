import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultOptions } from '../../src/config/options.ts'
import type { OutgoingMessage, Provider } from '../../src/index.ts'
import { claimDue } from '../support/processes/claims.ts'
import { purgeBuckets } from '../support/purge.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
const day = 86_400_000
const shortRetention = { ...defaultOptions.retention, notificationDays: 1, deadLetterDays: 365 }

/** A provider of email that refuses until it is healed. */
function createRecoveringProvider() {
  const sent: OutgoingMessage[] = []
  const state = { healed: false }
  const provider: Provider = {
    name: 'healing',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      if (!state.healed) return messages.map(() => ({ kind: 'permanent', code: '550', reason: 'no' }))
      sent.push(...messages)
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  return { provider, sent, state }
}

test('a dead letter whose notification was purged is delivered when replayed', async (t) => {
  const { provider, sent, state } = createRecoveringProvider()
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  await s.call('POST', '/v1/notify', shipped)
  const letters = await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    ({ body }) => body.items.length === 1,
  )
  await purgeBuckets(s.store, shortRetention, Date.now() + 2 * day)
  assert.equal((await s.database.query('SELECT 1 FROM notify.notification')).rowCount, 0)
  state.healed = true
  const replayed = await s.call('POST', `/v1/dead-letters/${letters.body.items[0].id}/replay`)
  assert.equal(replayed.body.replayed, 1)
  await eventually(
    async () => sent,
    (all) => all.length === 1,
  )
  assert.equal(sent[0]?.content.body, 'Order A-1 left.')
})

test('an unrendered dead letter cannot be replayed once its notification was purged', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  await s.call('DELETE', '/v1/templates/order.shipped/email/en')
  const { body } = await s.call('POST', '/v1/notify', shipped)
  assert.equal(body.deliveries[0].outcome, 'failed')
  await purgeBuckets(s.store, shortRetention, Date.now() + 2 * day)
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/replay', {})).body, { replayed: 0 })
  const { body: left } = await s.call('GET', '/v1/dead-letters?user_id=alice&channel=email&event=order.shipped')
  assert.equal(left.items.length, 1)
  assert.equal(left.items[0].notification_id, body.id)
})

test('letters that cannot be replayed take no place of those that can', async (t) => {
  const { provider, sent, state } = createRecoveringProvider()
  const s = await setup({ providers: { email: [provider] } })
  t.after(s.close)
  await seedEventType(s)
  const lost = { text: '{', reason: 'not JSON', userId: 'alice' }
  for (const key of ['first', 'second']) await s.store.deadLetters.addInvalid({ ...lost, key }, s.clock.now())
  await s.call('DELETE', '/v1/templates/order.shipped/email/en')
  assert.equal((await s.call('POST', '/v1/notify', shipped)).body.deliveries[0].outcome, 'failed')
  await purgeBuckets(s.store, shortRetention, Date.now() + 2 * day)
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'Order', body: 'It left.' })
  await s.call('POST', '/v1/notify', shipped)
  await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    ({ body }) => body.items.length === 4,
  )
  state.healed = true
  const replay = async (body: object) => (await s.call('POST', '/v1/dead-letters/replay', body)).body
  assert.deepEqual(await replay({ dry_run: true }), { matched: 1, replayed: 0 })
  await s.database.query("UPDATE notify.dead_letter SET expires_at = '2000-01-01' WHERE message IS NULL")
  const { replayed, expired } = await replay({ limit: 2 })
  assert.deepEqual({ replayed, expired }, { replayed: 1, expired: undefined })
  await eventually(
    async () => sent,
    (all) => all.length === 1,
  )
  const { body: discard } = await s.call('POST', '/v1/dead-letters/discard', { dry_run: true })
  assert.deepEqual(discard, { matched: 3, discarded: 0 }, 'the others can be discarded')
  assert.deepEqual((await s.call('POST', '/v1/dead-letters/discard', {})).body, { discarded: 3 })
})

test('a deferred notification is not purged before it is planned again', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  await s.call('DELETE', '/v1/templates/order.shipped/email/en')
  await s.call('POST', '/v1/notify', shipped)
  const at = new Date(s.clock.now() + 10 * day).toISOString()
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', { at })).body.replayed, 1)
  await purgeBuckets(s.store, shortRetention, Date.now() + 2 * day)
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'Order', body: 'It left.' })
  s.clock.advance(10 * day)
  await eventually(
    () => s.call('GET', '/dev/mailbox'),
    ({ body }) => body.messages.length === 1,
  )
})

test('deliveries that only waited in workers that died are sent and not quarantined', async (t) => {
  const { provider, sent, state } = createRecoveringProvider()
  state.healed = true
  const dying = await setup({ work: false })
  t.after(dying.close)
  await seedEventType(dying)
  for (const order of ['1', '2', '3'])
    await dying.call('POST', '/v1/notify', { ...shipped, data: { order_id: order }, channels: ['email'] })
  for (let death = 1; death <= 3; death++)
    assert.equal(
      (await claimDue(dying.store.deliveries, { channel: 'email', leaseMs: 0, now: dying.clock.now() })).length,
      3,
    )
  const s = await setup({ database: dying.database, clock: dying.clock, providers: { email: [provider] } })
  t.after(async () => {
    await s.http.close()
    await s.notify.stop()
  })
  await eventually(
    async () => {
      dying.clock.advance(100)
      return sent
    },
    (all) => all.length === 3,
  )
  assert.equal((await s.call('GET', '/v1/dead-letters')).body.items.length, 0)
})

test('a delivery whose workers died five times is quarantined and can be replayed', async (t) => {
  const { provider, sent, state } = createRecoveringProvider()
  state.healed = true
  const dying = await setup({ work: false })
  await seedEventType(dying)
  const { body } = await dying.call('POST', '/v1/notify', shipped)
  for (let death = 1; death <= 5; death++) {
    const [claimed] = await claimDue(dying.store.deliveries, { channel: 'email', leaseMs: 0, now: dying.clock.now() })
    assert.equal(claimed?.crashes, death - 1)
  }
  const s = await setup({ database: dying.database, clock: dying.clock, providers: { email: [provider] } })
  t.after(async () => {
    await s.http.close()
    await s.notify.stop()
    await dying.close()
  })
  const letters = await eventually(
    () => s.call('GET', '/v1/dead-letters?cause=worker_died'),
    ({ body: { items } }) => items.length === 1,
  )
  assert.equal(letters.body.items[0].id, body.deliveries[0].id)
  assert.equal(sent.length, 0)
  await s.call('POST', '/v1/dead-letters/replay', { cause: 'worker_died' })
  await eventually(
    async () => sent,
    (all) => all.length === 1,
  )
})
