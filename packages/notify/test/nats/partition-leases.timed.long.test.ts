import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Database, silentLog } from '@gatehouse/kit'
import { findProgram, startNats, startSilentProxy, testWith } from '@gatehouse/testing'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'
import {
  bucketLeaseMs,
  createWorld,
  nats,
  type Process,
  partitions,
  startProcess,
  users,
  type World,
} from '../support/topic/topic-world.ts'

const all = (count: number) => Array.from({ length: count }, (_, n) => n)
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)

/** Waits until these processes own all partitions, each one of them. */
async function divided(...processes: readonly Process[]): Promise<void> {
  await eventuallyOnCluster(
    async () => processes.map(({ owned }) => owned()),
    (lists) => lists.every(({ length }) => length > 0) && sorted(lists.flat()).join() === all(partitions).join(),
  )
}

/** Waits until all that was published is accepted, and checks that each event was once, and each user's in order. */
async function acceptedInOrder({ database, published }: World): Promise<void> {
  const read = async () => {
    const { rows } = await database.query<{ user_id: string; n: number }>(
      `SELECT user_id, (data->>'n')::integer AS n FROM notify.notification ORDER BY id`,
    )
    return rows
  }
  const { length: remaining } = users
  await eventuallyOnCluster(
    async () => (await read()).length,
    (length) => length >= published() * remaining,
  )
  const byUser = Map.groupBy(await read(), ({ user_id: userId }) => userId)
  for (const user of users)
    assert.deepEqual(
      byUser.get(user)?.map(({ n }) => n),
      all(published()),
      `the events of ${user}`,
    )
}

/** Of each process with leases its buckets. */
async function readOwners(database: Database): Promise<number[][]> {
  const { rows } = await database.query<{ buckets: number[] }>(
    `SELECT array_agg(l.bucket ORDER BY l.bucket) AS buckets
       FROM notify.bucket_lease l JOIN notify.worker_process p ON p.id = l.owner GROUP BY p.id`,
  )
  return rows.map(({ buckets }) => buckets)
}

async function publishTimes(world: World, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await world.publish()
}

const scene = (title: string, buckets: number, body: (t: TestContext, world: World) => Promise<void>) =>
  testWith(findProgram(nats) ? 'postgresql' : nats, title, async (t) => body(t, await createWorld(t, buckets)))

scene('processes read the partitions of their buckets, also after one is killed', 8, async (t, world) => {
  const [a, b, c] = [await startProcess(t, world), await startProcess(t, world), await startProcess(t, world)]
  const bucketsOf = ({ owned }: Process) => sorted([...new Set(owned().map((partition) => partition % world.buckets))])
  const follows = async (...processes: readonly Process[]) => {
    await divided(...processes)
    await eventuallyOnCluster(
      async () => JSON.stringify((await readOwners(world.database)).toSorted()),
      (owners) => owners === JSON.stringify(processes.map(bucketsOf).toSorted()),
    )
  }
  await follows(a, b, c)
  await publishTimes(world, 20)
  b.kill()
  await publishTimes(world, 20)
  await follows(a, c)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  const d = await startProcess(t, world)
  await publishTimes(world, 10)
  await follows(a, c, d)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  assert.ok(
    [a, b, c, d].every(({ received }) => received() > 0),
    'all of them read',
  )
})

scene('processes take partitions in turns where there is one bucket, also after one is killed', 1, async (t, world) => {
  const [a, b, c] = [await startProcess(t, world), await startProcess(t, world), await startProcess(t, world)]
  await divided(a, b, c)
  await publishTimes(world, 20)
  b.kill()
  await publishTimes(world, 20)
  await divided(a, c)
  c.kill()
  await publishTimes(world, 20)
  await divided(a)
  await acceptedInOrder(world)
})

scene('a process that was frozen past its lease reads no partition when it goes on', 8, async (t, world) => {
  const [frozen, other] = [await startProcess(t, world), await startProcess(t, world)]
  await divided(frozen, other)
  await publishTimes(world, 10)
  frozen.freeze()
  await publishTimes(world, 20)
  await eventuallyOnCluster(
    async () => other.owned().length,
    (length) => length === partitions,
  )
  await acceptedInOrder(world)
  frozen.thaw()
  await publishTimes(world, 20)
  await divided(frozen, other)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
})

scene('a process that lost the database reads nothing once its lease ended; others do', 8, async (t, world) => {
  const { database } = world
  await database.query('CREATE ROLE cut_off LOGIN SUPERUSER')
  const [lost, other] = [await startProcess(t, world, { role: 'cut_off' }), await startProcess(t, world)]
  await divided(lost, other)
  await publishTimes(world, 10)
  await database.query('ALTER ROLE cut_off NOLOGIN')
  await database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cut_off'")
  const cutAt = performance.now()
  await publishTimes(world, 10)
  await eventuallyOnCluster(
    async () => lost.owned().length,
    (length) => length === 0,
  )
  assert.ok(performance.now() - cutAt < bucketLeaseMs + 2_000, 'it stops when its lease ends')
  await eventuallyOnCluster(
    async () => other.owned().length,
    (length) => length === partitions,
  )
  const received = lost.received()
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  assert.equal(lost.received(), received)
  await database.query('ALTER ROLE cut_off LOGIN')
  await divided(lost, other)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
})

scene('a process that lost NATS leaves its partitions to others until it is back', 8, async (t, world) => {
  const server = Number(new URL(world.natsUrl).port)
  const proxy = await startSilentProxy(server)
  const [lost, other] = [
    await startProcess(t, world, { natsUrl: `nats://127.0.0.1:${proxy.port}` }),
    await startProcess(t, world),
  ]
  await divided(lost, other)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  const received = lost.received()
  await proxy.stop()
  await publishTimes(world, 10)
  await eventuallyOnCluster(
    async () => [lost.owned().length, other.owned().length],
    ([former, present]) => former === 0 && present === partitions,
  )
  await acceptedInOrder(world)
  assert.equal(lost.received(), received)
  const again = await startSilentProxy(server, proxy.port)
  t.after(() => again.stop())
  await divided(lost, other)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  assert.ok(lost.received() > received, 'it reads again')
})

scene('a process whose connection to NATS fell silent leaves its partitions to others', 8, async (t, world) => {
  const proxy = await startSilentProxy(Number(new URL(world.natsUrl).port))
  t.after(() => proxy.stop())
  const [silent, other] = [
    await startProcess(t, world, { natsUrl: `nats://127.0.0.1:${proxy.port}` }),
    await startProcess(t, world),
  ]
  await divided(silent, other)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  proxy.refuse()
  proxy.silence()
  await publishTimes(world, 10)
  await eventuallyOnCluster(
    async () => [silent.owned().length, other.owned().length],
    ([former, present]) => former === 0 && present === partitions,
  )
  await acceptedInOrder(world)
})

scene('no partition moves while no process reaches NATS, and after it', 8, async (t, world) => {
  const processes = [await startProcess(t, world), await startProcess(t, world), await startProcess(t, world)]
  await divided(...processes)
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  const owned = processes.map((process) => process.owned())
  const read = async () => {
    const { rows } = await world.database.query<{ lost: number; generation: number }>(
      `SELECT generation, (SELECT count(*)::integer FROM notify.worker_process WHERE lost_topic) AS lost
         FROM notify.worker_generation`,
    )
    return rows[0] ?? assert.fail('no generation')
  }
  const { generation } = await read()
  const startNatsAgain = await world.stopNats()
  await eventuallyOnCluster(read, ({ lost }) => lost === processes.length)
  await startNatsAgain()
  await publishTimes(world, 10)
  await acceptedInOrder(world)
  assert.deepEqual(await eventuallyOnCluster(read, ({ lost }) => lost === 0), { generation, lost: 0 })
  assert.deepEqual(
    processes.map((process) => process.owned()),
    owned,
  )
})

testWith(nats, 'an owner of a former generation does not take a partition back', async (t) => {
  const server = await startNats({ program: nats })
  t.after(() => server.stop())
  const connection = await connect({ servers: server.url.replace('nats://', '') })
  t.after(() => connection.close())
  const [client, manager] = [jetstream(connection), await jetstreamManager(connection)]
  const start = async () => {
    const topic = await natsTopic({ url: server.url, log: silentLog, partitions: { count: 2 } })
    const ownership = new AssignedPartitions()
    const received: string[] = []
    const consuming = await topic.consume(async (message) => {
      received.push(message.text ?? '')
      message.ack()
    }, ownership)
    t.after(async () => {
      await consuming.stop()
      await topic.close()
    })
    return { ownership, received, topic }
  }
  const consumers = async () => {
    const names: string[] = []
    for await (const { name } of manager.consumers.list('NOTIFICATION_PARTITIONS_1')) names.push(name)
    return names.toSorted()
  }
  const [former, present] = [await start(), await start()]
  former.ownership.assign([0, 1], 4)
  await eventuallyOnCluster(consumers, ({ length }) => length === 2)
  const first = await consumers()
  present.ownership.assign([0, 1], 5)
  await eventuallyOnCluster(consumers, (names) => names.length === 2 && !names.some((name) => first.includes(name)))
  const current = await consumers()
  for (const text of ['a', 'b', 'c', 'd']) await client.publish(`notifications.user.${text}`, text)
  await eventuallyOnCluster(
    async () => present.received.length,
    (length) => length === 4,
  )
  former.ownership.assign([], 4)
  former.ownership.assign([0, 1], 4)
  await eventuallyOnCluster(
    () =>
      former.topic.ping().then(
        () => true,
        () => false,
      ),
    Boolean,
  )
  assert.deepEqual(await consumers(), current, 'it left them alone')
  assert.deepEqual(former.received, [])
  former.ownership.assign([0, 1], 6)
  await eventuallyOnCluster(consumers, (names) => names.length === 2 && !names.some((name) => current.includes(name)))
})
