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
import { bucketOfId, deliveryIdOf, newId } from '../../../src/model/id.ts'
import { distributeNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { writeChanges } from '../../../src/postgres/timeline/outbox.ts'

const count = 32
const all = Array.from({ length: count }, (_, bucket) => bucket)
const at = Date.UTC(2026, 5, 1)

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

  for (const [moment, command] of [
    ['before it committed itself', /PREPARE TRANSACTION/],
    // Of a transaction that was prepared, or of one that was not.
    ['before it heard of the commit of the worker', /^Q....COMMIT( PREPARED|\0)/s],
  ] as const)
    testWith('citus', `a coordinator that crashes ${moment} loses and doubles no change`, async (t) => {
      const { url, proxies } = await distributed(t)
      const first = await open(url, 2)
      // Of one worker: of two, a transaction would be prepared anyway.
      const users = await write(first, [0], 10)
      const lost = Promise.race(proxies.map((proxy) => proxy.loseAnswerTo(/notify\.outbox/, command)))
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
      await database.query('SELECT recover_prepared_transactions()')
      await changesOf(database).number([0], 100, at)
      await assertNumbered(database, users)
      await database.close()
    })
})
