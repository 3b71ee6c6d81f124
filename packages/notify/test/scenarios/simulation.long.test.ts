import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import {
  createCitusDatabase,
  type PostgresServer,
  postgresDatabase,
  type ServerName,
  type SilentProxy,
  startCitus,
  startNats,
  startPostgres,
  startSilentProxy,
  temporaryFolder,
  testWithAll,
} from '@gatehouse/testing'
import { type ConsumerInfo, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import pg from 'pg'
import { bucketOfUser } from '../../src/model/id.ts'
import { isMissing } from '../../src/nats/streams.ts'
import { distributeNotify, migrateNotify } from '../../src/postgres/index.ts'
import { type ProviderCall, startFakeProvider } from '../support/simulation/fake-provider.ts'
import { createTraffic, type Traffic } from '../support/simulation/traffic.ts'

const cap = 10
/** The workers' lease. A call begins only while enough of it is left, so that nobody else begins the same one soon. */
const leaseMs = 20_000
/** For how long the workers wait for the provider's answer. */
const timeoutMs = 9_000
/** The least of a lease that is left when a call begins: that time, and a quarter of the lease to store its answer. */
const minRemainingMs = timeoutMs + leaseMs / 4
/** For how long calls that were claimed before the database fell may still come in. */
const fallMs = 5_000

/** How long a frozen process stands still: its leases end meanwhile, and another process takes its work. */
const frozenMs = leaseMs + 5_000
/** For how long no connection is to be had. */
const fullMs = 4_000

/** A process that was killed or frozen, or (without a pid) the database, which interrupts every process. */
interface Interruption {
  readonly at: number
  /** When it could go on: at once, but for a frozen process. */
  readonly until: number
  readonly pid?: number
}

/** The database that the simulation runs on. */
interface Engine {
  readonly servers: readonly ServerName[]
  /** How many events are published. */
  readonly size: number
  readonly buckets: number
  start(): Promise<RunningEngine>
}

interface RunningEngine {
  /** Of the database, which has the tables. */
  readonly url: string
  /** Those that end in the middle of everything, the one that programs connect to first. */
  readonly nodes: readonly PostgresServer[]
  stop(): Promise<void>
}

const engines: Readonly<Record<string, Engine>> = {
  PostgreSQL: { servers: ['nats-server'], size: 100_000, buckets: 1, start: startPlain },
  // Fewer events: each costs several times as much there, and all nodes share this machine.
  Citus: { servers: ['nats-server', 'citus'], size: 5_000, buckets: 32, start: startDistributed },
}

async function startPlain(): Promise<RunningEngine> {
  const postgres = await startPostgres()
  const database = await postgresDatabase(postgres)
  await migrateNotify(database, {})
  const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
  await database.close()
  return { url: postgres.url.replace(/[^/]+$/, rows[0]?.name ?? ''), nodes: [postgres], stop: () => postgres.stop() }
}

async function startDistributed(): Promise<RunningEngine> {
  // What a crash left prepared on a worker is settled soon.
  const citus = await startCitus({ settings: ['citus.shard_count=8', 'citus.recover_2pc_interval=5s'] })
  const url = await createCitusDatabase(citus.nodes)
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  await distributeNotify(database, { buckets: engines.Citus?.buckets ?? 32 })
  await database.close()
  return { url, nodes: [citus.coordinator, ...citus.workers], stop: () => citus.stop() }
}

interface World {
  readonly nodes: readonly PostgresServer[]
  /** The database that holds everything, and the proxy by which the processes reach it. */
  readonly url: string
  readonly proxy: SilentProxy
  readonly workers: ChildProcess[]
  readonly interruptions: Interruption[]
  startWorker(): Promise<void>
  restartQueue(): Promise<void>
}

/** What happens to them, one after the other while they work. */
const faults: readonly ((world: World) => Promise<void>)[] = [
  killOldest,
  killOldest,
  killBackend,
  freezeOldest,
  (world) => world.restartQueue(),
  muteConnections,
  killOldest,
  fillConnections,
  restartDatabase,
  killOldest,
]

for (const [name, engine] of Object.entries(engines))
  testWithAll(
    engine.servers,
    `two processes on ${name} lose no event and repeat only calls in flight, whatever fails`,
    (t) => simulate(t, engine),
  )

async function simulate(t: TestContext, { size, buckets, start }: Engine): Promise<void> {
  const engine = await start()
  const { url, nodes } = engine
  const folder = temporaryFolder('nats-kept')
  let nats = await startNats({ folder })
  const provider = await startFakeProvider(5_000)
  const proxy = await startSilentProxy(Number(new URL(url).port))
  const submitted = createTraffic(size)
  await seedService(url, submitted, buckets)
  const workers: ChildProcess[] = []
  const world: World = {
    nodes,
    url,
    proxy,
    workers,
    interruptions: [],
    async startWorker() {
      const through = new URL(url)
      through.port = String(proxy.port)
      const file = join(import.meta.dirname, '../support/simulation/worker.ts')
      const child = fork(file, [through.href, nats.url, provider.url, '{}', String(buckets)])
      workers.push(child)
      await once(child, 'message')
    },
    async restartQueue() {
      await nats.stop()
      nats = await startNats({ folder, port: nats.port })
    },
  }
  t.after(async () => {
    for (const worker of workers) worker.kill('SIGKILL')
    provider.stop()
    await proxy.stop()
    await nats.stop()
    await engine.stop()
  })
  await Promise.all([world.startWorker(), world.startWorker()])
  const publishing = publish(nats.url, submitted)
  for (const fault of faults) {
    await pause(2_000 + Math.random() * 2_000)
    await fault(world)
  }
  await publishing
  await waitUntilDrained(url, nats.url)
  checkCalls(submitted, provider.calls, world.interruptions)
  await checkAlerts(url, submitted, provider.calls)
  await checkRecords(url, provider.calls)
}

/** The process that has run longest is killed, and another begins. */
async function killOldest({ workers, interruptions, startWorker }: World): Promise<void> {
  const victim = workers.shift() ?? assert.fail('no process')
  victim.kill('SIGKILL')
  interruptions.push({ at: Date.now(), until: Date.now(), pid: victim.pid ?? 0 })
  await startWorker()
}

/** The process that has run longest stands still until its leases are over, then goes on as if nothing had happened. */
async function freezeOldest({ workers: [victim = assert.fail('no process')], interruptions }: World): Promise<void> {
  const at = Date.now()
  victim.kill('SIGSTOP')
  await pause(frozenMs)
  interruptions.push({ at, until: Date.now(), pid: victim.pid ?? 0 })
  victim.kill('SIGCONT')
}

/** What is on the way on open connections to the database is lost; new connections work. */
async function muteConnections({ proxy }: World): Promise<void> {
  proxy.silence()
}

/** Others hold every connection that the server has, and those of the processes are ended. */
async function fillConnections({ url }: World): Promise<void> {
  const options = { connectionString: url, application_name: 'others' }
  const [first, ...clients] = Array.from({ length: 200 }, () => new pg.Client(options))
  for (const client of [first, ...clients]) client?.on('error', () => {})
  await first?.connect()
  await Promise.allSettled(clients.map((client) => client.connect()))
  await first?.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name <> 'others'`,
  )
  const more = Array.from({ length: 50 }, () => new pg.Client(options))
  for (const client of more) client.on('error', () => {})
  await Promise.allSettled(more.map((client) => client.connect()))
  await pause(fullMs)
  await Promise.allSettled([first, ...clients, ...more].map((client) => client?.end()))
}

/** Kills a server process of PostgreSQL, which makes it end every connection and recover from its log. */
async function killBackend({ url, interruptions }: World): Promise<void> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  process.kill(rows[0]?.pid ?? assert.fail('no backend'), 'SIGKILL')
  interruptions.push({ at: Date.now(), until: Date.now() })
  await database.close().catch(() => {})
  await retryUntilAccepted(async () => {
    const again = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
    await again.close()
  })
}

/** The whole server ends in the middle of everything and starts again, and then each other node. */
async function restartDatabase({ nodes, interruptions }: World): Promise<void> {
  for (const node of nodes) {
    const at = Date.now()
    await node.restartImmediately()
    interruptions.push({ at, until: at })
  }
}

/** Makes every user reachable, and puts the quiet ones into quiet hours that hold for the hours to come. */
async function seedService(url: string, { users, quietUsers }: Traffic, buckets: number): Promise<void> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  const bucketsOf = (of: readonly string[]) => of.map((user) => bucketOfUser(user, buckets))
  await database.query(
    `INSERT INTO notify.recipient (bucket, user_id, email, updated_at) SELECT b, u, u || '@example.com', now() FROM unnest($1::smallint[], $2::text[]) AS r (b, u)`,
    [bucketsOf(users), users],
  )
  await database.query(
    `INSERT INTO notify.device (bucket, user_id, device_id, token, service, registered_at)
     SELECT b, u, 'phone', 'token of ' || u, 'fake', now() FROM unnest($1::smallint[], $2::text[]) AS r (b, u)`,
    [bucketsOf(users), users],
  )
  const hour = (offset: number) => `${String((new Date().getUTCHours() + offset + 24) % 24).padStart(2, '0')}:00`
  await database.query(
    `INSERT INTO notify.preference (bucket, user_id, event_type, quiet_start, quiet_end, updated_at)
     SELECT b, u, '*', $3::text, $4::text, now() FROM unnest($1::smallint[], $2::text[]) AS r (b, u)`,
    [bucketsOf([...quietUsers]), [...quietUsers], hour(-2), hour(6)],
  )
  await database.close()
}

/** Tells everything on the topic, each event until the stream has it. */
async function publish(url: string, { submitted }: Traffic): Promise<void> {
  const connection = await connect({
    servers: url.replace('nats://', ''),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
  })
  const client = jetstream(connection)
  for (let at = 0; at < submitted.length; at += 500)
    await Promise.all(
      submitted
        .slice(at, at + 500)
        .map((event) => retryUntilAccepted(() => client.publish('notifications', JSON.stringify(event)))),
    )
  await connection.close()
}

async function retryUntilAccepted(work: () => Promise<unknown>): Promise<void> {
  for (let attempts = 0; attempts < 100; attempts++) {
    try {
      await work()
      return
    } catch {
      await pause(200)
    }
  }
  throw new Error('the stream never took the event')
}

/** One that stands still since the server was killed is deleted and created again. */
async function infoOfConsumer(manager: JetStreamManager): Promise<ConsumerInfo> {
  for (;;) {
    try {
      return await manager.consumers.info('NOTIFICATIONS', 'notify')
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
}

/** So long after its last word an unacknowledged message would have been delivered again: half as long again as the wait. */
const forgottenMs = 45_000

/**
 * Waits until the queue is empty and nothing is under way but what waits for the morning. A server that was restarted may
 * count acks that it has lost as pending for ever, without delivering again; whether anything was lost is judged after.
 */
async function waitUntilDrained(url: string, natsUrl: string): Promise<void> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  const connection = await connect({ servers: natsUrl.replace('nats://', '') })
  const manager = await jetstreamManager(connection, { timeout: 60_000 })
  let quiet = { word: '', since: Date.now() }
  for (let attempts = 0; ; attempts++) {
    // The queue first: what is taken from it lies in the database by then.
    const consumer = await infoOfConsumer(manager)
    const { rows } = await database.query<{ left: number }>(
      'SELECT (SELECT count(*) FROM notify.delivery_queue) + (SELECT count(*) FROM notify.pending_window) AS left',
    )
    const word = `${consumer.delivered.consumer_seq} ${consumer.num_ack_pending}`
    if (word !== quiet.word) quiet = { word, since: Date.now() }
    const unacked = Date.now() - quiet.since < forgottenMs ? consumer.num_ack_pending : 0
    const left = (rows[0]?.left ?? 1) + consumer.num_pending + unacked
    if (left === 0) break
    assert.ok(attempts < 2_400, `${left} events are still under way`)
    await pause(500)
  }
  await connection.close()
  await database.close()
}

/** Compares the provider's own log with the submitted events. */
function checkCalls(
  { unique, quietUsers }: Traffic,
  calls: readonly ProviderCall[],
  interruptions: readonly Interruption[],
): void {
  const byId = Map.groupBy(
    calls.toSorted((a, b) => a.sentAt - b.sentAt),
    ({ id }) => id,
  )
  let repeated = 0
  let unanswered = 0
  for (const [id, same] of byId) {
    const [first] = same
    for (const [index, again] of same.slice(1).entries()) {
      const before = same[index]
      if (!first || !before) continue
      repeated++
      if (before.isAnswered && before.at - before.sentAt < timeoutMs - 1_000) {
        assert.ok(
          isInterrupted(before, again, interruptions),
          `${id} was sent again without a reason: ${formatTimes(same, interruptions)}`,
        )
        const delayMs = again.sentAt - before.sentAt
        assert.ok(
          delayMs >= minRemainingMs,
          `${id} was sent again under its lease: ${formatTimes(same, interruptions)}`,
        )
      } else unanswered++
      assert.deepEqual([again.body, again.userId], [first.body, first.userId])
    }
  }
  const messages = [...byId.values()].flatMap(([first]) => first ?? [])
  const events = new Map(unique.map((event) => [event.data.key, event]))
  const carried = messages.flatMap((message) => message.body.split(',').map((key) => ({ key, message })))
  const places = Map.groupBy(carried, ({ key, message }) => `${key} ${message.channel}`)
  for (const [place, list] of places) assert.equal(list.length, 1, `${place} was carried by ${list.length} messages`)
  for (const { key, message } of carried)
    assert.equal(events.get(key)?.user_id, message.userId, `${key} went to ${message.userId}`)

  const sent = (key: string, channel: string) => places.has(`${key} ${channel}`)
  const notes = Map.groupBy(
    unique.filter(({ event }) => event === 'note'),
    ({ user_id }) => user_id,
  )
  for (const [user, mine] of notes) {
    for (const { data } of mine)
      assert.equal(sent(data.key, 'push'), sent(data.key, 'email'), `${data.key} took both channels or none`)
    const expected = quietUsers.has(user) ? 0 : Math.min(cap, mine.length)
    assert.equal(mine.filter(({ data }) => sent(data.key, 'push')).length, expected, `notes of ${user}`)
  }
  const likes = unique.filter(({ event }) => event === 'like')
  const sentCount = likes.filter(({ data }) => sent(data.key, 'push')).length
  console.log(
    `${calls.length} calls, ${repeated} of them repeats of calls in flight at ${interruptions.length} interruptions (${unanswered} of calls that the provider did not answer in time); ${sentCount} of ${likes.length} likes sent, the others over the cap`,
  )
}

/**
 * Whether what a call came to was lost before the same was called again: its own process was killed or frozen after it and
 * within its lease, or the database fell meanwhile. Every repeat needs such a reason of its own.
 */
function isInterrupted(call: ProviderCall, again: ProviderCall, interruptions: readonly Interruption[]): boolean {
  return interruptions.some(({ at, until, pid }) => {
    const from = pid === undefined ? call.sentAt - fallMs : call.sentAt
    const isItsOwn = pid === undefined || pid === call.pid
    return isItsOwn && until >= from && at < Math.min(again.sentAt, call.sentAt + leaseMs)
  })
}

/** Checks that every alert reached the provider; the message of a failure says what is known of one that did not. */
async function checkAlerts(url: string, { unique }: Traffic, calls: readonly ProviderCall[]): Promise<void> {
  const reached = new Set(calls.flatMap(({ channel, body }) => body.split(',').map((key) => `${key} ${channel}`)))
  const lost = unique.filter(({ event, data }) => event === 'alert' && !reached.has(`${data.key} email`))
  if (lost.length === 0) return
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  const keys = lost.map(({ data }) => data.key)
  const { rows: notifications } = await database.query<{ id: string }>(
    "SELECT id, data->>'key' AS key, accepted_at FROM notify.notification WHERE data->>'key' = ANY ($1::text[])",
    [keys],
  )
  const ids = [notifications.map(({ id }) => id)]
  const { rows: letters } = await database.query(
    'SELECT id, cause, detail FROM notify.dead_letter WHERE notification_id = ANY ($1::uuid[])',
    ids,
  )
  const { rows: timeline } = await database.query(
    'SELECT * FROM notify.timeline_entry WHERE notification_id = ANY ($1::uuid[]) ORDER BY id',
    ids,
  )
  await database.close()
  assert.deepEqual(keys, [], `lost; known of them: ${JSON.stringify({ notifications, letters, timeline })}`)
}

/** What was stored as taken was never called again: not once between an interruption and the end. */
async function checkRecords(url: string, calls: readonly ProviderCall[]): Promise<void> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  const { rows } = await database.query<{ id: string; channel: string; at: number }>(
    'SELECT id, channel, sent_at AS at FROM notify.delivery WHERE sent_at IS NOT NULL',
  )
  await database.close()
  const recorded = new Map(rows.map((row) => [row.id, row]))
  assert.equal(recorded.size, rows.length, 'each delivery was stored as taken once')
  for (const { id, sentAt } of calls) {
    const record = recorded.get(id.split('.')[0] ?? id)
    assert.ok(record, `${id} was taken and never stored so`)
    assert.ok(sentAt <= record.at, `${id} was called again ${sentAt - record.at} ms after it was stored as taken`)
  }
}

/** The times of the calls and of the interruptions, in milliseconds after the first interruption. */
function formatTimes(same: readonly ProviderCall[], interruptions: readonly Interruption[]): string {
  const after = (at: number) => at - (interruptions[0]?.at ?? 0)
  return `calls at ${same.map(({ at, sentAt, pid }) => `${after(sentAt)} (taken at ${after(at)}, by ${pid})`).join(', ')}, interruptions at ${interruptions.map(({ at, pid = 'database' }) => `${after(at)} (${pid})`).join(', ')}`
}
