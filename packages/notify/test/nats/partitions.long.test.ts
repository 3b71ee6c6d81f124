import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { silentLog, systemClock } from '@gatehouse/kit'
import { type NatsOptions, startNats, startNatsCluster, temporaryFolder, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { createTopicIntake, type TopicIntakeOptions } from '../../src/intake/topic.ts'
import { type PartitionOwnership, partitionOfUser } from '../../src/model/work/partition.ts'
import type { TopicMessage } from '../../src/model/work/topic.ts'
import { tokenOfUser } from '../../src/model/work/user-token.ts'
import { natsTopic, type PartitionSettings, type StreamSettings } from '../../src/nats/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'

const program = 'nats-server-2.15'
const all = (partitions: number) => Array.from({ length: partitions }, (_, partition) => partition)
const owning = (partitions: number): PartitionOwnership => ({
  ownedPartitions: () => all(partitions),
  generation: 0,
  onChange: () => () => {},
})

async function setupServer(t: TestContext, options: NatsOptions = {}) {
  const server = await startNats({ program, ...options })
  t.after(() => server.stop())
  const connection = await connect({ servers: server.url.replace('nats://', '') })
  t.after(() => connection.close())
  const client = jetstream(connection, { timeout: 10_000 })
  return {
    url: server.url,
    client,
    /** How large a message with its headers may be, in bytes. */
    maxPayload: connection.info?.max_payload ?? 0,
    manager: await jetstreamManager(connection),
    /** Publishes an event of a user, who stands in the subject too, or in the body alone. */
    async publish(userId: string, n: number, isInSubject: boolean) {
      const subject = isInSubject ? `notifications.user.${tokenOfUser(userId)}` : 'notifications'
      await client.publish(subject, JSON.stringify({ event: 'note', user_id: userId, data: { n } }))
    },
  }
}

async function openTopic(t: TestContext, url: string, partitions: PartitionSettings) {
  const topic = await natsTopic({ url, log: silentLog, partitions })
  t.after(() => topic.close())
  return topic
}

interface Received {
  readonly userId: string
  readonly n: number
  readonly key: string
}

const receivedOf = ({ text, key }: Pick<TopicMessage, 'text' | 'key'>): Received => {
  const { user_id: userId, data } = JSON.parse(text ?? '')
  return { userId, n: data.n, key }
}

/** Checks that each user's events arrived, and in their order but for repeats. */
function checkOrder(received: readonly Received[], users: readonly string[], count: number): void {
  const byUser = Map.groupBy(received, ({ userId }) => userId)
  for (const user of users) {
    const order = [...new Set((byUser.get(user) ?? []).map(({ n }) => n))]
    assert.deepEqual(order, all(count), `the events of ${user}`)
  }
}

testWith(program, 'the server and we divide users alike, whatever their ids look like', async (t) => {
  const { url, publish, manager } = await setupServer(t)
  const partitions = 16
  await openTopic(t, url, { count: partitions })
  const users = ['alice', 'bob@example.com', 'auth0|5f7', 'Zoë', 'a b', '*', '>', 'a.b.c', '100%', '李雷', '-_', '7']
  for (const user of users) await publish(user, 0, true)
  const { state } = await manager.streams.info('NOTIFICATION_PARTITIONS_1', { subjects_filter: '>' })
  const expected = Map.groupBy(users, (user) => `notification-partitions.${partitionOfUser(user, partitions)}`)
  assert.deepEqual(
    Object.entries(state.subjects ?? {}).toSorted(),
    [...expected].map(([subject, { length }]) => [subject, length]).toSorted(),
  )
})

interface ReaderProcessOptions {
  readonly partitions: PartitionSettings
  readonly intake?: StreamSettings
}

/** A process that reads partitions, and what it reported, in the order of reports of all. */
async function startReader(t: TestContext, url: string, options: ReaderProcessOptions, received: Received[]) {
  const file = join(import.meta.dirname, '../support/topic/topic-process.ts')
  const child: ChildProcess = fork(file, [url, JSON.stringify(options)])
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  child.on('message', (message: Pick<TopicMessage, 'text' | 'key'>) => received.push(receivedOf(message)))
  return {
    own: (partitions: readonly number[], generation: number = 0) => child.send([partitions, generation]),
    /** Resolves when it stands still and all that it reported is there. */
    async freeze() {
      child.kill('SIGSTOP')
      const state = async () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.[0]
      await eventuallyOnCluster(state, (letter) => letter === 'T')
      for (const _ of ['poll', 'read']) await new Promise((resolve) => setImmediate(resolve))
    },
    thaw: () => child.kill('SIGCONT'),
    /** Resolves when it is dead and all of its reports are there. */
    async kill() {
      const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')])
      child.kill('SIGKILL')
      await ended
    },
  }
}

const users = Array.from({ length: 60 }, (_, n) => `user-${n}`)

/** Publishes events of all users, each user's in order; every second user stands in the body alone. */
async function publishInOrder(publish: (userId: string, n: number, isInSubject: boolean) => Promise<void>, n: number) {
  await Promise.all(users.map((user, index) => publish(user, n, index % 2 === 0)))
}

testWith(program, 'events of a user stay in order when one of two processes is killed', async (t) => {
  const { url, publish } = await setupServer(t)
  const [count, partitions] = [60, 8]
  const received: Received[] = []
  const options = { partitions: { count: partitions } }
  const first = await startReader(t, url, options, received)
  const second = await startReader(t, url, options, received)
  first.own([0, 1, 2, 3])
  second.own([4, 5, 6, 7])
  for (let n = 0; n < count; n++) {
    await publishInOrder(publish, n)
    if (n === count / 3) {
      await eventuallyOnCluster(
        async () => new Set(received.map(({ userId }) => userId)).size,
        (size) => size > 50,
      )
      await first.kill()
      second.own(all(partitions))
    }
  }
  await eventuallyOnCluster(
    async () => new Set(received.map(({ key }) => key)).size,
    (size) => size === count * users.length,
  )
  checkOrder(received, users, count)
})

testWith(program, 'events stay in order when a frozen process goes on beside the new owner', async (t) => {
  const { url, publish } = await setupServer(t)
  const [count, partitions] = [60, 8]
  const received: Received[] = []
  const options = { partitions: { count: partitions } }
  const first = await startReader(t, url, options, received)
  const second = await startReader(t, url, options, received)
  first.own(all(partitions))
  for (let n = 0; n < count; n++) {
    await publishInOrder(publish, n)
    if (n === count / 3) {
      await first.freeze()
      second.own(all(partitions))
    }
    if (n === (count * 2) / 3) {
      first.thaw()
      first.own([])
    }
  }
  await eventuallyOnCluster(
    async () => new Set(received.map(({ key }) => key)).size,
    (size) => size === count * users.length,
  )
  checkOrder(received, users, count)
})

testWith(program, 'events stay in order when accepting some of them fails for a while', async (t) => {
  const { url, publish } = await setupServer(t)
  const topic = await openTopic(t, url, { count: 4 })
  const received: Received[] = []
  let failures = 3
  const accept: TopicIntakeOptions['accept'] = {
    async one({ request, turn }) {
      await new Promise((resolve) => setImmediate(resolve))
      const { n } = request.data as { n: number }
      if (n === 5 && failures-- > 0) throw new Error('the database is unavailable')
      received.push({ userId: request.user_id, n, key: turn?.key ?? '' })
      return { parked: true }
    },
    idle: async () => {},
  }
  const unused = () => assert.fail('no message is at fault')
  const handle = createTopicIntake({
    accept,
    deadLetters: { addInvalid: unused, countFailure: unused } as unknown as TopicIntakeOptions['deadLetters'],
    attempts: 5,
    metrics: { topicFailures: { inc() {} } } as unknown as TopicIntakeOptions['metrics'],
    clock: systemClock,
    log: silentLog,
  })
  for (let n = 0; n < 20; n++) await publishInOrder(publish, n)
  const consuming = await topic.consume(handle, owning(4))
  t.after(() => consuming.stop())
  await eventuallyOnCluster(
    async () => new Set(received.map(({ key }) => key)).size,
    (size) => size === 20 * users.length,
  )
  checkOrder(received, users, 20)
})

testWith(program, 'events stay in order when the server is restarted among them', async (t) => {
  const folder = temporaryFolder('nats-kept')
  let server = await startNats({ program, folder })
  t.after(() => server.stop())
  const topic = await openTopic(t, server.url, { count: 4 })
  const received: Received[] = []
  const consuming = await topic.consume(async (message) => {
    await new Promise((resolve) => setImmediate(resolve))
    received.push(receivedOf(message))
    message.ack()
  }, owning(4))
  t.after(() => consuming.stop())
  const published = async (from: number, to: number) => {
    const connection = await connect({ servers: server.url.replace('nats://', '') })
    const client = jetstream(connection, { timeout: 10_000 })
    for (let n = from; n < to; n++)
      await publishInOrder(async (userId) => {
        const event = { event: 'note', user_id: userId, data: { n } }
        await client.publish(`notifications.user.${userId}`, JSON.stringify(event))
      }, n)
    await connection.close()
  }
  await published(0, 20)
  await server.stop()
  server = await startNats({ program, folder, port: server.port })
  await published(20, 40)
  await eventuallyOnCluster(
    async () => new Set(received.map(({ key }) => key)).size,
    (size) => size === 40 * users.length,
  )
  checkOrder(received, users, 40)
})

testWith(program, 'an account that may have few consumers has the streams of few partitions', async (t) => {
  const config = ['accounts { A { users: [{ user: a, password: a }], jetstream { max_consumers: 80 } } }']
  const server = await startNats({ program, config })
  t.after(() => server.stop())
  await openTopic(t, server.url.replace('nats://', 'nats://a:a@'), { count: 64 })
})

testWith(program, 'as many partitions as there may be are read from one stream, also by the next owner', async (t) => {
  const { url, manager } = await setupServer(t)
  const partitions = 1_024
  await openTopic(t, url, { count: partitions })
  // As a version made it that did not ask for so many consumers.
  await manager.streams.update('NOTIFICATION_PARTITIONS_1', { max_consumers: -1 } as object)
  for (const generation of [1, 2]) {
    const errors: unknown[] = []
    const log = { ...silentLog, error: (...line: unknown[]) => void errors.push(line) }
    const topic = await natsTopic({ url, log, partitions: { count: partitions } })
    t.after(() => topic.close())
    const consuming = await topic.consume(async (message) => message.ack(), { ...owning(partitions), generation })
    t.after(() => consuming.stop())
    const readPartitions = async () => {
      const open = await Array.fromAsync(manager.consumers.list('NOTIFICATION_PARTITIONS_1'))
      const own = open.filter(({ config }) => Object.values(config.metadata ?? {}).includes(String(generation)))
      return new Set(own.map(({ config }) => config.filter_subject)).size
    }
    await eventuallyOnCluster(readPartitions, (size) => size === partitions)
    assert.deepEqual(errors, [])
  }
})

testWith(program, 'events stay in order when the leader of their stream is killed among them', async (t) => {
  const cluster = await startNatsCluster({ program })
  t.after(() => cluster.stop())
  const [count, partitions] = [60, 8]
  const received: Received[] = []
  const options = { partitions: { count: partitions }, intake: { replicas: 3 } }
  for (const owned of [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ])
    (await startReader(t, cluster.url, options, received)).own(owned)
  const connection = await connect({
    servers: cluster.url.split(',').map((each) => each.replace('nats://', '')),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
  })
  t.after(() => connection.close())
  const client = jetstream(connection, { timeout: 2_000 })
  const publish = async (userId: string, n: number, isInSubject: boolean) => {
    const subject = isInSubject ? `notifications.user.${userId}` : 'notifications'
    const event = JSON.stringify({ event: 'note', user_id: userId, data: { n } })
    const isKept = () => client.publish(subject, event, { msgID: `${userId}-${n}` }).then(Boolean, () => false)
    await eventuallyOnCluster(isKept, Boolean)
  }
  const publishing = (async () => {
    for (let n = 0; n < count; n++) await publishInOrder(publish, n)
  })()
  const keys = () => new Set(received.map(({ userId, n }) => `${userId}-${n}`)).size
  for (const [part, stream] of ['NOTIFICATION_PARTITIONS_1', 'NOTIFICATIONS'].entries()) {
    await eventuallyOnCluster(
      async () => keys(),
      (size) => size > ((part + 1) * count * users.length) / 4,
    )
    const leader = await cluster.leaderOf(stream)
    await leader.kill()
    await cluster.leaderOf(stream)
    await leader.restart()
  }
  await publishing
  await eventuallyOnCluster(
    async () => keys(),
    (size) => size === count * users.length,
  )
  checkOrder(received, users, count)
})

testWith(
  program,
  'a message that does not fit a second time with its key is handled, and stops no other',
  async (t) => {
    const { url, client, maxPayload, publish } = await setupServer(t)
    const topic = await openTopic(t, url, { count: 4 })
    const large = (bytes: number) =>
      JSON.stringify({ event: 'note', user_id: 'alice', data: { n: 0, text: 'x'.repeat(bytes) } })
    await client.publish('notifications', large(maxPayload - large(0).length))
    await publish('alice', 1, false)
    await publish('bob', 0, false)
    const received: Received[] = []
    const consuming = await topic.consume(async (message) => {
      received.push(receivedOf(message))
      message.ack()
    }, owning(4))
    t.after(() => consuming.stop())
    await eventuallyOnCluster(
      async () => received.length,
      (count) => count === 3,
    )
    checkOrder(received, ['alice'], 2)
    checkOrder(received, ['bob'], 1)
  },
)

testWith(program, 'messages that wait to be tried again hold up no others of their partition', async (t) => {
  const { url, publish } = await setupServer(t)
  const count = 32
  const topic = await openTopic(t, url, { count })
  const candidates = Array.from({ length: 1_000 }, (_, n) => `user-${n}`)
  const [failing = '', ...others] = candidates.filter((user) => partitionOfUser(user, count) === 0)
  for (let n = 0; n < 300; n++) await publish(failing, n, true)
  for (const user of others) await publish(user, 0, true)
  const [received, failed]: [Received[], Set<string>] = [[], new Set()]
  const consuming = await topic.consume(async (message) => {
    const each = receivedOf(message)
    if (each.userId === failing) {
      failed.add(each.key)
      return message.later(600_000)
    }
    received.push(each)
    message.ack()
  }, owning(count))
  t.after(() => consuming.stop())
  await eventuallyOnCluster(
    async () => [failed.size, received.length],
    ([waiting, done]) => waiting === 300 && done === others.length,
  )
})

testWith(program, 'a partition that takes no more is a fault that is named', async (t) => {
  const { url, client } = await setupServer(t)
  const intake = { maxBytes: 4_096, discard: 'new' } as const
  const topic = await natsTopic({ url, log: silentLog, partitions: { count: 2 }, intake })
  t.after(() => topic.close())
  const user = users.find((each) => partitionOfUser(each, 2) === 1) ?? ''
  const event = JSON.stringify({ event: 'note', user_id: user, data: { text: 'x'.repeat(3_000) } })
  await client.publish(`notifications.user.${tokenOfUser(user)}`, event)
  const consuming = await topic.consume(async () => {}, { ...owning(2), ownedPartitions: () => [0] })
  t.after(() => consuming.stop())
  await topic.ping()
  await client.publish('notifications', event)
  await eventuallyOnCluster(
    () => topic.ping().then(() => 'well', String),
    (answer) => answer.includes('maximum bytes exceeded'),
  )
})

const mapped = ['mappings = { "notifications.user.*": "notification-partitions.{{partition(8,1)}}" }']

testWith(program, 'a message that is too large for its stream alone is handled, and stops no other', async (t) => {
  for (const [config, streams] of [
    [[], 1],
    [mapped, 2],
  ] as const) {
    const { url, client, manager, publish } = await setupServer(t, { config })
    const topic = await openTopic(t, url, { count: 8, streams })
    const user = users.find((each) => partitionOfUser(each, 8) === 0) ?? ''
    const event = JSON.stringify({ event: 'note', user_id: user, data: { n: 0, text: 'x'.repeat(2_000) } })
    // With the headers of a message that is moved it is larger.
    await manager.streams.update('NOTIFICATION_PARTITIONS_1', { max_msg_size: event.length })
    await client.publish('notifications', event)
    await publish(user, 1, false)
    const others = users.filter((each) => each !== user)
    for (const each of others) await publish(each, 0, false)
    const received: Received[] = []
    const consuming = await topic.consume(async (message) => {
      received.push(receivedOf(message))
      message.ack()
    }, owning(8))
    t.after(() => consuming.stop())
    await eventuallyOnCluster(
      async () => received.length,
      (count) => count === users.length + 1,
    )
    checkOrder(received, [user], 2)
    checkOrder(received, others, 1)
  }
})

testWith(program, 'partitions are divided among streams by the mapping of the server', async (t) => {
  const { url, publish, manager } = await setupServer(t, { config: mapped })
  const topic = await openTopic(t, url, { count: 8, streams: 2 })
  for (let n = 0; n < 5; n++) await publishInOrder(publish, n)
  const infos = await Promise.all([1, 2].map((n) => manager.streams.info(`NOTIFICATION_PARTITIONS_${n}`)))
  for (const { state } of infos) assert.ok(state.messages > 0, 'producers reach both without choosing')
  const received: Received[] = []
  const consuming = await topic.consume(async (message) => {
    received.push(receivedOf(message))
    message.ack()
  }, owning(8))
  t.after(() => consuming.stop())
  await eventuallyOnCluster(
    async () => new Set(received.map(({ key }) => key)).size,
    (size) => size === 5 * users.length,
  )
  checkOrder(received, users, 5)
})

testWith(program, 'several streams fail the start without the mapping, and with another', async (t) => {
  const plain = await setupServer(t)
  const expected = /mappings = \{ "notifications\.user\.\*": "notification-partitions\.\{\{partition\(8,1\)\}\}" \}/
  await assert.rejects(openTopic(t, plain.url, { count: 8, streams: 2 }), expected)
  const other = await setupServer(t, { config: mapped.map((line) => line.replace('(8', '(4')) })
  await assert.rejects(openTopic(t, other.url, { count: 8, streams: 2 }), expected)
})

testWith(program, 'another number of partitions is taken once the former streams are gone', async (t) => {
  const { url, manager, publish } = await setupServer(t)
  const first = await natsTopic({ url, log: silentLog })
  await publish('alice', 0, true)
  await first.close()
  const second = await natsTopic({ url, log: silentLog, partitions: { count: 4 } })
  await publish('alice', 1, true)
  await second.close()
  const refused = /NOTIFICATION_PARTITIONS_1 is of other partitions than the settings say, and has 1 messages/
  await assert.rejects(openTopic(t, url, { count: 8 }), refused)
  await assert.rejects(openTopic(t, url, {}), refused)
  const third = await openTopic(t, url, { count: 4 })
  const received: Received[] = []
  const consuming = await third.consume(async (message) => {
    received.push(receivedOf(message))
    message.ack()
  }, owning(4))
  await eventuallyOnCluster(
    async () => received.length,
    (length) => length === 2,
  )
  await consuming.stop()
  await manager.streams.delete('NOTIFICATION_PARTITIONS_1')
  const last = await openTopic(t, url, {})
  assert.equal(last.partitions, 1)
  await publish('alice', 2, true)
  assert.equal((await manager.streams.info('NOTIFICATIONS')).state.messages, 1)
})

testWith(program, 'what was set aside of an undivided topic comes by the partitions once it is divided', async (t) => {
  const { url, publish } = await setupServer(t)
  const undivided = await openTopic(t, url, {})
  const setAside = Promise.withResolvers<string>()
  const first = await undivided.consume(async (message) => {
    await message.setAside(60_000)
    setAside.resolve(message.key)
  }, owning(1))
  await publish('alice', 0, false)
  const key = await setAside.promise
  await first.stop()
  const divided = await openTopic(t, url, { count: 4 })
  const received = Promise.withResolvers<TopicMessage>()
  const second = await divided.consume(async (message) => {
    received.resolve(message)
    message.ack()
  }, owning(4))
  const message = await received.promise
  assert.deepEqual([message.key, message.isOrdered], [key, true])
  await second.stop()
})

testWith('nats-server', 'partitions on a server before 2.10 fail the start; the version is named', async (t) => {
  const server = await startNats()
  t.after(() => server.stop())
  const connection = await connect({ servers: server.url.replace('nats://', '') })
  const [major = 0, minor = 0] = (connection.info?.version ?? '').split('.').map(Number)
  await connection.close()
  const opening = natsTopic({ url: server.url, log: silentLog, partitions: { count: 2 } })
  if (major > 2 || minor >= 10) await (await opening).close()
  else await assert.rejects(opening, /partitions need nats-server 2\.10/)
})
