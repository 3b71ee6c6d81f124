import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { createMetrics, type Database, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { type CitusServer, createCitusDatabase, startCitus, testWith } from '@gatehouse/testing'
import { createNotify, type Notify, type Provider } from '../../../src/index.ts'
import { bucketOfUser } from '../../../src/model/id.ts'
import { distributeNotify, migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { eventually } from '../../support/setup.ts'

const buckets = 32
const users = Array.from({ length: 200 }, (_, n) => `user-${n}`)
const leaseMs = 5_000
/** What may be under way when the worker falls is sent again once its lease is over. */
const callsOf = new Map<string, number[]>()

const provider: Provider = {
  name: 'counting',
  channel: 'email',
  timeoutMs: 1_000,
  async send(messages) {
    for (const { content } of messages) callsOf.set(content.body, [...(callsOf.get(content.body) ?? []), Date.now()])
    return messages.map(() => ({ kind: 'accepted' }))
  },
}

async function open(url: string): Promise<{ database: Database; notify: Notify }> {
  const timeouts = { statementMs: 20_000, lockMs: 10_000, idleTransactionMs: 10_000 }
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 8, timeouts })
  const division = await migrateNotify(database, { buckets })
  const notify = await createNotify({
    store: postgresNotifyStore(database, division),
    providers: { email: [provider] },
    declared: {
      eventTypes: [{ event: 'note', channels: ['email'] }],
      templates: [{ templateId: 'note', channel: 'email', locale: 'en', body: '{{ key }}' }],
      recipients: users.map((user_id) => ({ user_id, email: `${user_id}@example.com` })),
    },
    authenticate: () => assert.fail('nobody asks'),
    options: { leaseMs, idleMs: 100, caps: { total: 100_000, channels: {}, priorities: {} } },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  })
  return { database, notify }
}

/** The users whose rows are on a node. */
async function usersOn(database: Database, port: number): Promise<string[]> {
  const { rows } = await database.query<{ bucket: number }>(
    `SELECT b.bucket FROM generate_series(0, $1::integer - 1) AS b (bucket)
       JOIN citus_shards s ON s.table_name = 'notify.delivery'::regclass AND s.nodeport = $2
        AND s.shardid = get_shard_id_for_distribution_column('notify.delivery', b.bucket::smallint)`,
    [buckets, port],
  )
  const there = new Set(rows.map(({ bucket }) => bucket))
  return users.filter((user) => there.has(bucketOfUser(user, buckets)))
}

/** Sends one event until it is accepted, as producers do. */
async function submit(notify: Notify, user: string, key: string, until: AbortSignal): Promise<void> {
  const event = { event: 'note', user_id: user, data: { key }, dedup_key: key }
  while (!until.aborted) {
    const [result] = await notify.accept([event]).catch(() => [undefined])
    if (result && 'accepted' in result) return
    await pause(200)
  }
}

testWith('citus', 'a worker that is killed stops its own users alone, and nothing is lost', async (t) => {
  const citus: CitusServer = await startCitus({ settings: ['citus.shard_count=16'] })
  t.after(() => citus.stop())
  const url = await createCitusDatabase(citus.nodes)
  const single = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  await distributeNotify(single, { buckets })
  const [lost = assert.fail('no worker')] = citus.workers
  const affected = new Set(await usersOn(single, lost.port))
  await single.close()
  assert.ok(affected.size > 0 && affected.size < users.length, 'each worker has users')
  const { database, notify } = await open(url)
  const ended = new AbortController()
  t.after(async () => {
    ended.abort()
    await notify.stop()
    await database.close()
  })
  const keysOf = (round: string, of: readonly string[]) => of.map((user) => ({ user, key: `${round} ${user}` }))
  const send = (events: ReadonlyArray<{ user: string; key: string }>) =>
    Promise.all(events.map(({ user, key }) => submit(notify, user, key, ended.signal)))
  const allSent = (events: ReadonlyArray<{ key: string }>) =>
    eventually(
      async () => events.filter(({ key }) => !callsOf.has(key)).length,
      (missing) => missing === 0,
    )
  const before = keysOf('before', users)
  await send(before)
  await allSent(before)

  const atFall = send(keysOf('at the fall', users))
  await lost.crash()
  const others = users.filter((user) => !affected.has(user))
  const during = keysOf('during', others)
  await send(during)
  await allSent([...during, ...keysOf('at the fall', others)])
  const retried = send(keysOf('retried', [...affected]))

  await lost.recover()
  await Promise.all([atFall, retried])
  await allSent([...keysOf('at the fall', users), ...keysOf('retried', [...affected])])
  for (const [key, calls] of callsOf)
    assert.ok(
      calls.length === 1 ||
        (affected.has(key.split(' ').at(-1) ?? '') && (calls[1] ?? 0) - (calls[0] ?? 0) >= leaseMs / 2),
      `${key} was sent again without a reason`,
    )
})
