import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../src/index.ts'
import type { StreamedEvent } from '../../src/model/work/topic.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const post: Provider = {
  name: 'post',
  channel: 'email',
  timeoutMs: 500,
  send: async (messages) => messages.map(() => ({ kind: 'accepted' })),
}

test('state changes are published in order, and after an outage with the same ids', async (t) => {
  const { topic, published } = createManualTopic()
  const refused: StreamedEvent[] = []
  let away = true
  const flaky = {
    ...topic,
    async publish(events: readonly StreamedEvent[]) {
      if (!away) return topic.publish(events)
      refused.push(...events)
      throw new Error('the stream is away')
    },
  }
  // Nobody is told of reports that go to the store itself: where buckets are apart, the sweep finds them.
  const options = { leaseMs: 2_000, sweepMs: 200 }
  const s = await setup({ topic: flaky, tables: { streaming: true }, providers: { email: [post] }, options })
  t.after(s.close)
  await seedEventType(s)
  const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'hush' }, channels: ['email'] }
  const { body } = await s.call('POST', '/v1/notify', event)
  const [{ id: deliveryId }] = body.deliveries
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => answer.body.deliveries[0].state === 'sent',
  )
  const at = s.clock.now()
  for (const report of ['opened', 'delivered', 'opened', 'clicked', 'bounced', 'clicked'] as const)
    await s.store.deliveries.report([{ provider: 'post', eventId: `${report} ${at}`, deliveryId, report, at }], at)
  await eventually(
    async () => refused,
    (events) => events.length > 0,
  )
  const { last, published: publishedCount } = await eventually(
    () => s.store.stateChanges.positions(),
    (positions) => positions.last === 4,
  )
  assert.equal(publishedCount, 0)
  away = false
  await eventually(
    () => s.store.stateChanges.positions(),
    (positions) => positions.published === last,
  )
  const order = new Map(published.map((each) => [each.id, each]))
  const states = [...order.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ payload }) => payload.state)
  assert.deepEqual(states, ['sent', 'opened', 'clicked', 'bounced'])
  assert.ok(
    refused.every(({ id }) => order.has(id)),
    'what was refused came again under its id',
  )
  assert.deepEqual([...new Set(published.map(({ payload }) => payload.event))], ['order.shipped'])
  const [first = assert.fail()] = published
  assert.deepEqual(first.payload, {
    delivery_id: deliveryId,
    notification_id: body.id,
    user_id: 'alice',
    channel: 'email',
    event: 'order.shipped',
    state: 'sent',
    at: new Date(at).toISOString(),
  })
})
