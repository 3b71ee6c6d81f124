import assert from 'node:assert/strict'
import { after, before, describe, type TestContext } from 'node:test'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import {
  type CitusServer,
  createCitusDatabase,
  type SilentProxy,
  startCitus,
  startSilentProxy,
  testWith,
} from '@gatehouse/testing'
import { bucketOfId, bucketOfUser, deliveryIdOf, newId, newIdOfUser } from '../../../src/model/id.ts'
import { distributeNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { forbidReadChanges } from '../../../src/postgres/timeline/numbering-apart.ts'
import { writeChanges } from '../../../src/postgres/timeline/outbox.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'
import { someoneWaits } from '../../support/processes/lock-waits.ts'
import { eventually } from '../../support/setup.ts'

const count = 32
const all = Array.from({ length: count }, (_, bucket) => bucket)
const at = Date.UTC(2026, 5, 1)
/** Far less than any timeout, on a machine that is busy. */
const numberedWithinMs = 15_000

const open = (url: string, connections: number) =>
  openPostgres({ url: new Secret(url), log: silentLog, connections, timeouts: { statementMs: 60_000 } })

/** Writes changes of deliveries in these buckets into the outbox; returns the users that they are known by. */
async function write(database: Database, buckets: readonly number[], each: number): Promise<string[]> {
  const users: string[] = []
  for (const bucket of buckets) {
    const changes = Array.from({ length: each }, (_, n) => {
      const deliveryId = deliveryIdOf(newId(bucket), 'email')
      assert.equal(bucketOfId(deliveryId, count), bucket)
      return { deliveryId, userId: `user ${bucket} ${n}`, channel: 'email', state: 'sent', at } as const
    })
    users.push(...changes.map(({ userId }) => userId))
    await database.transaction((tx) =>
      Promise.all(writeChanges({ count, bucket }, changes).map((query) => tx.query(query))),
    )
  }
  return users
}

const changesOf = (database: Database) =>
  postgresNotifyStore(database, { buckets: count, distributed: true }).stateChanges

/** Writes a change about this user. */
async function writeOf(database: Database, bucket: number, userId: string): Promise<void> {
  const change = {
    deliveryId: deliveryIdOf(newIdOfUser(userId), 'email'),
    userId,
    channel: 'email',
    state: 'sent',
    at,
  } as const
  await database.transaction((tx) =>
    Promise.all(writeChanges({ count, bucket }, [change]).map((query) => tx.query(query))),
  )
}

/** The buckets whose rows are on the node of a port. */
async function bucketsOn(database: Database, port: number): Promise<number[]> {
  const { rows } = await database.query<{ bucket: number }>(
    `SELECT b.bucket FROM generate_series(0, $1::integer - 1) AS b (bucket)
       JOIN citus_shards s ON s.table_name = 'notify.outbox'::regclass AND s.nodeport = $2
        AND s.shardid = get_shard_id_for_distribution_column('notify.outbox', b.bucket::smallint) ORDER BY b.bucket`,
    [count, port],
  )
  return rows.map(({ bucket }) => bucket)
}

/** The node with the outbox of a bucket, on which a change of its rows can be left prepared. */
async function openWorkerOf(database: Database, url: string, bucket: number) {
  const { rows } = await database.query<{ shard: number; port: number }>(
    `SELECT shardid::integer AS shard, nodeport AS port FROM citus_shards
      WHERE shardid = get_shard_id_for_distribution_column('notify.outbox', $1::smallint)`,
    [bucket],
  )
  const { shard, port } = rows[0] ?? assert.fail('no shard has the bucket')
  const worker = await open(Object.assign(new URL(url), { port: String(port) }).href, 2)
  return {
    database: worker,
    close: () => worker.close(),
    prepare: (change: string, ids?: readonly string[]) =>
      worker.session(async (session) => {
        await session.query('BEGIN')
        await session.query({
          text: `UPDATE notify.outbox_${shard} SET ${change} WHERE bucket = $1 AND id = ANY (coalesce($2, ARRAY[id]))`,
          values: [bucket, ids ?? null],
        })
        await session.query("PREPARE TRANSACTION 'erasure'")
      }),
    commitPrepared: () => worker.query("COMMIT PREPARED 'erasure'"),
  }
}

/** The log has each of these once, under numbers without a gap, and the outbox is empty. */
async function assertNumbered(database: Database, users: readonly string[]): Promise<void> {
  const { changes, last } = await changesOf(database).read(0, 10_000, {})
  assert.deepEqual(changes.map(({ payload }) => payload.user_id).toSorted(), users.toSorted())
  assert.deepEqual(
    changes.map(({ sequence }) => sequence),
    Array.from({ length: users.length }, (_, n) => n + 1),
  )
  assert.equal(last, users.length)
  assert.equal((await database.query('SELECT FROM notify.outbox')).rowCount, 0)
}

describe('state changes are numbered on a distributed database', () => {
  let citus: CitusServer | undefined
  before(async () => {
    citus = await startCitus({ settings: ['citus.shard_count=4'] }).catch(() => undefined)
  })
  after(() => citus?.stop())

  /** A distributed database whose coordinator reaches the workers through proxies. */
  async function distributed(t: TestContext): Promise<{ url: string; proxies: readonly SilentProxy[] }> {
    const { url, workers } = citus ?? assert.fail('Citus did not start')
    const proxies = await Promise.all(workers.map(({ port }) => startSilentProxy(port)))
    t.after(() => Promise.all(proxies.map((proxy) => proxy.stop())))
    const through = proxies.map(({ port }) => Object.assign(new URL(url), { port: String(port) }).href)
    const created = await createCitusDatabase([url, ...through])
    const single = await open(created, 1)
    await distributeNotify(single, { buckets: count })
    await single.close()
    return { url: created, proxies }
  }

  testWith('citus', 'whoever numbers at once, each change gets one number, and no number is left out', async (t) => {
    const database = await open((await distributed(t)).url, 8)
    t.after(() => database.close())
    const writing = write(database, all, 20)
    let isWriting = true
    const changes = changesOf(database)
    const numbering = Array.from({ length: 4 }, async () => {
      for (let numbered = 1; isWriting || numbered > 0; ) numbered = await changes.number(all, 7, at)
    })
    const users = await writing
    isWriting = false
    await Promise.all(numbering)
    while ((await changes.number(all, 1_000, at)) > 0);
    await assertNumbered(database, users)
  })

  for (const [moment, statement] of [
    ['before it numbered what it read', /row_to_json.*notify\.outbox/s],
    ['before it heard that what it numbered is removed', /DELETE FROM notify\.outbox/],
  ] as const)
    testWith('citus', `a coordinator that crashes ${moment} loses and doubles no change`, async (t) => {
      const { url, proxies } = await distributed(t)
      const first = await open(url, 2)
      const users = await write(first, [0], 10)
      const lost = Promise.race(proxies.map((proxy) => proxy.loseAnswerTo(statement)))
      const numbering = changesOf(first)
        .number([0], 100, at)
        .then(
          () => assert.fail('the crash came too late'),
          () => {},
        )
      await lost
      await citus?.coordinator.crash()
      await numbering
      await first.close()
      await citus?.coordinator.recover()
      const database = await open(url, 2)
      await changesOf(database).number([0], 100, at)
      await assertNumbered(database, users)
      await database.close()
    })

  for (const [moment, statement] of [
    ['read', /notify\.outbox/],
    ['removed', /DELETE FROM notify\.outbox/],
  ] as const)
    testWith('citus', `a worker that freezes while its changes are ${moment} holds up no other`, async (t) => {
      const { url, proxies } = await distributed(t)
      const database = await open(url, 8)
      const [worker] = citus?.workers ?? []
      t.after(async () => {
        worker?.thaw()
        await database.close()
      })
      const own = await bucketsOn(database, proxies[0]?.port ?? 0)
      const others = all.filter((bucket) => !own.includes(bucket))
      const first = await write(database, own.slice(0, 1), 10)
      const changes = changesOf(database)
      const lost = proxies[0]?.loseAnswerTo(statement)
      const frozen = changes.number(own.slice(0, 1), 100, at).then(
        () => assert.fail('the freeze came too late'),
        () => {},
      )
      await lost
      worker?.freeze()
      for (let round = 0; round < 3; round++) {
        const begun = performance.now()
        const users = await write(database, others.slice(0, 4), 5)
        const { last } = await changes.positions()
        assert.equal(await changes.number(others, 100, at), users.length)
        const numbered = await changes.read(last, 100, {})
        assert.deepEqual(numbered.changes.map(({ payload }) => payload.user_id).toSorted(), users.toSorted())
        assert.ok(performance.now() - begun < numberedWithinMs, `it took ${performance.now() - begun} ms`)
        first.push(...users)
      }
      await frozen
      worker?.thaw()
      await eventually(
        () => changes.number(all, 100, at).catch(() => -1),
        (numbered) => numbered === 0,
      )
      await assertNumbered(database, first)
    })

  testWith('citus', 'an erasure that a worker has prepared and not committed is waited for', async (t) => {
    const { url } = await distributed(t)
    const database = await open(url, 8)
    t.after(() => database.close())
    const bucket = bucketOfUser('alice', count)
    await writeOf(database, bucket, 'alice')
    const worker = await openWorkerOf(database, url, bucket)
    t.after(() => worker.close())
    // What an erasure has done between its commit on the coordinator and that on the worker.
    await worker.prepare('changes = ARRAY[NULL]::notify.change[]')
    await database.transaction((tx) => forbidReadChanges(tx, bucket))
    const numbering = changesOf(database).number([bucket], 10, at)
    await Promise.race([numbering, someoneWaits(worker.database)])
    await worker.commitPrepared()
    assert.equal(await numbering, 1)
    const { rows } = await database.query<{ changes: unknown }>('SELECT changes::text FROM notify.state_change')
    assert.deepEqual(rows, [{ changes: '{NULL}' }])
  })

  testWith('citus', 'who removes what is numbered and who reads it wait for each other in one order', async (t) => {
    const { url } = await distributed(t)
    const database = await open(url, 8)
    t.after(() => database.close())
    const bucket = bucketOfUser('alice', count)
    const reading = changesOf(database)
    assert.equal(await reading.number([bucket], 10, at), 0)
    // The rows lie in the table in another order than that of their ids.
    const ids = Array.from({ length: 9 }, () => newIdOfUser('alice')).toSorted()
    for (const id of ids.toReversed())
      await database.query(
        `INSERT INTO notify.outbox (bucket, id, changes)
         VALUES ($1, $2, ARRAY[($2, $2, now(), 'alice', 'sent', 'sent', NULL)::notify.change])`,
        [bucket, id],
      )
    await database.query('VACUUM ANALYZE notify.outbox')
    // Who numbered them is gone before it removed them, and somebody else has the one in the middle.
    const { rows } = await database.query<{ waiting: string }>(
      'SELECT json_agg(o)::text AS waiting FROM notify.outbox o WHERE bucket = $1',
      [bucket],
    )
    await database.query('SELECT notify.number_read_changes($1, 0, $2, now())', [bucket, rows[0]?.waiting])
    const worker = await openWorkerOf(database, url, bucket)
    t.after(() => worker.close())
    await worker.prepare('changes = changes', ids.slice(4, 5))
    const removed = changesOf(database).number([bucket], 10, at)
    await Promise.race([removed, someoneWaits(worker.database, 1)])
    const read = reading.number([bucket], 10, at)
    await Promise.race([read, someoneWaits(worker.database, 2)])
    await worker.commitPrepared()
    assert.deepEqual(await Promise.all([removed, read]), [0, 0])
    await assertNumbered(database, ids.fill('alice'))
  })

  testWith('citus', 'an erasure leaves nothing behind in any interleaving with the numbering', async (t) => {
    const database = await open((await distributed(t)).url, 8)
    t.after(() => database.close())
    const bucket = bucketOfUser('alice', count)
    const storeOn = (on: Database) => postgresNotifyStore(on, { buckets: count, distributed: true })
    const run = {
      erasure: (on: Database) => storeOn(on).privacy.eraseUser('alice'),
      numbering: (on: Database) => storeOn(on).stateChanges.number([bucket], 10, at),
    }
    for (const stopped of ['erasure', 'numbering'] as const)
      for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
        await writeOf(database, bucket, 'alice')
        const barrier = createBarrier(place)
        const first = run[stopped](withBarrier(barrier, database))
        await Promise.race([barrier.reached, first])
        const second = run[stopped === 'erasure' ? 'numbering' : 'erasure'](database)
        await Promise.race([second, someoneWaits(database)])
        barrier.lift()
        await Promise.all([first, second])
        last = barrier.passes
        await storeOn(database).stateChanges.number([bucket], 10, at)
        const left = await database.query('SELECT FROM notify.state_change')
        assert.equal(left.rowCount, 0, `the ${stopped} was stopped before statement ${place}`)
      }
  })
})
