import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { silentLog } from '@gatehouse/kit'
import { startNats, temporaryFolder, testWith } from '@gatehouse/testing'
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'

/** A server that takes one password, and how often it has refused another. */
async function setupServer() {
  const log = join(temporaryFolder('nats-log'), 'nats.log')
  const configOf = (password: string) => [
    `log_file: ${JSON.stringify(log)}`,
    `authorization { user: gatehouse, password: ${password} }`,
  ]
  const server = await startNats({ config: configOf('right') })
  return {
    server,
    url: server.url.replace('nats://', 'nats://gatehouse:right@'),
    takeOnly: (password: string) => server.reconfigure(configOf(password)),
    refusals: () => readFileSync(log, 'utf8').split('authentication error').length - 1,
  }
}

testWith('nats-server', 'a server that refuses the password for a while is used again once it takes it', async (t) => {
  const { server, url, takeOnly, refusals } = await setupServer()
  const topic = await natsTopic({ url, log: silentLog, checkMs: 200 })
  let received = 0
  const reading = await topic.consume(async (message) => {
    received++
    message.ack()
  }, new AssignedPartitions())
  t.after(async () => {
    await reading.stop()
    await topic.close()
    await server.stop()
  })
  takeOnly('wrong')
  // A client that gives up does so at the second.
  await eventuallyOnCluster(
    async () => refusals(),
    (count) => count >= 4,
  )
  takeOnly('right')
  const isPublished = () =>
    topic.publish([{ id: 'change', payload: { state: 'sent' } }]).then(
      () => true,
      () => false,
    )
  await eventuallyOnCluster(isPublished, Boolean)
  await eventuallyOnCluster(
    () => topic.ping().then(() => 'well', String),
    (answer) => answer === 'well',
  )
  const producer = await connect({ servers: `127.0.0.1:${server.port}`, user: 'gatehouse', pass: 'right' })
  await jetstream(producer).publish('notifications', '{}')
  await producer.close()
  await eventuallyOnCluster(
    async () => received,
    (count) => count === 1,
  )
})

testWith('nats-server', 'a password that is refused at the start fails it at once', async (t) => {
  const { server, url } = await setupServer()
  t.after(() => server.stop())
  const began = performance.now()
  await assert.rejects(natsTopic({ url: url.replace('right', 'wrong'), log: silentLog }), /NATS_URL can't be reached/)
  assert.ok(performance.now() - began < 5_000)
})
