import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createMetrics, type Database, silentLog, systemClock } from '@gatehouse/kit'
import { postgresDatabase, startPostgres, testWith } from '@gatehouse/testing'
import { createNotify, type Notify } from '../../../src/index.ts'
import { bucketOfUser } from '../../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { eventually } from '../../support/setup.ts'
import { type ProviderCall, startFakeProvider } from '../../support/simulation/fake-provider.ts'

const buckets = 32
const leaseMs = 20_000
const bucketLeaseMs = 5_000
const users = Array.from({ length: 300 }, (_, n) => `user-${n}`)
const size = 6_000
const batch = 100

async function readOwners(database: Database): Promise<ReadonlyMap<number, string>> {
  const { rows } = await database.query<{ bucket: number; owner: string }>(
    'SELECT bucket, owner FROM notify.bucket_lease l JOIN notify.worker_process p ON p.id = l.owner',
  )
  return new Map(rows.map(({ bucket, owner }) => [bucket, owner]))
}

/** Of each owner how many buckets it has. */
const sharesOf = (owners: ReadonlyMap<number, string>) =>
  [...Map.groupBy(owners.values(), (owner) => owner).values()].map(({ length }) => length)

testWith('postgresql', 'of three processes one is killed under load: nothing is lost, its buckets go on', async (t) => {
  const server = await startPostgres()
  const provider = await startFakeProvider(Number.POSITIVE_INFINITY)
  const database = await postgresDatabase(server)
  const tables = await migrateNotify(database, { buckets })
  const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
  const url = server.url.replace(/[^/]+$/, rows[0]?.name ?? '')
  const workers: ChildProcess[] = []
  const producer = await createProducer(database, tables)
  t.after(async () => {
    for (const worker of workers) worker.kill('SIGKILL')
    await producer.stop()
    provider.stop()
    await database.close()
    await server.stop()
  })
  const file = join(import.meta.dirname, '../../support/processes/bucket-worker.ts')
  for (let n = 0; n < 3; n++) {
    const worker = fork(file, [url, provider.url, String(buckets), String(leaseMs), String(bucketLeaseMs)])
    workers.push(worker)
    await once(worker, 'message')
  }
  const divided = (processes: number) =>
    eventually(
      () => readOwners(database),
      (owners) => {
        const shares = sharesOf(owners)
        const isEven = Math.max(...shares) - Math.min(...shares) <= 1
        return owners.size === buckets && shares.length === processes && isEven
      },
    )
  const before = await divided(3)

  let killedAt = 0
  const ids: string[] = []
  for (let n = 0; n < size; n += batch) {
    ids.push(...(await submit(producer, n)))
    if (n === size / 2) {
      workers[1]?.kill('SIGKILL')
      killedAt = Date.now()
    }
    await pause(50)
  }
  const after = await divided(2)
  const dead = new Set([...before].filter(([bucket, owner]) => after.get(bucket) !== owner).map(([bucket]) => bucket))
  assert.ok(dead.size >= 10, 'the buckets of the killed process are the others’')

  await eventually(
    async () => {
      const left = await database.query<{ count: number }>('SELECT count(*) FROM notify.delivery_queue')
      await pause(200)
      return left.rows[0]?.count
    },
    (left) => left === 0,
  )
  checkCalls(ids, provider.calls, { pid: workers[1]?.pid, at: killedAt })
  const late = provider.calls.filter(
    ({ userId, sentAt }) => sentAt > killedAt && dead.has(bucketOfUser(userId, buckets)),
  )
  const { length: isolated } = late.filter(({ pid }) => pid !== workers[1]?.pid)
  console.log(
    `${provider.calls.length} calls for ${ids.length} deliveries; ${isolated} in buckets of the killed process`,
  )
  assert.ok(isolated > 0)
})

/** Each delivery was called for, and called for again only where the process was killed that had called. */
function checkCalls(
  ids: readonly string[],
  calls: readonly ProviderCall[],
  killed: { readonly pid: number | undefined; readonly at: number },
): void {
  const byId = Map.groupBy(calls, ({ id }) => id)
  assert.deepEqual(
    ids.filter((id) => !byId.has(id)),
    [],
    'nothing is lost',
  )
  assert.equal(byId.size, ids.length)
  for (const [id, same] of byId) {
    const [first, ...again] = same.toSorted((a, b) => a.sentAt - b.sentAt)
    if (again.length === 0) continue
    assert.equal(again.length, 1, `${id} was sent ${same.length} times`)
    assert.ok(first?.pid === killed.pid, `${id} was sent again without a reason`)
  }
}

/** A process that takes events and does not work. */
async function createProducer(database: Database, tables: Parameters<typeof postgresNotifyStore>[1]): Promise<Notify> {
  return createNotify({
    store: postgresNotifyStore(database, tables),
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
}

async function submit(producer: Notify, from: number): Promise<string[]> {
  const requests = Array.from({ length: batch }, (_, index) => {
    const n = from + index
    return { event: 'note', user_id: users[n % users.length] ?? '', data: { n } }
  })
  const results = await producer.accept(requests)
  return results.flatMap((result) => {
    if (!('accepted' in result)) assert.fail(`it was not accepted: ${JSON.stringify(result)}`)
    return result.accepted.deliveries.map(({ id }) => id ?? assert.fail('no delivery'))
  })
}
