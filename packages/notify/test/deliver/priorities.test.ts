import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimDue } from '../support/processes/claims.ts'
import { type Setup, seedEventType, setup } from '../support/setup.ts'

const caps = { total: 1_000_000, channels: {}, priorities: {} }

/** Events of a type that wait to be sent by SMS. */
async function submit(s: Setup, event: string, count: number): Promise<void> {
  const request = { event, user_id: 'alice', data: { order_id: 'A-1' }, channels: ['sms'] as const }
  await s.notify.accept(Array.from({ length: count }, () => request))
}

async function claimed(s: Setup, limit: number): Promise<Record<string, number>> {
  const found = await claimDue(s.store.deliveries, { channel: 'sms', limit, now: s.clock.now() })
  return Object.fromEntries([...Map.groupBy(found, ({ event }) => event)].map(([event, mine]) => [event, mine.length]))
}

test('waiting event types share a claim equally, and critical ones come first', async (t) => {
  const s = await setup({ work: false, options: { caps } })
  t.after(s.close)
  for (const event of ['a.flood', 'b.rare', 'c.rare']) await seedEventType(s, event)
  await seedEventType(s, 'z.login', { priority: 'critical' })
  await submit(s, 'a.flood', 100)
  await submit(s, 'b.rare', 3)
  await submit(s, 'c.rare', 30)
  await submit(s, 'z.login', 2)
  assert.deepEqual(await claimed(s, 30), { 'a.flood': 10, 'b.rare': 3, 'c.rare': 10, 'z.login': 2 })
  const next = await claimed(s, 30)
  assert.equal(next['a.flood'], next['c.rare'])
})

test('event types that wait for their next attempt get no share of a claim', async (t) => {
  const s = await setup({ work: false, options: { caps } })
  t.after(s.close)
  await seedEventType(s, 'a.flood')
  const waiting = Array.from({ length: 20 }, (_, n) => `b.waiting.${n}`)
  for (const event of waiting) {
    await s.call('PUT', `/v1/event-types/${event}`, { channels: ['sms'], template_id: 'a.flood' })
    await submit(s, event, 1)
  }
  const inAnHour = new Date(s.clock.now() + 3_600_000).toISOString()
  await s.database.query('UPDATE notify.delivery_queue SET due_at = $1', [inAnHour])
  await submit(s, 'a.flood', 60)
  assert.deepEqual(await claimed(s, 40), { 'a.flood': 40 })
  s.clock.advance(3_600_000)
  const later = await claimed(s, 21)
  assert.deepEqual(Object.keys(later).sort(), ['a.flood', ...waiting].sort())
})
