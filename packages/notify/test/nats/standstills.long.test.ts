import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { silentLog } from '@gatehouse/kit'
import { startNats, temporaryFolder, testWith } from '@gatehouse/testing'
import { AckPolicy, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'
import { eventually } from '../support/setup.ts'

const concurrency = 20
/** What the server hands out without an acknowledgement. */
const maxUnacknowledged = concurrency * 10
const newer = 10
const stream = 'NOTIFICATIONS'

const unacknowledgedOf = async (manager: JetStreamManager) =>
  (await manager.consumers.info(stream, 'notify')).num_ack_pending

/** A server that crashed: the stream has removed what was acknowledged, all but the first, and the consumer waits for it. */
async function startCrashed() {
  const folder = temporaryFolder('nats-kept')
  const stateFile = join(folder, 'jetstream', '$G', 'streams', stream, 'obs', 'notify', 'o.dat')
  const server = await startNats({ folder })
  const client = await connect({ servers: `127.0.0.1:${server.port}` })
  const topic = await natsTopic({ url: server.url, log: silentLog })
  await topic.close()
  const manager = await jetstreamManager(client)
  await manager.consumers.add(stream, {
    durable_name: 'notify',
    ack_policy: AckPolicy.Explicit,
    ack_wait: 30_000_000_000,
    max_deliver: -1,
    max_ack_pending: maxUnacknowledged,
  })
  for (let n = 1; n <= maxUnacknowledged; n++) await publish(client, n)
  const consumer = await jetstream(client).consumers.get(stream, 'notify')
  const messages = await Array.fromAsync(await consumer.fetch({ max_messages: maxUnacknowledged, expires: 5_000 }))
  assert.equal(messages.length, maxUnacknowledged)
  await end(server.process)
  const before = readFileSync(stateFile)
  const second = await startNats({ folder, port: server.port })
  await eventually(
    () => unacknowledgedOf(manager).catch(() => 0),
    (unacknowledged) => unacknowledged === maxUnacknowledged,
  )
  for (const message of messages.slice(1)) message.ack()
  await eventually(
    () => unacknowledgedOf(manager),
    (unacknowledged) => unacknowledged === 1,
  )
  await client.close()
  await end(second.process)
  writeFileSync(stateFile, before)
  return startNats({ folder, port: server.port })
}

async function end(server: Awaited<ReturnType<typeof startNats>>['process']): Promise<void> {
  const exited = once(server, 'exit')
  server.kill('SIGTERM')
  await exited
}

const publish = (client: NatsConnection, n: number) => jetstream(client).publish('notifications', `${n}`)

testWith('nats-server', 'messages that a crash of NATS left in its consumer alone hold up no others', async (t) => {
  const server = await startCrashed()
  const client = await connect({ servers: `127.0.0.1:${server.port}` })
  const manager = await jetstreamManager(client)
  assert.deepEqual(
    [await unacknowledgedOf(manager), (await manager.streams.info(stream)).state.messages],
    [maxUnacknowledged, 1],
  )
  // Longer than the server waits for an acknowledgement: what is there is delivered again by then.
  const standstillMs = 35_000
  const topic = await natsTopic({ url: server.url, log: silentLog, concurrency, checkMs: 500, standstillMs })
  const read = new Set<string>()
  const reading = await topic.consume(async ({ text = '', ack, later }) => {
    read.add(text)
    // As long as the first is in the stream the server looks for those behind it.
    if (text === '1') later(600_000)
    else ack()
  }, new AssignedPartitions())
  t.after(async () => {
    await reading.stop()
    await topic.close()
    await client.close()
    await server.stop()
  })
  for (let n = 1; n <= newer; n++) await publish(client, maxUnacknowledged + n)
  await eventuallyOnCluster(
    async () => read.size,
    (size) => size === newer + 1,
  )
  assert.ok(read.has('1'))
  await eventually(
    () => unacknowledgedOf(manager),
    (unacknowledged) => unacknowledged === 1,
  )
  assert.equal((await manager.streams.info(stream)).state.messages, 1)
})
