import assert from 'node:assert/strict'
import { after, before, describe, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { type CitusServer, createCitusDatabase, type PostgresServer, startCitus, testWith } from '@gatehouse/testing'
import pg from 'pg'
import { defaultOptions } from '../../../src/config/options.ts'
import type { NotifyStore } from '../../../src/index.ts'
import { bucketOfUser } from '../../../src/model/id.ts'
import { distributeNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { NodeUnavailable } from '../../../src/postgres/nodes/watched-node.ts'
import { bucketOfToken } from '../../../src/postgres/users/devices.ts'
import { eventually } from '../../support/setup.ts'

const buckets = 8
const now = Date.UTC(2026, 5, 1)
const dayMs = 86_400_000
/** Far longer than what anybody may wait. */
const timeouts = { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 }
/** Longer than it takes to notice a node that does not answer, in milliseconds. */
const noticedMs = 4_000
/** What is refused at once takes no longer on a machine that is busy. */
const atOnceMs = 1_000
const maxPoolOfNode = 20

interface World {
  readonly database: Database
  readonly store: NotifyStore
  readonly url: string
  /** The worker that has bucket 0, and its buckets; what is on the other one goes on. */
  readonly worker: PostgresServer
  readonly lost: ReadonlySet<number>
}

/** A text that comes to one of these buckets, or to none of them. */
function textIn(isWanted: (text: string) => boolean, name: string): string {
  for (let n = 0; ; n++) if (isWanted(`${name}-${n}`)) return `${name}-${n}`
}

async function refusedAtOnce(what: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now()
  await assert.rejects(work, (error) => error instanceof NodeUnavailable && /does not answer/.test(error.reason), what)
  assert.ok(performance.now() - begun < atOnceMs, `${what} took ${performance.now() - begun} ms`)
}

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Takes all connections of a server. */
async function fill(t: TestContext, url: string): Promise<void> {
  for (;;)
    try {
      const client = await connectTo(url)
      t.after(() => client.end())
    } catch (error) {
      assert.equal((error as { code?: string }).code, '53300')
      return
    }
}

describe('a distributed database of which one node is half dead', () => {
  let citus: CitusServer | undefined
  before(async () => {
    const settings = ['citus.shard_count=4', 'max_connections=60', `citus.max_shared_pool_size=${maxPoolOfNode}`]
    citus = await startCitus({ settings }).catch(() => undefined)
  })
  after(() => citus?.stop())

  async function createWorld(t: TestContext): Promise<World> {
    const { nodes, workers } = citus ?? assert.fail('Citus did not start')
    const url = await createCitusDatabase(nodes)
    const single = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
    await distributeNotify(single, { buckets })
    const { rows } = await single.query<{ bucket: number; port: number }>(
      `SELECT b.bucket, s.nodeport AS port FROM generate_series(0, $1::integer - 1) AS b (bucket)
         JOIN citus_shards s ON s.table_name = 'notify.delivery'::regclass
          AND s.shardid = get_shard_id_for_distribution_column('notify.delivery', b.bucket::smallint)`,
      [buckets],
    )
    await single.close()
    const port = rows.find(({ bucket }) => bucket === 0)?.port
    const worker = workers.find((each) => each.port === port) ?? assert.fail('no worker has bucket 0')
    const lost = new Set(rows.filter((row) => row.port === port).map(({ bucket }) => bucket))
    assert.ok(lost.size < buckets, 'each worker has buckets')
    const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 10, timeouts })
    t.after(async () => {
      worker.thaw()
      await database.close()
    })
    const store = postgresNotifyStore(database, { buckets, distributed: true })
    return { database, store, url, worker, lost }
  }

  /** Slow work on the lost node: it waits for a row that somebody else has locked. */
  async function waitForRow(t: TestContext, { store, url, lost }: World) {
    const user = textIn((text) => lost.has(bucketOfUser(text, buckets)), 'waiting')
    await store.recipients.put([{ userId: user }], now)
    const locker = await connectTo(url)
    await locker.query('BEGIN')
    await locker.query(`SELECT FROM notify.recipient WHERE bucket = ${bucketOfUser(user, buckets)} FOR UPDATE`)
    t.after(() => locker.end())
    const work = store.recipients.setZoneinfo(user, 'Europe/Vienna', now)
    return { work, release: () => locker.query('COMMIT') }
  }

  testWith('citus', 'what concerns a frozen node is refused at once, with the reason, and others go on', async (t) => {
    const { database, store, worker, lost } = await createWorld(t)
    const isLost = (user: string) => lost.has(bucketOfUser(user, buckets))
    const [own, other] = [textIn(isLost, 'user'), textIn((user) => !isLost(user), 'user')]
    const tokenIn = (isWanted: boolean) => textIn((token) => lost.has(bucketOfToken(token, buckets)) === isWanted, 't')
    const device = (token: string) => ({ deviceId: token, token, service: 'fcm' as const })
    await store.recipients.put([{ userId: other }], now)
    const returned: Array<readonly number[]> = []
    t.after(store.nodes?.onReturn((list) => returned.push(list)) ?? assert.fail('no nodes'))
    const sessions = async () =>
      (await database.query("SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND state = 'active'"))
        .rowCount
    worker.freeze()
    await assert.rejects(store.recipients.find(own), NodeUnavailable)
    const before = await sessions()

    await refusedAtOnce('its own', () => store.recipients.find(own))
    await refusedAtOnce('a search of all recipients', () => store.recipients.search({ prefix: 'user' }, '', 10))
    await refusedAtOnce('an event type', () =>
      store.eventTypes.put({ event: 'note', channels: ['email'] } as never, now),
    )
    await refusedAtOnce('an export', () => store.privacy.exportUser(other))
    await refusedAtOnce('an erasure', () => store.privacy.eraseUser(other))
    await refusedAtOnce('a device whose token is there', () => store.devices.put(other, device(tokenIn(true)), now))
    await refusedAtOnce('a list of dead letters', () => store.deadLetters.list({}, 10, undefined))
    assert.equal((await store.devices.put(other, device(tokenIn(false)), now)).length, 0)
    assert.equal((await store.recipients.find(other))?.userId, other)
    assert.ok((await sessions()) <= before, 'nothing waits for the node')

    worker.thaw()
    await eventually(
      async () => returned.length,
      (count) => count > 0,
    )
    assert.deepEqual(new Set(returned[0]), lost)
    assert.equal(await store.recipients.find(own), undefined)
    assert.equal((await store.recipients.search({ prefix: 'user' }, '', 10)).length, 1)
  })

  testWith('citus', 'the rate of an event type is free while events of a frozen node would wait for it', async (t) => {
    const { database, store, worker, lost } = await createWorld(t)
    const isLost = (user: string) => lost.has(bucketOfUser(user, buckets))
    const [own, other] = [textIn(isLost, 'user'), textIn((user) => !isLost(user), 'user')]
    const rate = { limit: 2, perSeconds: 3_600 }
    const parkable = (user: string, place: number) => ({
      key: `topic:${place}`,
      place,
      request: { event: 'note', user_id: user, data: {} },
      occurredAt: now,
    })
    const acquire = (count: number, ...parked: readonly string[]) =>
      store.intake.acquireRates(
        [{ event: 'note', count, parkable: parked.map((user, place) => parkable(user, place)), rate }],
        now,
      )
    // On every connection, so that none has yet to learn how the statements are run.
    await Promise.all(Array.from({ length: 10 }, () => database.query('SELECT pg_sleep(0.1)')))
    worker.freeze()
    const refused = [
      acquire(0, own),
      store.parked.release(bucketOfUser(own, buckets), { event: 'note', rate }, 10, now),
    ].map((work) => assert.rejects(work as Promise<unknown>, NodeUnavailable))
    const answered = await acquire(1)
    assert.equal(answered.get('note')?.granted, 1)
    await Promise.all(refused)
    await refusedAtOnce('an event that may have to wait', () => acquire(0, own))
    assert.equal((await acquire(0, other, other)).get('note')?.passed, 1, 'the other of them is parked')
  })

  testWith('citus', 'who takes over what a frozen node has is refused, and holds up nobody', async (t) => {
    const { database, store, url, worker, lost } = await createWorld(t)
    const isLost = (user: string) => lost.has(bucketOfUser(user, buckets))
    const [own, other] = [textIn(isLost, 'user'), textIn((user) => !isLost(user), 'user')]
    const tokensIn = (isWanted: boolean, name: string) =>
      Array.from({ length: 12 }, (_, n) =>
        textIn((token) => lost.has(bucketOfToken(token, buckets)) === isWanted, `${name}-${n}`),
      )
    const device = (token: string, deviceId = token) => ({ deviceId, token, service: 'fcm' as const })
    const [owned, released, fresh] = [tokensIn(false, 'owned'), tokensIn(true, 'released'), tokensIn(false, 'fresh')]
    for (const token of owned) await store.devices.put(own, device(token), now)
    for (const token of released) await store.devices.put(other, device(token), now)
    const opened = postgresNotifyStore(database, { buckets, distributed: true })
    await opened.recipients.put([{ userId: other }], now)
    worker.freeze()
    const begun = performance.now()
    const refused = [
      // Their former owner is there, or the tokens that they had before.
      ...owned.map((token) => opened.devices.put(other, device(token), now)),
      ...fresh.map((token, n) => opened.devices.put(other, device(token, released[n]), now)),
      ...released.map((token) => opened.devices.remove(other, token)),
    ].map((work) => assert.rejects(work, NodeUnavailable))
    for (let looks = 0; looks < 5; looks++) {
      const since = performance.now()
      assert.equal((await opened.recipients.find(other))?.userId, other)
      assert.ok(performance.now() - since < noticedMs, `it took ${performance.now() - since} ms`)
    }
    await Promise.all(refused)
    assert.ok(performance.now() - begun < 3 * noticedMs, `they took ${performance.now() - begun} ms`)
    const declared = { recipient: { userId: other }, devices: [device(owned[0] ?? '')] }
    await refusedAtOnce('a declared device', () =>
      opened.declared.recipients([{ id: other, entry: declared as never }], now),
    )
    const starting = await openPostgres({ url: new Secret(url), log: silentLog, connections: 2, timeouts })
    t.after(() => starting.close())
    const started = performance.now()
    const { declared: declarations } = postgresNotifyStore(starting, { buckets, distributed: true })
    await assert.rejects(declarations.recipients([{ id: 'declared', entry: declared as never }], now), NodeUnavailable)
    assert.ok(performance.now() - started < 3 * noticedMs, `it took ${performance.now() - started} ms`)
  })

  testWith('citus', 'retention removes what is on the other nodes, and the rest once the node is back', async (t) => {
    const { database, store, worker, lost } = await createWorld(t)
    const other = textIn((user) => !lost.has(bucketOfUser(user, buckets)), 'user')
    const bucket = bucketOfUser(other, buckets)
    const old = now - 1_000 * dayMs
    const tokens = Array.from({ length: 12 }, (_, n) => `token-${n}`)
    for (const token of tokens) {
      await store.devices.put(other, { deviceId: token, token, service: 'fcm' }, old, tokens.length)
      await store.devices.markDead(other, token, old, 'unregistered')
    }
    const inLost = tokens.filter((token) => lost.has(bucketOfToken(token, buckets)))
    assert.ok(inLost.length > 0 && inLost.length < tokens.length, 'each node has tokens')
    await store.mailbox.add([
      {
        id: 'old',
        deliveryId: '01000000-0000-7000-8000-000000000000',
        userId: other,
        channel: 'email',
        address: 'a@example.com',
        content: {} as never,
        at: old,
      },
    ])
    worker.freeze()
    await assert.rejects(store.privacy.purge(0, defaultOptions.retention, now), NodeUnavailable)
    assert.equal(await store.mailbox.find('old'), undefined, 'what is in no bucket is removed')
    await refusedAtOnce('a purge', () => store.privacy.purge(bucket, defaultOptions.retention, now))
    const left = (await store.devices.list(other)).map(({ token }) => token)
    assert.deepEqual(left.toSorted(), inLost.toSorted())
    worker.thaw()
    await eventually(
      () => store.privacy.purge(bucket, defaultOptions.retention, now).catch(() => -1),
      (removed) => removed === inLost.length,
    )
    assert.equal((await database.query('SELECT FROM notify.push_token')).rowCount, 0)
  })

  testWith('citus', 'a node to which all connections are in use is not dead', async (t) => {
    const world = await createWorld(t)
    const { work, release } = await waitForRow(t, world)
    for (let n = 0; n < maxPoolOfNode; n++) {
      const holder = await connectTo(world.url)
      t.after(() => holder.end())
      await holder.query('BEGIN')
      // Those that get no connection wait for one, as the work of others would.
      holder.query('SELECT FROM notify.bucket_anchor WHERE bucket = 0').catch(() => {})
    }
    await pause(noticedMs)
    await release()
    await work
  })

  testWith('citus', 'a worker that has no connection left is not dead', async (t) => {
    const world = await createWorld(t)
    const { work, release } = await waitForRow(t, world)
    await fill(t, world.worker.url)
    await pause(noticedMs)
    await release()
    await work
  })

  testWith('citus', 'a coordinator that has no connection left says nothing of its workers', async (t) => {
    const world = await createWorld(t)
    const { work, release } = await waitForRow(t, world)
    await fill(t, world.url)
    await pause(noticedMs)
    await release()
    await work
    assert.equal(await world.store.recipients.find('anybody'), undefined)
  })
})
