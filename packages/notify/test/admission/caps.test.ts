import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caps } from '../../src/config/options.ts'
import { claimDue } from '../support/processes/claims.ts'
import { type Answer, type Setup, seedEventType, setup } from '../support/setup.ts'

const day = 86_400_000

async function setupCaps(caps: Caps): Promise<Setup> {
  const s = await setup({ work: false, options: { caps } })
  await seedEventType(s, 'order.shipped')
  await seedEventType(s, 'news.weekly', { priority: 'low' })
  await seedEventType(s, 'login.code', { priority: 'critical' })
  return s
}

const submit = (s: Setup, event: string, channels: readonly string[]) =>
  s.call('POST', '/v1/notify', { event, user_id: 'alice', data: { order_id: 'A-1' }, channels })

const listOutcomes = ({ body }: Answer) =>
  Object.fromEntries(body.deliveries.map((d: { channel: string; outcome: string }) => [d.channel, d.outcome]))

test('a channel cap drops that channel alone and starts a new day with its first message', async (t) => {
  const s = await setupCaps({ total: 10, channels: { sms: 2 }, priorities: {} })
  t.after(s.close)
  const seen: unknown[] = []
  for (let n = 0; n < 3; n++) seen.push(listOutcomes(await submit(s, 'order.shipped', ['sms', 'email'])))
  assert.deepEqual(seen, [
    { email: 'queued', sms: 'queued' },
    { email: 'queued', sms: 'queued' },
    { email: 'queued', sms: 'capped' },
  ])
  s.clock.advance(day - 1)
  assert.deepEqual(listOutcomes(await submit(s, 'order.shipped', ['sms'])), { sms: 'capped' })
  s.clock.advance(1)
  assert.deepEqual(listOutcomes(await submit(s, 'order.shipped', ['sms'])), { sms: 'queued' })
})

test('a cap whose day begins a day ahead or more does not count, and one before that does', async (t) => {
  const s = await setupCaps({ total: 1, channels: {}, priorities: {} })
  t.after(s.close)
  const now = s.clock.now()
  const send = async () => listOutcomes(await submit(s, 'order.shipped', ['email'])).email
  s.clock.set(now + 30 * day)
  assert.equal(await send(), 'queued')
  s.clock.set(now)
  assert.deepEqual([await send(), await send()], ['queued', 'capped'])
  s.clock.set(now + 1 - day)
  assert.equal(await send(), 'capped')
  s.clock.set(now - day)
  assert.deepEqual([await send(), await send()], ['queued', 'capped'])
})

test('a notification without a channel left does not count against caps', async (t) => {
  const s = await setupCaps({ total: 2, channels: { sms: 1 }, priorities: {} })
  t.after(s.close)
  await submit(s, 'order.shipped', ['sms'])
  assert.deepEqual(listOutcomes(await submit(s, 'order.shipped', ['sms'])), { sms: 'capped' })
  assert.deepEqual(listOutcomes(await submit(s, 'order.shipped', ['email'])), { email: 'queued' })
  assert.deepEqual(listOutcomes(await submit(s, 'order.shipped', ['email'])), { email: 'capped' })
})

test('a priority cap applies to its priority alone; critical messages count in no cap', async (t) => {
  const s = await setupCaps({ total: 4, channels: { email: 5 }, priorities: { low: 1 } })
  t.after(s.close)
  const seen: string[] = []
  for (const event of [
    'news.weekly',
    'news.weekly',
    'login.code',
    'login.code',
    'login.code',
    'login.code',
    'login.code',
  ])
    seen.push(listOutcomes(await submit(s, event, ['email'])).email)
  assert.deepEqual(seen, ['queued', 'capped', 'queued', 'queued', 'queued', 'queued', 'queued'])
  for (let n = 0; n < 4; n++) seen.push(listOutcomes(await submit(s, 'order.shipped', ['email'])).email)
  assert.deepEqual(seen.slice(-4), ['queued', 'queued', 'queued', 'capped'])
  const { body } = await s.call('POST', '/v1/explain', {
    event: 'order.shipped',
    user_id: 'alice',
    data: {},
    channels: ['email'],
  })
  assert.equal(body.cap.used['priority:low'].used, 1)
  assert.equal(body.cap.used['channel:email'].used, 4)
})

test('critical deliveries are sent first, and low priority ones last', async (t) => {
  const s = await setup({ work: false, options: { caps: { total: 99, channels: {}, priorities: {} } } })
  t.after(s.close)
  for (const priority of ['low', 'normal', 'critical']) await seedEventType(s, `news.${priority}`, { priority })
  for (const priority of ['low', 'low', 'normal', 'normal', 'critical', 'critical'])
    await s.call('POST', '/v1/notify', {
      event: `news.${priority}`,
      user_id: 'alice',
      data: { order_id: 1 },
      channels: ['sms'],
    })
  const order: string[] = []
  for (let pass = 0; pass < 3; pass++) {
    const claimed = await claimDue(s.store.deliveries, { channel: 'sms', limit: 2, now: s.clock.now() })
    order.push(...claimed.map(({ event }) => event))
  }
  assert.deepEqual(order, ['news.critical', 'news.critical', 'news.normal', 'news.normal', 'news.low', 'news.low'])
})
