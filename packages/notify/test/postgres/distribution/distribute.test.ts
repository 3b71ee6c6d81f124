import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openPostgres, readTableSizes, Secret, StartError, silentLog } from '@gatehouse/kit'
import { type CitusServer, createCitusDatabase, sharedPostgres, startCitus, testWith } from '@gatehouse/testing'
import { deliveryIdOf, newId, newIdOfUser } from '../../../src/model/id.ts'
import { distributeNotify, migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { writeChanges } from '../../../src/postgres/timeline/outbox.ts'
import { eventually, seedEventType, setup } from '../../support/setup.ts'

const open = (url: string, connections: number = 1) =>
  openPostgres({ url: new Secret(url), log: silentLog, connections })

async function withDatabase(url: string, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await open(url)
  try {
    await work(database)
  } finally {
    await database.close()
  }
}

const anHour = 3_600_000

const change = { channel: 'sms', state: 'bounced', at: Date.UTC(2026, 5, 1) } as const

const refused = (message: RegExp) => (error: unknown) => error instanceof StartError && message.test(error.message)

testWith('postgresql', 'tables on a PostgreSQL without Citus are not distributed', async () => {
  const server = await sharedPostgres()
  try {
    await withDatabase(server.url, (database) =>
      assert.rejects(distributeNotify(database, { buckets: 32 }), refused(/it needs the extension citus/)),
    )
  } finally {
    await server.stop()
  }
})

describe('tables are distributed over the workers of Citus', () => {
  let citus: CitusServer | undefined
  before(async () => {
    citus = await startCitus({ settings: ['citus.shard_count=4'] }).catch(() => undefined)
  })
  after(() => citus?.stop())
  const nodes = () => citus?.nodes ?? assert.fail('Citus did not start')

  testWith('citus', 'a new database is distributed once, and again there is nothing to do', async () => {
    await withDatabase(await createCitusDatabase(nodes()), async (database) => {
      const first = await distributeNotify(database, { buckets: 32 })
      assert.deepEqual([first.buckets, first.workers], [32, 2])
      assert.equal(first.distributed.length, first.tables)
      assert.ok(first.distributed.includes('delivery_queue') && first.distributed.includes('property'))
      assert.ok(!first.distributed.includes('event_type'), 'small tables stay on the coordinator')
      assert.deepEqual(await distributeNotify(database, { buckets: 32 }), { ...first, distributed: [] })
      const { rows } = await database.query(
        'SELECT DISTINCT colocation_id FROM citus_tables WHERE distribution_column = $1',
        ['bucket'],
      )
      assert.equal(rows.length, 1, 'all of a bucket is on one node')
      await migrateNotify(database, { buckets: 32 })
    })
  })

  testWith('citus', 'the size of a distributed table is that of its shards', async () => {
    await withDatabase(await createCitusDatabase(nodes()), async (database) => {
      await distributeNotify(database, { buckets: 32 })
      await database.query('CREATE TABLE notify.large (bucket smallint, id integer, PRIMARY KEY (bucket, id))')
      await distributeNotify(database, { buckets: 32 })
      await database.query('INSERT INTO notify.large SELECT n % 32, n FROM generate_series(1, 20000) n')
      const sizes = await readTableSizes(database, ['notify'])
      const { bytes = 0 } = sizes.find(({ table }) => table === 'large') ?? {}
      assert.ok(bytes > 700_000, `${bytes} bytes`)
    })
  })

  testWith(
    'citus',
    'a table that a migration added is distributed by the next call, and missed until then',
    async () => {
      await withDatabase(await createCitusDatabase(nodes()), async (database) => {
        await distributeNotify(database, { buckets: 32 })
        await database.query('CREATE TABLE notify.later (bucket smallint, id uuid, PRIMARY KEY (bucket, id))')
        await assert.rejects(
          migrateNotify(database, { buckets: 32 }),
          refused(/notify\.later is not distributed.*gatehouse database distribute/),
        )
        const { distributed } = await distributeNotify(database, { buckets: 32 })
        assert.deepEqual(distributed, ['later'])
        await migrateNotify(database, { buckets: 32 })
      })
    },
  )

  testWith('citus', 'tables of one bucket, and those that processes use, are not distributed', async () => {
    const url = await createCitusDatabase(nodes())
    await withDatabase(url, async (database) => {
      await assert.rejects(distributeNotify(database, { buckets: 1 }), refused(/one bucket.*--buckets 32/))
      const other = await open(url)
      await assert.rejects(distributeNotify(database, { buckets: 32 }), refused(/stop all its processes/))
      await other.close()
      await eventually(
        () => distributeNotify(database, { buckets: 32 }).catch(() => undefined),
        (report) => report !== undefined,
      )
      await assert.rejects(
        distributeNotify(database, { buckets: 32, changeTo: 64 }),
        refused(/in 32 buckets; that number can't be changed/),
      )
      await assert.rejects(migrateNotify(database, { buckets: 64 }), refused(/created with 32 buckets, not 64/))
    })
  })

  testWith('citus', 'what a call left that was interrupted is taken up by the next one', async () => {
    await withDatabase(await createCitusDatabase(nodes()), async (database) => {
      await migrateNotify(database, { buckets: 32 })
      await database.query("SELECT create_distributed_table('notify.bucket_anchor', 'bucket')")
      const localBytes = async () =>
        (await database.query<{ bytes: number }>("SELECT pg_relation_size('notify.bucket_anchor') AS bytes")).rows[0]
      assert.notDeepEqual(await localBytes(), { bytes: 0 }, 'copied, and still on the coordinator')
      const { distributed, tables } = await distributeNotify(database, { buckets: 32 })
      assert.equal(distributed.length, tables - 1)
      assert.deepEqual(await localBytes(), { bytes: 0 })
      const { rows } = await database.query('SELECT bucket FROM notify.bucket_anchor')
      assert.equal(rows.length, 32)
    })
  })

  for (const former of [4, 64])
    testWith('citus', `leases of ${former} buckets end when there are 32, each of which is free`, async () => {
      const url = await createCitusDatabase(nodes())
      const ownershipOf = async (database: Database, buckets: number) => {
        const { ownership } = postgresNotifyStore(database, await migrateNotify(database, { buckets }))
        return ownership ?? assert.fail('no leases')
      }
      const [dead, living] = [newId(0), newId(0)]
      const owned = await (async () => {
        const database = await open(url, 2)
        const ownership = await ownershipOf(database, former)
        await ownership.join(dead, anHour, 'reached')
        const { leases } = (await ownership.renew(dead, anHour, 'reached')) ?? assert.fail('it is not known')
        const acquired = await ownership.acquire(dead, leases)
        await database.close()
        return acquired
      })()
      assert.equal(owned.length, former)
      await withDatabase(url, async (database) => {
        await eventually(
          () => distributeNotify(database, { buckets: former, changeTo: 32 }).catch(() => undefined),
          (report) => report?.buckets === 32,
        )
        const ownership = await ownershipOf(database, 32)
        assert.equal(await ownership.renew(dead, anHour, 'reached'), undefined, 'who comes back is not known any more')
        await ownership.join(living, anHour, 'reached')
        const { processes, leases } =
          (await ownership.renew(living, anHour, 'reached')) ?? assert.fail('it is not known')
        assert.deepEqual(processes, [living])
        assert.deepEqual(
          leases.map(({ bucket, owner }) => [bucket, owner]),
          Array.from({ length: 32 }, (_, bucket) => [bucket, undefined]),
        )
        assert.deepEqual(await ownership.acquire(living, owned), [], 'what was read before is out of date')
        assert.equal((await ownership.acquire(living, leases)).length, 32)
      })
    })

  testWith('citus', 'the rows of one bucket are moved into 32 and keep their ids', async () => {
    const url = await createCitusDatabase(nodes())
    const users = Array.from({ length: 12 }, (_, n) => `user-${n}`)
    const about = { event: 'order.shipped', data: { order_id: 1 }, channels: ['email', 'push'], dedup_key: 'k' }
    const event = (user_id: string) => ({ ...about, user_id })
    const before = await setup({ database: await open(url, 5), tables: { buckets: 1 } })
    const ids = new Map<string, string>()
    await seedEventType(before)
    for (const user of users) {
      await before.call('PUT', `/v1/recipients/${user}`, { email: `${user}@example.com` })
      await before.call('PUT', `/v1/users/${user}/devices/phone`, { token: `token of ${user}` })
      ids.set(user, (await before.call('POST', '/v1/notify', event(user))).body.id)
    }
    await before.close()
    await withDatabase(url, async (database) => {
      const waiting = users.map((userId) => ({
        ...change,
        deliveryId: deliveryIdOf(newIdOfUser(userId), 'sms'),
        userId,
      }))
      for (const query of writeChanges({ count: 1, bucket: 0 }, waiting)) await database.query(query)
      const { buckets } = await eventually(
        () =>
          distributeNotify(database, { buckets: 1, changeTo: 32 }).catch((error: unknown) => ({ error, buckets: 0 })),
        (report) => report.buckets === 32,
      )
      assert.equal(buckets, 32)
      const { rows } = await database.query<{ user_id: string }>(
        "SELECT c.user_id FROM notify.state_change CROSS JOIN unnest(changes) AS c WHERE c.state = 'bounced'",
      )
      assert.deepEqual(rows.map((row) => row.user_id).toSorted(), users.toSorted(), 'what waited has numbers')
    })
    const later = await setup({ database: await open(url, 5), tables: { buckets: 32 } })
    try {
      for (const user of users) {
        const again = await later.call('POST', '/v1/notify', event(user))
        assert.equal(again.body.id, ids.get(user))
        assert.ok(again.body.deliveries.every(({ outcome }: { outcome: string }) => outcome === 'duplicate'))
        assert.equal((await later.call('GET', `/v1/notifications/${ids.get(user)}`)).status, 200)
        await later.call('PUT', '/v1/users/new/devices/phone', { token: `token of ${user}` })
        const { body } = await later.call('GET', `/v1/users/${user}/devices`)
        assert.deepEqual(body.items, [], 'the token found its former owner')
      }
    } finally {
      await later.close()
    }
  })
})
