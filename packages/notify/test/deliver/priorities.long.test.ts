import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../src/index.ts'
import { seedEventType, setup } from '../support/setup.ts'

const flood = 10_000

test('a critical event overtakes 10,000 waiting newsletters, and another type gets its share', async (t) => {
  const order: string[] = []
  const unblocked = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 60_000,
    batchSize: 10,
    async send(messages) {
      await unblocked.promise
      order.push(...messages.map(({ event }) => event))
      if (order.length === flood + 101) done.resolve()
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setup({
    providers: { email: [provider] },
    options: { caps: { total: flood * 2, channels: {}, priorities: {} }, leaseMs: 600_000 },
  })
  t.after(s.close)
  await seedEventType(s, 'news.weekly', { channels: ['email'] })
  await seedEventType(s, 'order.shipped', { channels: ['email'] })
  await seedEventType(s, 'login.code', { channels: ['email'], priority: 'critical' })
  const eventOf = (event: string) => ({ event, user_id: 'alice', data: { order_id: 'A-1' } })
  await s.notify.accept(Array.from({ length: flood }, () => eventOf('news.weekly')))
  await s.notify.accept(Array.from({ length: 100 }, () => eventOf('order.shipped')))
  await s.call('POST', '/v1/notify', eventOf('login.code'))
  unblocked.resolve()
  await done.promise
  const critical = order.indexOf('login.code')
  assert.ok(critical < flood / 10, `only what was claimed before it came before it: ${critical}`)
  const lastOrder = order.lastIndexOf('order.shipped')
  assert.ok(lastOrder < flood / 5, `100 orders were among the first: the last was number ${lastOrder}`)
})
