import assert from 'node:assert/strict'
import { silentLog } from '@gatehouse/kit'
import { startNats, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { eventually } from '../support/setup.ts'

testWith(
  'nats-server',
  'messages that are set aside hold up no others, and each comes again with its key',
  async (t) => {
    const concurrency = 2
    const server = await startNats()
    const topic = await natsTopic({ url: server.url, log: silentLog, concurrency })
    let isBack = false
    const accepted: Array<{ readonly text: string; readonly key: string }> = []
    const keys = new Map<string, Set<string>>()
    const reading = await topic.consume(async ({ text = '', key, ack, setAside }) => {
      keys.set(text, (keys.get(text) ?? new Set()).add(key))
      if (text.startsWith('lost') && !isBack) return setAside(100)
      accepted.push({ text, key })
      ack()
    }, new AssignedPartitions())
    const client = await connect({ servers: `127.0.0.1:${server.port}` })
    t.after(async () => {
      await reading.stop()
      await topic.close()
      await client.close()
      await server.stop()
    })
    const publish = (text: string) => jetstream(client).publish('notifications', text)
    // More than the server hands out without an acknowledgement.
    const lost = Array.from({ length: concurrency * 30 }, (_, n) => `lost ${n}`)
    const others = Array.from({ length: 20 }, (_, n) => `other ${n}`)
    for (const text of [...lost, ...others]) await publish(text)
    await eventually(
      async () => accepted.length,
      (count) => count === others.length,
    )
    isBack = true
    await eventually(
      async () => accepted.length,
      (count) => count >= lost.length + others.length,
    )
    assert.deepEqual(accepted.map(({ text }) => text).toSorted(), [...lost, ...others].toSorted())
    assert.ok([...keys.values()].every(({ size }) => size === 1))
    const manager = await jetstreamManager(client)
    for (const stream of ['NOTIFICATIONS', 'NOTIFICATIONS_WAITING'])
      await eventually(
        async () => (await manager.streams.info(stream)).state.messages,
        (messages) => messages === 0,
      )
  },
)
