import assert from 'node:assert/strict'
import { silentLog } from '@gatehouse/kit'
import { startNats, testWith } from '@gatehouse/testing'
import { AckPolicy, type Consumer, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { withoutGaps } from '../../src/nats/gaps.ts'
import { Reader } from '../../src/nats/reader.ts'
import { eventuallyOnCluster } from '../support/patience.ts'

testWith(
  'nats-server',
  'a message that the server counts as delivered but that never came is read in its turn',
  async (t) => {
    const server = await startNats()
    t.after(() => server.stop())
    const connection = await connect({ servers: server.url.replace('nats://', '') })
    t.after(() => connection.close())
    const [client, manager] = [jetstream(connection), await jetstreamManager(connection)]
    await manager.streams.add({ name: 'notes', subjects: ['notes'], retention: 'workqueue' })
    for (let n = 0; n < 6; n++) await client.publish('notes', String(n))

    let opened = 0
    const openConsumer = async (): Promise<Consumer> => {
      for await (const { name } of manager.consumers.list('notes')) await manager.consumers.delete('notes', name)
      const name = `reader-${opened++}`
      await manager.consumers.add('notes', { durable_name: name, ack_policy: AckPolicy.Explicit })
      const consumer = await client.consumers.get('notes', name)
      // Lost on its way: to the first reader the first, to the second the first as well; then nothing more.
      if (opened <= 2) await consumer.next()
      return consumer
    }
    const received: string[] = []
    const handle = withoutGaps(async (message) => {
      received.push(message.string())
      message.ack()
    })
    const reader = new Reader({ what: 'the notes', openConsumer, handle, concurrency: 10, log: silentLog })
    t.after(() => reader.stop())
    await eventuallyOnCluster(
      async () => received.length,
      (length) => length === 6,
    )
    assert.deepEqual(received, ['0', '1', '2', '3', '4', '5'])
  },
)
