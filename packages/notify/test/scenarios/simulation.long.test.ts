import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import {
  type PostgresServer,
  postgresDatabase,
  type SilentProxy,
  startNats,
  startPostgres,
  startSilentProxy,
  temporaryFolder,
  testWith,
} from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import pg from 'pg'
import { migrateNotify } from '../../src/postgres/index.ts'
import { type ProviderCall, startFakeProvider } from '../support/simulation/fake-provider.ts'
import { createTraffic, type Traffic } from '../support/simulation/traffic.ts'

const size = 100_000
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

interface World {
  readonly postgres: PostgresServer
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

testWith(
  'nats-server',
  'two processes lose no event and repeat only calls in flight, whatever is killed or frozen',
  async (t) => {
    const postgres = await startPostgres()
    const folder = temporaryFolder('nats-kept')
    let nats = await startNats({ folder })
    const provider = await startFakeProvider(5_000)
    const proxy = await startSilentProxy(postgres.port)
    const database = await postgresDatabase(postgres)
    await migrateNotify(database, {})
    const name = (await database.query<{ name: string }>('SELECT current_database() AS name')).rows[0]?.name
    await database.close()
    const url = postgres.url.replace(/[^/]+$/, name ?? '')
    const submitted = createTraffic(size)
    await seedService(url, submitted)
    const workers: ChildProcess[] = []
    const world: World = {
      postgres,
      url,
      proxy,
      workers,
      interruptions: [],
      async startWorker() {
        const through = new URL(url)
        through.port = String(proxy.port)
        const child = fork(join(import.meta.dirname, '../support/simulation/worker.ts'), [
          through.href,
          nats.url,
          provider.url,
        ])
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
      await postgres.stop()
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
  },
)

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

/** The whole server ends in the middle of everything and starts again. */
async function restartDatabase({ postgres, interruptions }: World): Promise<void> {
  const at = Date.now()
  await postgres.restartImmediately()
  interruptions.push({ at, until: at })
}

/** Makes every user reachable, and puts the quiet ones into quiet hours that hold for the hours to come. */
async function seedService(url: string, { users, quietUsers }: Traffic): Promise<void> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  await database.query(
    `INSERT INTO notify.recipient (bucket, user_id, email, updated_at) SELECT 0, u, u || '@example.com', now() FROM unnest($1::text[]) AS u`,
    [users],
  )
  await database.query(
    `INSERT INTO notify.device (bucket, user_id, device_id, token, service, registered_at)
     SELECT 0, u, 'phone', 'token of ' || u, 'fake', now() FROM unnest($1::text[]) AS u`,
    [users],
  )
  const hour = (offset: number) => `${String((new Date().getUTCHours() + offset + 24) % 24).padStart(2, '0')}:00`
  await database.query(
    `INSERT INTO notify.preference (bucket, user_id, event_type, quiet_start, quiet_end, updated_at)
     SELECT 0, u, '*', $2, $3, now() FROM unnest($1::text[]) AS u`,
    [[...quietUsers], hour(-2), hour(6)],
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
    const consumer = await manager.consumers.info('NOTIFICATIONS', 'notify')
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
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  const { rows } = await database.query(
    `SELECT n.id, n.data->>'key' AS key, l.cause, l.detail,
            (SELECT json_agg(d) FROM notify.delivery d WHERE d.user_id = n.user_id) AS deliveries,
            (SELECT json_agg(e ORDER BY e.id) FROM notify.timeline_entry e WHERE e.notification_id = n.id) AS timeline
       FROM notify.notification n LEFT JOIN notify.dead_letter l ON l.notification_id = n.id
      WHERE n.data->>'key' = ANY ($1::text[])`,
    [lost.map(({ data }) => data.key)],
  )
  await database.close()
  assert.deepEqual(
    lost.map(({ data, user_id }) => `${data.key} of ${user_id}`),
    [],
    `lost; known of them: ${JSON.stringify(rows)}`,
  )
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
