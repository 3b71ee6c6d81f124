import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createMetrics, type Database, silentLog, systemClock } from '@gatehouse/kit'
import { postgresDatabase, startNats, startPostgres, temporaryFolder } from '@gatehouse/testing'
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { createNotify } from '../../../src/index.ts'
import { tokenOfUser } from '../../../src/model/work/user-token.ts'
import { natsTopic } from '../../../src/nats/index.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { eventuallyOnCluster } from '../patience.ts'
import type { TopicWorkerOptions, TopicWorkerReport } from './topic-worker.ts'

/** The server that divides the topic. */
export const nats = 'nats-server-2.15'
export const partitions = 16
export const bucketLeaseMs = 3_000
export const users: readonly string[] = Array.from({ length: 40 }, (_, n) => `user-${n}`)

/** A database and a server of NATS that processes share. */
export interface World {
  readonly database: Database
  /** The address of the database, for another role than that of the tests where one is named. */
  readonly databaseUrl: (role?: string) => string
  readonly natsUrl: string
  /** Ends the server of NATS, which keeps its streams. Answers how to start it again. */
  readonly stopNats: () => Promise<() => Promise<void>>
  readonly buckets: number
  /** Publishes the next event of each user; every second user is named in the body alone. */
  readonly publish: () => Promise<void>
  /** How many events of each user were published. */
  readonly published: () => number
}

/** Starts both, with an event type and users. */
export async function createWorld(t: TestContext, buckets: number): Promise<World> {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const database = await postgresDatabase(postgres)
  t.after(() => database.close())
  await declareEvent(database, buckets)
  const folder = temporaryFolder('nats-kept')
  let server = await startNats({ program: nats, folder })
  t.after(() => server.stop())
  const connection = await connect({ servers: server.url.replace('nats://', ''), maxReconnectAttempts: -1 })
  t.after(() => connection.close())
  const client = jetstream(connection, { timeout: 10_000 })
  await (await natsTopic({ url: server.url, log: silentLog, partitions: { count: partitions } })).close()
  const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
  let published = 0
  return {
    database,
    databaseUrl(role) {
      const url = new URL(postgres.url.replace(/[^/]+$/, rows[0]?.name ?? ''))
      if (role !== undefined) url.username = role
      return url.href
    },
    natsUrl: server.url,
    async stopNats() {
      const { port } = server
      await server.stop()
      return async () => {
        server = await startNats({ program: nats, folder, port })
        await eventuallyOnCluster(
          () =>
            connection.flush().then(
              () => true,
              () => false,
            ),
          Boolean,
        )
      }
    },
    buckets,
    async publish() {
      const n = published++
      await Promise.all(
        users.map((user, index) =>
          client.publish(
            index % 2 === 0 ? `notifications.user.${tokenOfUser(user)}` : 'notifications',
            JSON.stringify({ event: 'note', user_id: user, data: { n } }),
          ),
        ),
      )
    },
    published: () => published,
  }
}

async function declareEvent(database: Database, buckets: number): Promise<void> {
  const declaring = await createNotify({
    store: postgresNotifyStore(database, await migrateNotify(database, { buckets })),
    providers: {},
    work: false,
    declared: {
      eventTypes: [{ event: 'note', channels: ['email'], priority: 'critical' }],
      templates: [{ templateId: 'note', channel: 'email', locale: 'en', body: '{{ n }}' }],
      recipients: users.map((user_id) => ({ user_id, email: `${user_id}@example.com` })),
    },
    authenticate: () => assert.fail('nobody asks'),
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  })
  await declaring.stop()
}

/** How a process reaches the servers, where not as the tests do. */
export interface Access {
  readonly role?: string
  readonly natsUrl?: string
}

/** A process, what it says that it owns, and how many messages it was given. */
export async function startProcess(t: TestContext, world: World, { role, natsUrl = world.natsUrl }: Access = {}) {
  const { buckets } = world
  const options: TopicWorkerOptions = {
    databaseUrl: world.databaseUrl(role),
    natsUrl,
    buckets,
    partitions,
    bucketLeaseMs,
  }
  const child: ChildProcess = fork(join(import.meta.dirname, 'topic-worker.ts'), [JSON.stringify(options)])
  t.after(() => child.kill('SIGKILL'))
  let owned: readonly number[] = []
  let received = 0
  child.on('message', (report: TopicWorkerReport | 'ready') => {
    if (report === 'ready') return
    if ('owned' in report) owned = report.owned
    else received++
  })
  await once(child, 'message')
  return {
    owned: () => owned,
    received: () => received,
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    kill: () => child.kill('SIGKILL'),
  }
}

export type Process = Awaited<ReturnType<typeof startProcess>>
