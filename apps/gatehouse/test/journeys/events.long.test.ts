import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startNats, startNatsCluster, temporaryFolder, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { startApart } from '../support/apart.ts'
import { demoSecret, demoToken } from '../support/demo-client.ts'
import { Producer } from '../support/producer.ts'
import { launch, root, started } from '../support/program.ts'

async function notify(url: string, secret: string): Promise<void> {
  const producer = new Producer({ url, clientId: 'demo', clientSecret: secret })
  await producer.signIn()
  const data = { order_id: 'A-1', item: 'a red bicycle', tracking_url: 'https://shop.example/A-1' }
  await producer.notify({ event: 'order.shipped', user_id: 'alice', data, channels: ['email'] })
}

test('the command of the guide reads the state of a notification on a first run', async () => {
  const guide = readFileSync(join(root, 'docs/notifications.md'), 'utf8')
  const line = /^curl .*\/v1\/events.*$/m.exec(guide)?.[0] ?? assert.fail('the guide has no line')
  const program = await started()
  await notify(program.url, demoSecret(program))
  const TOKEN = await demoToken(program)
  const env = { ...process.env, TOKEN }
  const output = execFileSync('bash', ['-c', line.replace('http://localhost:8080', program.url)], {
    encoding: 'utf8',
    env,
  })
  const { items: events, next } = JSON.parse(output)
  assert.deepEqual([events[0].user_id, events[0].event, events[0].state], ['alice', 'order.shipped', 'sent'])
  assert.equal(next, events.at(-1).cursor)
  assert.equal((await program.stop()).code, 0)
})

test('events are waited for and streamed through a gateway in another process', async () => {
  const { gateway, identity, programs } = await startApart()
  const authorization = `Bearer ${await demoToken({ url: gateway.url, stdout: identity.stdout })}`
  const waiting = fetch(`${gateway.url}/v1/events?wait=30`, { headers: { authorization } })
  const streaming = fetch(`${gateway.url}/v1/events`, { headers: { authorization, accept: 'text/event-stream' } })
  await notify(gateway.url, demoSecret(identity))
  const page = (await (await waiting).json()) as { items: Array<{ state: string }> }
  assert.equal(page.items[0]?.state, 'sent')
  const reader = (await streaming).body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body')
  let text = ''
  while (!text.includes('"state":"sent"')) text += (await reader.read()).value ?? assert.fail(text)
  await reader.cancel()
  for (const program of programs) assert.equal((await program.stop()).code, 0)
})

/** A file with the declarations of the repository and these lines of `notify`. */
function fileWith(lines: string): string {
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  const declared = readFileSync(join(root, 'gatehouse.yaml'), 'utf8')
    .replace('templates: ./templates', `templates: ${join(root, 'templates')}`)
    .concat(`\nnotify:\n${lines}\n`)
  writeFileSync(path, declared)
  return path
}

testWith('nats-server', 'the file says how the streams of NATS are kept', async () => {
  const server = await startNats()
  const lines =
    '  topic: { state_changes: { storage: memory, max_age_seconds: 3600, max_messages: 500, discard: new } }'
  const program = await started({ env: { NATS_URL: server.url, GATEHOUSE_CONFIG: fileWith(lines) } })
  const client = await connect({ servers: server.url.replace('nats://', '') })
  const { config } = await (await jetstreamManager(client)).streams.info('NOTIFICATION_EVENTS')
  assert.deepEqual(
    [config.storage, config.max_age, config.max_msgs, config.discard],
    ['memory', nanos(3_600_000), 500, 'new'],
  )
  await client.close()
  assert.equal((await program.stop()).code, 0)
  await server.stop()
})

testWith('nats-server', 'replicas of the environment that one server cannot keep end the start', async () => {
  const server = await startNats()
  const { ended } = await launch({ env: { NATS_URL: server.url, NATS_REPLICAS: '3' } })
  const { code, stderr } = await ended
  assert.equal(code, 1)
  assert.match(stderr, /NOTIFICATIONS can't be created: it is to have 3 replicas, and NATS is one server/)
  await server.stop()
})

testWith('nats-server-2.15', 'events reach the service through partitions, in three servers and copies', async (t) => {
  const cluster = await startNatsCluster({ program: 'nats-server-2.15' })
  t.after(() => cluster.stop())
  const env = { NATS_URL: cluster.url, NATS_REPLICAS: '3', GATEHOUSE_CONFIG: fileWith('  topic: { partitions: 4 }') }
  const program = await started({ env })
  const client = await connect({ servers: cluster.url.split(',').map((each) => each.replace('nats://', '')) })
  const manager = await jetstreamManager(client)
  for (const name of ['NOTIFICATIONS', 'NOTIFICATION_PARTITIONS_1', 'NOTIFICATION_EVENTS'])
    assert.equal((await manager.streams.info(name)).config.num_replicas, 3)
  const data = { order_id: 'A-1', item: 'a red bicycle', tracking_url: 'https://shop.example/A-1' }
  const event = { event: 'order.shipped', user_id: 'alice', data, channels: ['email'] }
  const consumer = await jetstream(client).consumers.get('NOTIFICATION_EVENTS')
  for (const subject of ['notifications', 'notifications.user.alice']) {
    await jetstream(client).publish(subject, JSON.stringify(event))
    const change = await consumer.next({ expires: 30_000 })
    assert.equal(change?.json<{ state: string }>().state, 'sent')
  }
  await client.close()
  assert.equal((await program.stop()).code, 0)
})

for (const [what, lines] of [
  ['replicas', '  topic: { notifications: { replicas: 6 } }'],
  ['storage', '  topic: { state_changes: { storage: tape } }'],
  ['max_age_seconds', '  topic: { state_changes: { max_age_seconds: 60 } }'],
  ['max_bytes', '  topic: { notifications: { max_bytes: 0 } }'],
  ['attempts', '  topic: { attempts: 0 }'],
  ['partitions', '  topic: { partitions: 3 }'],
  ['partition_streams', '  topic: { partitions: 4, partition_streams: 3 }'],
] as const)
  test(`a wrong ${what} of the topic ends the start with its name`, async () => {
    const { ended } = await launch({ env: { GATEHOUSE_CONFIG: fileWith(lines) } })
    const { code, stderr } = await ended
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`notify.*topic.*${what}`))
  })
