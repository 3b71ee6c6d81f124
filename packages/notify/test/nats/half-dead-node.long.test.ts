import assert from 'node:assert/strict'
import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { createCitusDatabase, startCitus, startNats, testWithAll } from '@gatehouse/testing'
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { createNotify, type Provider } from '../../src/index.ts'
import { bucketOfUser } from '../../src/model/id.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { distributeNotify, migrateNotify, postgresNotifyStore } from '../../src/postgres/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'

const buckets = 8
const users = Array.from({ length: 40 }, (_, n) => `user-${n}`)
/** The server hands out ten times as many messages without an acknowledgement. */
const concurrency = 4
const eventsOfEach = 5

/** How often each message was sent. */
const sent = new Map<string, number>()
const provider: Provider = {
  name: 'counting',
  channel: 'email',
  timeoutMs: 1_000,
  async send(messages) {
    for (const { content } of messages) sent.set(content.body, (sent.get(content.body) ?? 0) + 1)
    return messages.map(() => ({ kind: 'accepted' }))
  },
}

testWithAll(
  ['citus', 'nats-server'],
  'an undivided topic goes on beside a frozen node, and nothing is lost',
  async (t) => {
    const citus = await startCitus({ settings: ['citus.shard_count=4'] })
    t.after(() => citus.stop())
    const nats = await startNats()
    t.after(() => nats.stop())
    const url = await createCitusDatabase(citus.nodes)
    const single = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
    await distributeNotify(single, { buckets })
    const [frozen = assert.fail('no worker')] = citus.workers
    const { rows } = await single.query<{ bucket: number }>(
      `SELECT b.bucket FROM generate_series(0, $1::integer - 1) AS b (bucket)
       JOIN citus_shards s ON s.table_name = 'notify.delivery'::regclass AND s.nodeport = $2
        AND s.shardid = get_shard_id_for_distribution_column('notify.delivery', b.bucket::smallint)`,
      [buckets, frozen.port],
    )
    await single.close()
    const lost = new Set(rows.map(({ bucket }) => bucket))
    const [affected, others] = [true, false].map((own) =>
      users.filter((user) => lost.has(bucketOfUser(user, buckets)) === own),
    )
    assert.ok(affected && others && others.length > 0)
    assert.ok(affected.length * eventsOfEach > concurrency * 10, 'more than is handed out at once')
    const timeouts = { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 }
    const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 8, timeouts })
    const topic = await natsTopic({ url: nats.url, log: silentLog, concurrency })
    const notify = await createNotify({
      store: postgresNotifyStore(database, await migrateNotify(database, { buckets })),
      topic,
      providers: { email: [provider] },
      declared: {
        eventTypes: [{ event: 'note', channels: ['email'] }],
        templates: [{ templateId: 'note', channel: 'email', locale: 'en', body: '{{ key }}' }],
        recipients: users.map((user_id) => ({ user_id, email: `${user_id}@example.com` })),
      },
      authenticate: () => assert.fail('nobody asks'),
      options: { leaseMs: 20_000, idleMs: 100, caps: { total: 100_000, channels: {}, priorities: {} } },
      clock: systemClock,
      log: silentLog,
      metrics: createMetrics(),
    })
    const connection = await connect({ servers: nats.url.replace('nats://', '') })
    t.after(async () => {
      frozen.thaw()
      await connection.close()
      await notify.stop()
      await topic.close()
      await database.close()
    })
    const publish = async (round: string, of: readonly string[]) => {
      const keys = of.flatMap((user) => Array.from({ length: eventsOfEach }, (_, n) => `${round} ${n} ${user}`))
      for (const key of keys)
        await jetstream(connection).publish(
          'notifications',
          JSON.stringify({ event: 'note', user_id: key.split(' ').at(-1), data: { key }, dedup_key: key }),
        )
      return keys
    }
    const allSent = (keys: readonly string[]) =>
      eventuallyOnCluster(
        async () => keys.filter((key) => !sent.has(key)).length,
        (missing) => missing === 0,
      )
    await allSent(await publish('before', users))
    frozen.freeze()
    const waiting = await publish('frozen', affected)
    await allSent(await publish('beside', others))
    assert.deepEqual(
      waiting.filter((key) => sent.has(key)),
      [],
    )
    frozen.thaw()
    await allSent(waiting)
    assert.deepEqual(
      [...sent].filter(([, count]) => count > 1),
      [],
    )
  },
)
