import assert from 'node:assert/strict'
import { freePort, startNats, temporaryFolder, testWith } from '@gatehouse/testing'
import { jetstream } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { demoSecret } from '../support/demo-client.ts'
import { Producer } from '../support/producer.ts'
import { launch, type Program, started } from '../support/program.ts'

interface StateChange {
  readonly notification_id: string
  readonly state: string
  readonly event: string
}

const shipped = {
  event: 'order.shipped',
  user_id: 'alice',
  data: { order_id: 'A-1', item: 'a red bicycle', tracking_url: 'https://shop.example/A-1' },
  channels: ['email'],
}

async function producerOf(program: Program): Promise<Producer> {
  const producer = new Producer({ url: program.url, clientId: 'demo', clientSecret: demoSecret(program) })
  await producer.signIn()
  return producer
}

/** The first state change in the stream that is as wanted, told already or yet to come. */
async function changeOf(nats: NatsConnection, wanted: (change: StateChange) => boolean): Promise<StateChange> {
  const consumer = await jetstream(nats).consumers.get('NOTIFICATION_EVENTS')
  for await (const message of await consumer.consume()) if (wanted(message.json())) return message.json()
  throw new Error('the stream ended')
}

const connected = (url: string) => connect({ servers: url.replace('nats://', '') })

testWith(
  'nats-server',
  'events of the topic are delivered and their states streamed; while NATS is away the program goes on, and catches up',
  async () => {
    const folder = temporaryFolder('nats-kept')
    let server = await startNats({ folder })
    const program = await started({ env: { NATS_URL: server.url } })
    const producer = await producerOf(program)
    let nats = await connected(server.url)

    nats.publish('notifications', JSON.stringify({ ...shipped, dedup_key: 'A-1' }))
    const { notification_id: id } = await changeOf(nats, ({ state }) => state === 'sent')
    const { timeline } = (await producer.call('GET', `/v1/notifications/${id}`)) as {
      timeline: Array<{ what: string; detail?: { source?: string } }>
    }
    assert.equal(timeline.find(({ what }) => what === 'accepted')?.detail?.source, 'topic')

    await nats.close()
    await server.stop()
    const ready = await fetch(`${program.url}/readyz`)
    const readiness = (await ready.json()) as { status: string; engines: Record<string, string> }
    assert.deepEqual([ready.status, readiness.status, readiness.engines.topic], [200, 'degraded', 'does not answer'])
    const meanwhile = await producer.notify({ ...shipped, dedup_key: 'A-2' })
    assert.equal(meanwhile.deliveries[0]?.outcome, 'queued')

    server = await startNats({ folder, port: server.port })
    nats = await connected(server.url)
    const late = await changeOf(nats, ({ notification_id }) => notification_id === meanwhile.id)
    assert.deepEqual([late.event, late.state], ['order.shipped', 'sent'])
    await nats.close()
    assert.equal((await program.stop()).code, 0)
    await server.stop()
  },
)

testWith('nats-server', 'a start without the NATS that was named ends with what is wrong', async () => {
  const program = await launch({ env: { NATS_URL: `nats://127.0.0.1:${await freePort()}` } })
  const { code, stderr } = await program.ended
  assert.equal(code, 1)
  assert.match(stderr, /^gatehouse: NATS at NATS_URL can't be reached/m)
})
