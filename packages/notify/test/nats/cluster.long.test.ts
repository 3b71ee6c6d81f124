import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { type NatsCluster, startNats, startNatsCluster, startPostgres, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { natsTopic } from '../../src/nats/index.ts'
import { migrateNotify, postgresNotifyStore } from '../../src/postgres/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'
import { type ProviderCall, startFakeProvider } from '../support/simulation/fake-provider.ts'

const program = 'nats-server-2.15'
const users = 500
const threeReplicas = { replicas: 3 } as const
const servers = (url: string) => url.split(',').map((each) => each.replace('nats://', ''))

/** A cluster, PostgreSQL, a provider, and two processes of the service whose streams have three replicas. */
async function setupService(t: TestContext) {
  const cluster = await startNatsCluster({ program })
  t.after(() => cluster.stop())
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const provider = await startFakeProvider(Number.POSITIVE_INFINITY)
  t.after(() => provider.stop())
  const database = await openPostgres({ url: new Secret(postgres.url), log: silentLog, connections: 4 })
  t.after(() => database.close())
  await migrateNotify(database, {})
  await database.query(
    `INSERT INTO notify.recipient (bucket, user_id, email, updated_at)
     SELECT 0, 'user-' || n, 'user-' || n || '@example.com', now() FROM generate_series(0, $1::int - 1) AS n`,
    [users],
  )
  const options = JSON.stringify({ intake: threeReplicas, changes: threeReplicas })
  const workers: ChildProcess[] = []
  t.after(() => {
    for (const worker of workers) worker.kill('SIGKILL')
  })
  for (const _ of ['first', 'second']) {
    const file = join(import.meta.dirname, '../support/simulation/worker.ts')
    const worker = fork(file, [postgres.url, cluster.url, provider.url, options])
    workers.push(worker)
    await once(worker, 'message')
  }
  return { cluster, database, calls: provider.calls as readonly ProviderCall[] }
}

/**
 * Publishes each event until the topic keeps it. Only its dedup key makes it one event for certain: a server that was
 * restarted knows no message id of what was read and removed before.
 */
async function publishAlerts(cluster: NatsCluster, count: number, onPublished: (published: number) => void) {
  const connection = await connect({ servers: servers(cluster.url), maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  const client = jetstream(connection, { timeout: 2_000 })
  const publish = async (n: number): Promise<void> => {
    const key = `alert-${n}`
    const event = { event: 'alert', user_id: `user-${n % users}`, data: { key }, dedup_key: key }
    for (;;) {
      try {
        await client.publish('notifications', JSON.stringify(event), { msgID: key })
        return
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }
  for (let n = 0; n < count; n += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => publish(n + index)))
    onPublished(n + 100)
  }
  await connection.close()
}

/** Kills the leader of a stream in the middle of the traffic, and starts it again once there is another. */
async function replaceLeader(cluster: NatsCluster, stream: string): Promise<void> {
  const leader = await cluster.leaderOf(stream)
  await leader.kill()
  const next = await cluster.leaderOf(stream)
  assert.notEqual(next.name, leader.name)
  await leader.restart()
}

/**
 * The ids of the stream of state changes, in its order. A new consumer lives on one server, and the others answer that
 * nobody responds until they have heard of it: what could not be read is read anew, from the beginning.
 */
async function publishedChanges(url: string): Promise<string[]> {
  const connection = await connect({ servers: servers(url) })
  try {
    const manager = await jetstreamManager(connection, { timeout: 10_000 })
    const read = async (): Promise<string[]> => {
      const { state } = await manager.streams.info('NOTIFICATION_EVENTS')
      const ids: string[] = []
      const consumer = await jetstream(connection).consumers.get('NOTIFICATION_EVENTS')
      for await (const message of await consumer.fetch({ max_messages: state.messages, expires: 30_000 }))
        ids.push(message.headers?.get('Nats-Msg-Id') ?? '')
      return ids
    }
    const answer = await eventuallyOnCluster(
      () => read().catch((error: unknown) => String(error)),
      (ids) => Array.isArray(ids),
    )
    return answer as string[]
  } finally {
    await connection.close()
  }
}

/** The ids of the log of state changes, in its order. */
async function loggedChanges(database: Database): Promise<string[]> {
  const { stateChanges } = postgresNotifyStore(database, { streaming: true })
  const ids: string[] = []
  for (let after = 0; ; ) {
    const { changes, through } = await stateChanges.read(after, 1_000, {})
    ids.push(...changes.map(({ id }) => id))
    if (through === after) return ids
    after = through
  }
}

testWith(program, 'two processes lose and repeat nothing when leaders of both streams are killed', async (t) => {
  const { cluster, database, calls } = await setupService(t)
  const count = 6_000
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const publishing = publishAlerts(cluster, count, (published) => {
    if (published >= count / 4) first.resolve()
    if (published >= count / 2) second.resolve()
  })
  await first.promise
  await replaceLeader(cluster, 'NOTIFICATIONS')
  await second.promise
  await replaceLeader(cluster, 'NOTIFICATION_EVENTS')
  await publishing
  await eventuallyOnCluster(
    async () => new Set(calls.map(({ body }) => body)).size,
    (sent) => sent === count,
  )
  const { stateChanges } = postgresNotifyStore(database, { streaming: true })
  await eventuallyOnCluster(
    () => stateChanges.positions(),
    ({ last, published }) => last >= count && last === published,
  )
  assert.equal(calls.length, count, 'each event was sent once')
  const shares = Map.groupBy(calls, ({ pid }) => pid)
  assert.equal(shares.size, 2)
  for (const { length } of shares.values()) assert.ok(length > count / 20, 'both processes share the work')
  assert.deepEqual(await publishedChanges(cluster.url), await loggedChanges(database))
})

testWith(program, 'changes stay in order and without gaps while leadership moves in every batch', async (t) => {
  const cluster = await startNatsCluster({ program })
  t.after(() => cluster.stop())
  const topic = await natsTopic({ url: cluster.url, log: silentLog, changes: threeReplicas })
  t.after(() => topic.close())
  const connection = await connect({ servers: servers(cluster.url) })
  t.after(() => connection.close())
  const changes = Array.from({ length: 5_000 }, (_, n) => ({ id: `change-${n}`, payload: { n } }))
  for (let at = 0; at < changes.length; at += 500) {
    const batch = changes.slice(at, at + 500)
    const publishing = publishUntilKept(() => topic.publish(batch))
    await connection.request('$JS.API.STREAM.LEADER.STEPDOWN.NOTIFICATION_EVENTS').catch(() => {})
    await publishing
  }
  assert.deepEqual(
    await publishedChanges(cluster.url),
    changes.map(({ id }) => id),
  )
})

async function publishUntilKept(publish: () => Promise<void>): Promise<void> {
  await eventuallyOnCluster(
    () =>
      publish().then(
        () => true,
        () => false,
      ),
    Boolean,
  )
}

testWith(program, 'replicas that the servers cannot keep fail the start with the number of them', async (t) => {
  const single = await startNats({ program })
  t.after(() => single.stop())
  await assert.rejects(
    natsTopic({ url: single.url, log: silentLog, intake: threeReplicas }),
    /NOTIFICATIONS can't be created: it is to have 3 replicas, and NATS is one server without a cluster/,
  )
  const first = await natsTopic({ url: single.url, log: silentLog })
  await first.close()
  await assert.rejects(
    natsTopic({ url: single.url, log: silentLog, changes: threeReplicas }),
    /NOTIFICATION_EVENTS can't be changed: it is to have 3 replicas, and NATS is one server without a cluster/,
  )
  const cluster = await startNatsCluster({ program })
  t.after(() => cluster.stop())
  await assert.rejects(
    natsTopic({ url: cluster.url, log: silentLog, intake: { replicas: 5 } }),
    /NOTIFICATIONS can't be created: it is to have 5 replicas, and fewer servers of the NATS cluster can take one/,
  )
})

testWith(program, 'the number of replicas of existing streams is changed at the next start', async (t) => {
  const cluster = await startNatsCluster({ program })
  t.after(() => cluster.stop())
  for (const replicas of [1, 3, 3]) {
    const topic = await natsTopic({ url: cluster.url, log: silentLog, intake: { replicas }, changes: { replicas } })
    await topic.close()
    const connection = await connect({ servers: servers(cluster.url) })
    const manager = await jetstreamManager(connection)
    for (const name of ['NOTIFICATIONS', 'NOTIFICATION_EVENTS'])
      assert.equal((await manager.streams.info(name)).config.num_replicas, replicas)
    await connection.close()
  }
})
