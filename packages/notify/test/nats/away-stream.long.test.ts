import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { StartError, silentLog } from '@gatehouse/kit'
import { startNats, startNatsCluster, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { AssignedPartitions, partitionOfUser } from '../../src/model/work/partition.ts'
import type { TopicMessage } from '../../src/model/work/topic.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { intakesOf, layoutOf } from '../../src/nats/layout.ts'
import { eventuallyOnCluster } from '../support/patience.ts'

const program = 'nats-server-2.15'
const partitions = { count: 8, streams: 2 }
const config = ['mappings = { "notifications.user.*": "notification-partitions.{{partition(8,1)}}" }']
const awayStream = 'NOTIFICATION_PARTITIONS_2'
/** So few messages are moved at once. */
const concurrency = 10

const users = Array.from({ length: 40 }, (_, n) => `user-${n}`)
const [others = [], affected = []] = [false, true].map((isAffected) =>
  users.filter((user) => partitionOfUser(user, 8) >= 4 === isAffected),
)

/** Three servers, of which one has the second stream of partitions, and nothing else. */
async function setupCluster(t: TestContext) {
  const cluster = await startNatsCluster({ program, config })
  t.after(() => cluster.stop())
  const [first, second, lone] = cluster.nodes
  assert.ok(first && second && lone)
  const servers = [first, second].map(({ url }) => url.replace('nats://', ''))
  const connection = await connect({ servers, maxReconnectAttempts: -1 })
  t.after(() => connection.close())
  const manager = await jetstreamManager(connection)
  const layout = layoutOf(partitions)
  for (const { name, subjects, retention } of [...intakesOf(layout), layout.changes]) {
    const tags = [name === awayStream ? lone.name : first.name]
    await manager.streams.add({ name, subjects: [...subjects], retention, placement: { cluster: '', tags } })
  }
  return { url: [first, second].map(({ url }) => url).join(','), lone, manager, ...publisherOf(connection) }
}

function publisherOf(connection: Awaited<ReturnType<typeof connect>>) {
  const client = jetstream(connection, { timeout: 10_000 })
  const counts = new Map<string, number>()
  const publish = async (user: string, subject: string) => {
    const n = counts.get(user) ?? 0
    counts.set(user, n + 1)
    await client.publish(subject, JSON.stringify({ event: 'note', user_id: user, data: { n } }))
  }
  return {
    /** Publishes the next event of each of these users, who stand in the body alone. */
    async publishAll(of: readonly string[]) {
      for (const user of of) await publish(user, 'notifications')
    },
    publishTo: (user: string) => publish(user, `notifications.user.${user}`),
  }
}

/** Reads the topic; answers what was received of each user, in order, without repeats. */
async function readTopic(t: TestContext, url: string, handle: (message: TopicMessage) => void) {
  const topic = await natsTopic({ url, log: silentLog, partitions, concurrency })
  t.after(() => topic.close())
  const received = new Map<string, number[]>(users.map((user) => [user, []]))
  const ownership = new AssignedPartitions()
  ownership.assign(Array.from({ length: 8 }, (_, partition) => partition))
  const consuming = await topic.consume(async (message) => {
    const { user_id: user, data } = JSON.parse(message.text ?? '')
    const known = received.get(user) ?? []
    if (!known.includes(data.n)) known.push(data.n)
    handle(message)
  }, ownership)
  t.after(() => consuming.stop())
  const all = (of: readonly string[], count: number) =>
    eventuallyOnCluster(
      async () => of.filter((user) => (received.get(user)?.length ?? 0) < count).length,
      (missing) => missing === 0,
    )
  return { received, all }
}

const ack = ({ ack: answer }: TopicMessage) => answer()
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

testWith(program, 'events of a stream whose server is dead hold up no others, and come in order', async (t) => {
  const { url, lone, manager, publishAll } = await setupCluster(t)
  const { received, all } = await readTopic(t, url, ack)
  await publishAll(users)
  await all(users, 1)
  await lone.kill()
  for (let n = 0; n < 3; n++) await publishAll(affected)
  await publishAll(others)
  await all(others, 2)
  assert.ok(affected.every((user) => received.get(user)?.length === 1))
  await lone.restart()
  for (let n = 0; n < 3; n++) await publishAll(affected)
  await all(affected, 7)
  for (const user of affected) assert.deepEqual(received.get(user), numbers(7), user)
  const stateOfWaiting = async () => (await manager.streams.info('NOTIFICATIONS_WAITING')).state
  await eventuallyOnCluster(stateOfWaiting, ({ messages }) => messages === 0)
  let published = 7
  await eventuallyOnCluster(
    async () => {
      const before = (await stateOfWaiting()).last_seq
      await publishAll(affected)
      await all(affected, ++published)
      return (await stateOfWaiting()).last_seq - before
    },
    (setAside) => setAside === 0,
  )
})

testWith(program, 'a partition is opened again while the stream of others is away', async (t) => {
  const { url, lone, publishTo } = await setupCluster(t)
  const [user = ''] = others
  let interruptions = 0
  const { all } = await readTopic(t, url, (message) => {
    if (JSON.parse(message.text ?? '').data.n === 1 && interruptions++ === 0) message.again(0)
    else message.ack()
  })
  await publishTo(user)
  await all([user], 1)
  await lone.kill()
  for (let n = 1; n < 5; n++) await publishTo(user)
  await all([user], 5)
  assert.ok(interruptions > 1, 'it came again')
})

testWith(
  program,
  'a start beside a stream whose server is dead reads the others, and it once it is back',
  async (t) => {
    const { url, lone, publishTo, publishAll } = await setupCluster(t)
    await lone.kill()
    const { received, all } = await readTopic(t, url, ack)
    for (const user of others) await publishTo(user)
    await publishAll(users)
    await all(others, 2)
    assert.ok(affected.every((user) => received.get(user)?.length === 0))
    await lone.restart()
    await all(affected, 1)
  },
)

testWith(program, 'a start where no stream of partitions has a server fails, and names one', async (t) => {
  const { url, lone, manager } = await setupCluster(t)
  const [{ name, subjects, retention } = assert.fail('no stream')] = layoutOf(partitions).partitionStreams
  await manager.streams.delete(name)
  await manager.streams.add({
    name,
    subjects: [...subjects],
    retention,
    placement: { cluster: '', tags: [lone.name] },
  })
  await lone.kill()
  await assert.rejects(natsTopic({ url, log: silentLog, partitions }), (error) => {
    assert.ok(error instanceof StartError && error.isTemporary)
    assert.match(error.message, /the stream NOTIFICATION_PARTITIONS_1: /)
    return true
  })
})

testWith(program, 'what waits for a stream that the settings do not have fails the start', async (t) => {
  const server = await startNats({ program, config })
  t.after(() => server.stop())
  await (await natsTopic({ url: server.url, log: silentLog, partitions })).close()
  const connection = await connect({ servers: server.url.replace('nats://', '') })
  t.after(() => connection.close())
  const manager = await jetstreamManager(connection)
  for (const { name } of layoutOf(partitions).partitionStreams) await manager.streams.delete(name)
  await jetstream(connection).publish(`notification-waiting.${awayStream}`, '{}')
  for (const other of [{ count: 8 }, {}])
    await assert.rejects(
      natsTopic({ url: server.url, log: silentLog, partitions: other }),
      /NOTIFICATIONS_WAITING has 1 messages of other partitions .*: start with the former settings/,
    )
})
