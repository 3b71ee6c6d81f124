import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { createMetrics, type Log, silentLog } from '@gatehouse/kit'
import { findProgram, type Server, startNats, temporaryFolder, waitsFor } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { type NatsTopicOptions, natsTopic } from '../../src/nats/index.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const hour = 3_600_000

interface Line {
  readonly level: 'error' | 'warn' | 'info'
  readonly message: string
  readonly setting?: string
  readonly wanted?: unknown
  readonly is?: unknown
}

function keptLog() {
  const lines: Line[] = []
  const keep = (level: Line['level']) => (about: object | string, message?: string) =>
    lines.push(typeof about === 'string' ? { level, message: about } : { ...about, level, message: message ?? '' })
  const log = { ...silentLog, error: keep('error'), warn: keep('warn'), info: keep('info') } as unknown as Log
  return { log, lines }
}

/** A server of JetStream in a folder of its own, a client beside the service, and what a reader of the topic got. */
async function setupTopic(t: TestContext, options: Partial<NatsTopicOptions> = {}) {
  const folder = temporaryFolder('jetstream')
  let server: Server = await startNats({ folder })
  const { port } = server
  const { log, lines } = keptLog()
  const topic = await natsTopic({ url: server.url, log, checkMs: 200, ...options })
  const got: string[] = []
  const reading = await topic.consume(async (message) => {
    got.push(message.text ?? '')
    message.ack()
  }, new AssignedPartitions())
  const client = await connect({ servers: `127.0.0.1:${port}`, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  t.after(async () => {
    server.process.kill('SIGCONT')
    await reading.stop()
    await topic.close()
    await client.close()
    await server.stop()
  })
  return {
    topic,
    got,
    lines,
    manager: await jetstreamManager(client),
    publish: (text: string) => jetstream(client).publish('notifications', text, { timeout: 2_000 }),
    freeze: () => freeze(server),
    thaw: () => server.process.kill('SIGCONT'),
    async restart(otherFolder: string = folder) {
      await server.stop()
      server = await startNats({ port, folder: otherFolder })
    },
  }
}

/** Stops the process of a server, and waits until it is. */
async function freeze({ process: child }: Server): Promise<void> {
  child.kill('SIGSTOP')
  const state = async () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.[0]
  await eventually(state, (letter) => letter === 'T')
}

type World = Awaited<ReturnType<typeof setupTopic>>

/** Publishes until something that was published arrives: what a stream held when it was deleted is gone with it. */
async function arrivesAgain({ publish, got }: World): Promise<void> {
  const before = got.length
  let number = 0
  await eventually(
    async () => {
      await publish(`again ${number++}`).catch(() => {})
      return got.length
    },
    (length) => length > before,
  )
}

/** Sends a notification, and waits until it was delivered. */
async function deliver(s: Setup, order: string): Promise<void> {
  const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: order }, channels: ['sms'] }
  const { body } = await s.call('POST', '/v1/notify', event)
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => answer.body.deliveries[0].state === 'sent',
  )
}

const waitUntilPublished = (s: Setup) =>
  eventually(
    () => s.store.stateChanges.positions(),
    ({ last, published }) => last === published,
  )

const createChange = (id: string) => ({ id, payload: { state: 'sent' } })

describe('the topic on NATS', { skip: findProgram('nats-server') ? false : waitsFor('nats-server') }, () => {
  test('existing streams are configured like new ones', async (t) => {
    const { manager } = await setupTopic(t, {
      intake: { storage: 'memory', maxAgeMs: hour, maxBytes: 1_000_000, maxMessages: 1_000, discard: 'old' },
      changes: { storage: 'memory', maxAgeMs: 2 * hour, maxBytes: 2_000_000, maxMessages: 2_000, discard: 'new' },
    })
    const read = async (name: string) => {
      const { storage, max_age, max_bytes, max_msgs, discard, num_replicas } = (await manager.streams.info(name)).config
      return { storage, max_age, max_bytes, max_msgs, discard, num_replicas }
    }
    const one = { storage: 'memory', num_replicas: 1 }
    assert.deepEqual(await read('NOTIFICATIONS'), {
      ...one,
      max_age: nanos(hour),
      max_bytes: 1_000_000,
      max_msgs: 1_000,
      discard: 'old',
    })
    assert.deepEqual(await read('NOTIFICATION_EVENTS'), {
      ...one,
      max_age: nanos(2 * hour),
      max_bytes: 2_000_000,
      max_msgs: 2_000,
      discard: 'new',
    })
  })

  test('an intake at its limit rejects new messages unless it is set to drop old ones', async (t) => {
    const { manager } = await setupTopic(t)
    assert.equal((await manager.streams.info('NOTIFICATIONS')).config.discard, 'new')
    assert.equal((await manager.streams.info('NOTIFICATION_EVENTS')).config.discard, 'old')
  })

  test('an existing stream is updated where NATS allows it, and reported where it does not', async (t) => {
    const server = await startNats()
    t.after(() => server.stop())
    const first = await natsTopic({ url: server.url, log: silentLog, changes: { maxMessages: 500, maxBytes: 500_000 } })
    await first.close()
    const { log, lines } = keptLog()
    // a stream remembers message ids for two minutes, and may not forget the messages before
    const settings = { storage: 'memory', maxAgeMs: 60_000, maxMessages: 700 } as const
    const second = await natsTopic({ url: server.url, log, changes: settings })
    t.after(() => second.close())
    const client = await connect({ servers: server.url.replace('nats://', '') })
    t.after(() => client.close())
    const { config } = await (await jetstreamManager(client)).streams.info('NOTIFICATION_EVENTS')
    assert.deepEqual(
      [config.max_msgs, config.max_bytes, config.storage, config.max_age],
      [700, 500_000, 'file', nanos(7 * 24 * hour)],
      'what is left out stays, and what is refused keeps nothing else from being changed',
    )
    const refused = lines.filter(({ level }) => level === 'error')
    assert.deepEqual(refused.map(({ setting, is, wanted }) => [setting, is, wanted]).toSorted(), [
      ['max_age', nanos(7 * 24 * hour), nanos(60_000)],
      ['storage', 'file', 'memory'],
    ])
    assert.ok(refused.every(({ message }) => message.includes('NOTIFICATION_EVENTS')))
  })

  test('a stream of this name without the subject fails the start with a clear error', async (t) => {
    const server = await startNats()
    t.after(() => server.stop())
    const client = await connect({ servers: server.url.replace('nats://', '') })
    await (await jetstreamManager(client)).streams.add({ name: 'NOTIFICATIONS', subjects: ['orders'] })
    await client.close()
    await assert.rejects(
      natsTopic({ url: server.url, log: silentLog }),
      /NOTIFICATIONS takes the subjects orders, and not notifications/,
    )
  })

  test('a consumer that is deleted under traffic is recreated without losing messages', async (t) => {
    const w = await setupTopic(t)
    const sent = Array.from({ length: 300 }, (_, number) => `message ${number}`)
    for (const [number, text] of sent.entries()) {
      await w.publish(text)
      if (number === 100) await w.manager.consumers.delete('NOTIFICATIONS', 'notify')
    }
    await eventually(
      async () => new Set(w.got),
      (got) => sent.every((text) => got.has(text)),
    )
    assert.ok(w.lines.some(({ level, message }) => level === 'error' && /not read|gone/.test(message)))
    await w.topic.ping()
  })

  test('an intake stream that is deleted while it is read is recreated', async (t) => {
    const w = await setupTopic(t)
    await w.publish('first')
    await eventually(async () => w.got.length, Boolean)
    await w.manager.streams.delete('NOTIFICATIONS')
    await arrivesAgain(w)
    assert.ok(w.lines.some(({ level }) => level === 'error'))
    await w.topic.ping()
  })

  test('a deleted stream of state changes is recreated and receives changes again', async (t) => {
    const w = await setupTopic(t, { checkMs: hour })
    await w.topic.publish([createChange('one')])
    await w.manager.streams.delete('NOTIFICATION_EVENTS')
    await assert.rejects(w.topic.publish([createChange('two')]), 'what no stream took is not called published')
    await eventually(
      () =>
        w.topic.publish([createChange('two')]).then(
          () => true,
          () => false,
        ),
      Boolean,
    )
    assert.equal((await w.manager.streams.info('NOTIFICATION_EVENTS')).state.messages, 1)
  })

  test('deliveries continue without the stream of state changes, which are published later', async (t) => {
    const w = await setupTopic(t, { checkMs: hour })
    const s = await setup({ topic: { ...w.topic, consume: async () => ({ stop: async () => {} }) } })
    t.after(s.close)
    await seedEventType(s)
    await deliver(s, 'before')
    await waitUntilPublished(s)
    await w.manager.streams.delete('NOTIFICATION_EVENTS')
    for (const order of ['A', 'B', 'C']) await deliver(s, order)
    await waitUntilPublished(s)
    assert.equal((await w.manager.streams.info('NOTIFICATION_EVENTS')).state.messages, 3)
  })

  test('deliveries continue beside a frozen server, and changes are published later', async (t) => {
    const metrics = createMetrics()
    const w = await setupTopic(t)
    const s = await setup({ topic: { ...w.topic, consume: async () => ({ stop: async () => {} }) }, metrics })
    t.after(s.close)
    await seedEventType(s)
    await w.freeze()
    for (const order of ['A', 'B', 'C']) await deliver(s, order)
    await eventually(
      () => metrics.metrics(),
      (text) => text.includes('notify_state_changes_unpublished 3'),
    )
    const { body } = await s.call('GET', '/v1/events', undefined, 'read:events')
    assert.equal(body.items.length, 3, 'they are read by HTTP meanwhile')
    w.thaw()
    await waitUntilPublished(s)
    assert.equal((await w.manager.streams.info('NOTIFICATION_EVENTS')).state.messages, 3)
  })

  test('the topic is consumed again after a server restart', async (t) => {
    const w = await setupTopic(t)
    await w.publish('before')
    await eventually(async () => w.got.length, Boolean)
    await w.restart()
    await arrivesAgain(w)
  })

  test('streams and consumer are recreated on a server that lost its storage', async (t) => {
    const w = await setupTopic(t)
    await w.restart(temporaryFolder('jetstream'))
    await arrivesAgain(w)
    await eventually(
      () =>
        w.topic.ping().then(
          () => true,
          () => false,
        ),
      Boolean,
    )
  })

  test('calls to a frozen server time out, and the topic is consumed again afterwards', async (t) => {
    const w = await setupTopic(t)
    await w.freeze()
    const began = performance.now()
    await Promise.all([assert.rejects(w.topic.ping()), assert.rejects(w.topic.publish([createChange('frozen')]))])
    assert.ok(performance.now() - began < 30_000, 'each is bounded')
    w.thaw()
    await arrivesAgain(w)
  })

  test('a service stops in bounded time while its server is frozen', async (t) => {
    const server = await startNats()
    t.after(() => server.stop())
    t.after(() => server.process.kill('SIGCONT'))
    const topic = await natsTopic({ url: server.url, log: silentLog })
    const reading = await topic.consume(async (message) => message.ack(), new AssignedPartitions())
    await freeze(server)
    const began = performance.now()
    await reading.stop()
    await topic.close()
    assert.ok(performance.now() - began < 30_000)
  })
})
