import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import {
  createMetrics,
  type Database,
  isUnavailable,
  openPostgres,
  Problem,
  Secret,
  silentLog,
  systemClock,
} from '@gatehouse/kit'
import { type CitusServer, createCitusDatabase, startCitus, testWith } from '@gatehouse/testing'
import { createNotify, type Notify, type Provider } from '../../../src/index.ts'
import { bucketOfUser } from '../../../src/model/id.ts'
import { distributeNotify, migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { NotifyStore } from '../../../src/store/store.ts'
import { eventually } from '../../support/setup.ts'

const buckets = 32
/** Those of one shard move, those of the others do not. */
const users = Array.from({ length: 96 }, (_, n) => `user-${n}`)
const producers = 8
const erasers = 2
/** Each moves there and back. */
const modes = ['block_writes', 'force_logical', 'block_writes', 'force_logical'] as const
const leaseMs = 60_000

/** Calls by the body of the message. */
const callsOf = new Map<string, number>()

const provider: Provider = {
  name: 'counting',
  channel: 'email',
  timeoutMs: 5_000,
  async send(messages) {
    for (const { content } of messages) callsOf.set(content.body, (callsOf.get(content.body) ?? 0) + 1)
    return messages.map(() => ({ kind: 'accepted' }))
  },
}

async function open(url: string): Promise<{ database: Database; store: NotifyStore; notify: Notify }> {
  const database = await openPostgres({
    url: new Secret(url),
    log: silentLog,
    connections: 12,
    timeouts: { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 },
  })
  const store = postgresNotifyStore(database, { ...(await migrateNotify(database, { buckets })), streaming: true })
  const notify = await createNotify({
    store,
    providers: { email: [provider] },
    declared: {
      eventTypes: [{ event: 'note', channels: ['email', 'in-app'] }],
      templates: (['email', 'in-app'] as const).map((channel) => ({
        templateId: 'note',
        channel,
        locale: 'en',
        body: '{{ key }}',
      })),
      recipients: users.map((user_id) => ({ user_id, email: `${user_id}@example.com` })),
    },
    authenticate: () => assert.fail('nobody asks'),
    options: { leaseMs, idleMs: 100, sweepMs: 2_000, caps: { total: 100_000, channels: {}, priorities: {} } },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  })
  return { database, store, notify }
}

/** Does it again as long as what it needs of the database is away or busy, as callers do. */
async function untilDone<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;)
    try {
      return await work()
    } catch (error) {
      assert.ok(isUnavailable(error) || (error instanceof Problem && error.status === 503), String(error))
      await pause(100)
    }
}

async function submit(notify: Notify, user: string, key: string): Promise<void> {
  const [result] = await untilDone(() =>
    notify.accept([{ event: 'note', user_id: user, data: { key }, dedup_key: key }]),
  )
  assert.ok(result && 'accepted' in result, JSON.stringify(result))
}

interface Placed {
  readonly shard: string
  readonly port: number
}

/** The shard that has the rows of a bucket, and the port of its node. */
async function placeOf(database: Database, bucket: number): Promise<Placed> {
  const { rows } = await database.query<Placed>(
    `SELECT shardid::text AS shard, nodeport::integer AS port FROM citus_shards
      WHERE shardid = get_shard_id_for_distribution_column('notify.bucket_anchor', $1::smallint)`,
    [bucket],
  )
  return rows[0] ?? assert.fail('no shard has the bucket')
}

/** False where Citus has to repeat the move: statements still lock what the previous one left on the node. */
function refusedForLeftovers(error: unknown): false {
  assert.match(String(error), /orphaned shard .* could not be cleaned up/)
  return false
}

/** How many rows of each table that knows users by name are of these users. */
async function rowsOf(database: Database, of: readonly string[]): Promise<Record<string, number>> {
  const { rows: tables } = await database.query<{ name: string }>(
    `SELECT DISTINCT table_name AS name FROM information_schema.columns WHERE table_schema = 'notify' AND column_name = 'user_id'
        AND table_name = ANY (SELECT relname FROM pg_class WHERE relnamespace = 'notify'::regnamespace AND relkind = 'r')`,
  )
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await database.query<{ n: number }>(
      `SELECT count(*)::integer AS n FROM notify.${name} WHERE user_id = ANY ($1)`,
      [of],
    )
    if (rows[0]?.n) found[name] = rows[0].n
  }
  return found
}

testWith('citus', 'a shard that moves under load loses and doubles nothing, nor leaves what is erased', async (t) => {
  const settings = ['citus.shard_count=4', 'wal_level=logical']
  const citus: CitusServer = await startCitus({ settings })
  t.after(() => citus.stop())
  const url = await createCitusDatabase(citus.nodes)
  const single = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  await distributeNotify(single, { buckets })
  const moved = bucketOfUser('user-0', buckets)
  const { database, store, notify } = await open(url)
  t.after(async () => {
    await notify.stop()
    await database.close()
    await single.close()
  })
  const shardOf = new Map<string, string>()
  for (const user of users) shardOf.set(user, (await placeOf(single, bucketOfUser(user, buckets))).shard)
  const isMoved = (user: string) => shardOf.get(user) === shardOf.get('user-0')
  const [leaving, staying] = [users.filter((_, n) => n % 3 === 0), users.filter((_, n) => n % 3 !== 0)]
  assert.ok(leaving.filter(isMoved).length > 2 && staying.filter(isMoved).length > 4, 'the shard has users')
  for (const user of users) await submit(notify, user, `first ${user}`)

  let isMoving = true
  const keys = new Map(staying.map((user) => [user, [`first ${user}`]]))
  const submitAll = async (own: readonly string[]) => {
    for (let round = 0; isMoving; round++)
      for (const user of own) {
        const key = `${round} ${user}`
        keys.get(user)?.push(key)
        await submit(notify, user, key)
      }
  }
  const eraseAll = async (own: readonly string[]) => {
    while (isMoving)
      for (const user of own) {
        await untilDone(() => store.recipients.put([{ userId: user, email: `${user}@example.com` }], Date.now()))
        await submit(notify, user, `last ${user}`)
        await untilDone(() => store.privacy.eraseUser(user))
      }
  }
  const shareOf = (of: readonly string[], n: number, parts: number) => of.filter((_, index) => index % parts === n)
  const producing = [
    ...Array.from({ length: producers }, (_, n) => submitAll(shareOf(staying, n, producers))),
    ...Array.from({ length: erasers }, (_, n) => eraseAll(shareOf(leaving, n, erasers))),
  ]
  const move = async () => {
    for (const mode of modes)
      for (let times = 0; times < 2; times++) {
        const { shard, port } = await placeOf(single, moved)
        const target = citus.workers.find((worker) => worker.port !== port) ?? assert.fail('no other worker')
        const begun = performance.now()
        const tryMove = () =>
          single
            .query({
              text: "SELECT citus_move_shard_placement($1::bigint, '127.0.0.1', $2, '127.0.0.1', $3, $4::citus.shard_transfer_mode)",
              values: [shard, port, target.port, mode],
              timeoutMs: 120_000,
            })
            .then(() => true, refusedForLeftovers)
        await eventually(tryMove, (moved) => moved)
        t.diagnostic(`moved with ${mode} in ${Math.round(performance.now() - begun)} ms`)
        assert.equal((await placeOf(single, moved)).port, target.port)
      }
  }
  await move().finally(() => {
    isMoving = false
  })
  await Promise.all(producing)

  const sent = [...keys.values()].flat()
  t.diagnostic(`${sent.length} events of users who stay`)
  await eventually(
    async () => sent.filter((key) => !callsOf.has(key)).length,
    (missing) => missing === 0,
  )
  assert.deepEqual(
    sent.filter((key) => callsOf.get(key) !== 1),
    [],
  )
  const waiting = async () =>
    (await database.query('SELECT FROM notify.delivery_queue')).rowCount +
    (await database.query('SELECT FROM notify.outbox')).rowCount
  await eventually(waiting, (rowCount) => rowCount === 0)
  for (const user of leaving) await untilDone(() => store.privacy.eraseUser(user))
  assert.deepEqual(await rowsOf(database, leaving), {})
  const { rows } = await database.query<{ key: string; states: string[] }>(
    `SELECT n.data->>'key' AS key, array_agg(d.channel || ' ' || d.state ORDER BY d.channel) AS states
       FROM notify.notification n JOIN notify.delivery d
         ON d.bucket = n.bucket AND overlay(d.id::text PLACING '0' FROM 32)::uuid = n.id
      GROUP BY n.bucket, n.id, n.data->>'key'`,
  )
  assert.deepEqual(rows.map(({ key }) => key).sort(), sent.toSorted(), 'each is stored once')
  for (const { key, states } of rows) assert.deepEqual(states, ['email sent', 'in-app sent'], key)
  const { changes } = await store.stateChanges.read(0, 1_000_000, { state: 'sent' })
  const reported = changes.flatMap(({ payload }) => (keys.has(payload.user_id) ? [payload.delivery_id] : []))
  assert.equal(new Set(reported).size, reported.length, 'no state change is in the log twice')
  assert.equal(reported.length, 2 * sent.length, 'each state change is in the log')
  for (const [user, own] of keys)
    assert.equal((await store.inbox.page(user, { limit: 1 })).counts.total, own.length, user)
})
