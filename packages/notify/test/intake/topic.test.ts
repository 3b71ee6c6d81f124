import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { silentLog } from '@gatehouse/kit'
import { type Server, startNats, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

describe('the topic notifications', () => {
  let server: Server | undefined
  before(async () => {
    server = await startNats().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith(
    'nats-server',
    'topic events are accepted once, invalid ones are dead letters, changes are streamed',
    async () => {
      const url = server?.url ?? assert.fail('NATS did not start')
      const topic = await natsTopic({ url, log: silentLog })
      const s = await setup({ topic, tables: { streaming: true } })
      await seedEventType(s)
      const connection = await connect({ servers: url.replace('nats://', '') })
      const js = jetstream(connection)
      const event = {
        event: 'order.shipped',
        user_id: 'alice',
        data: { order_id: 'A-1' },
        channels: ['sms'],
        dedup_key: 'A-1',
      }
      for (const text of [
        JSON.stringify(event),
        JSON.stringify(event),
        '{',
        JSON.stringify({ ...event, event: 'order.lost' }),
        JSON.stringify({ ...event, colour: 1 }),
      ])
        await js.publish('notifications', text)
      const letters = await eventually(
        () => s.call('GET', '/v1/dead-letters?cause=invalid_message'),
        ({ body }) => body.items.length === 3,
      )
      assert.match(
        letters.body.items.map((l: { detail: string }) => l.detail).join('\n'),
        /not JSON[\s\S]*order\.lost|order\.lost[\s\S]*not JSON/,
      )
      await eventually(
        () => s.call('GET', '/dev/mailbox'),
        ({ body }) => body.messages.length === 1,
      )
      const consumer = await js.consumers.get('NOTIFICATION_EVENTS')
      const first = await consumer.next({ expires: 5_000 })
      assert.deepEqual(Object.keys(first?.json<object>() ?? {}).sort(), [
        'at',
        'channel',
        'delivery_id',
        'event',
        'notification_id',
        'state',
        'user_id',
      ])
      assert.equal(first?.json<{ state: string }>().state, 'sent')
      await connection.close()
      await s.close()
    },
  )

  testWith('nats-server', 'events of a recreated stream are no duplicates of earlier ones', async () => {
    const url = server?.url ?? assert.fail('NATS did not start')
    const s = await setup()
    await seedEventType(s)
    const connection = await connect({ servers: url.replace('nats://', '') })
    const publish = async (order: string) => {
      const topic = await natsTopic({ url, log: silentLog })
      const consuming = await topic.consume(async (message) => {
        const { dedup_key: _none, ...event } = JSON.parse(message.text ?? '')
        await s.call('POST', '/v1/notify', { ...event, dedup_key: message.key })
        message.ack()
      }, new AssignedPartitions())
      const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: order }, channels: ['in-app'] }
      await jetstream(connection).publish('notifications', JSON.stringify(event))
      await eventually(
        () => s.call('GET', '/dev/mailbox'),
        ({ body }) => body.messages.some((message: { subject: string }) => message.subject === `Order ${order}`),
      )
      await consuming.stop()
      await topic.close()
    }
    const manager = await jetstreamManager(connection)
    await manager.streams.delete('NOTIFICATIONS')
    await publish('first')
    await manager.streams.delete('NOTIFICATIONS')
    await publish('second')
    await connection.close()
    await s.close()
  })
})

test('an event type over its rate answers 429 with Retry-After and names its policy', async (t) => {
  const s = await setup()
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: 2, per_seconds: 60 } })
  const viewed = { event: 'photo.viewed', user_id: 'alice', data: { order_id: 1 }, channels: ['sms'] }
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await s.call('POST', '/v1/notify', viewed)).status)
  assert.deepEqual(statuses, [202, 202, 429])
  s.clock.advance(30_500)
  const refused = await s.call('POST', '/v1/notify', viewed)
  assert.equal(refused.headers['retry-after'], '30')
  assert.equal(refused.body.type, 'https://iana.org/assignments/http-problem-types#quota-exceeded')
  assert.deepEqual(refused.body['violated-policies'], ['photo.viewed'])
  assert.equal((await s.call('POST', '/v1/notify', { ...viewed, event: 'order.shipped' })).status, 202)
  s.clock.advance(30_000)
  assert.equal((await s.call('POST', '/v1/notify', viewed)).status, 202)
})
