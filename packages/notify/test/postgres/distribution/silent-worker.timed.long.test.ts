import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import {
  createMetrics,
  type Database,
  isUnavailable,
  openPostgres,
  Secret,
  silentLog,
  systemClock,
} from '@gatehouse/kit'
import { type CitusServer, createCitusDatabase, startCitus, testWith } from '@gatehouse/testing'
import { createNotify, type Notify, type NotifyStore, type Provider } from '../../../src/index.ts'
import { bucketOfUser } from '../../../src/model/id.ts'
import { distributeNotify, migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { eventually } from '../../support/setup.ts'

const buckets = 32
const users = Array.from({ length: 120 }, (_, n) => `user-${n}`)
const leaseMs = 20_000
/** Far longer than what others may wait: it is not the database's timeouts that free them. */
const timeouts = { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 }
const maxWaitMs = 30_000
/** On a busy machine each connection takes long to learn each statement for each bucket. */
const startWithinMs = 100_000

/** Soon after the freeze. */
const dueInMs = 3_000
/** For so long its buckets fail, until each waits for half a minute from one try to the next. */
const silentMs = 40_000
const returnedMs = 10_000

interface Sending {
  readonly event: 'note' | 'retried'
  readonly user: string
  readonly key: string
}

/** Calls by the body of the message. Of a `retried` event the first one is answered that it is to be tried again. */
const callsOf = new Map<string, number[]>()

const provider: Provider = {
  name: 'counting',
  channel: 'email',
  timeoutMs: 1_000,
  async send(messages) {
    return messages.map(({ content: { body } }) => {
      const calls = [...(callsOf.get(body) ?? []), Date.now()]
      callsOf.set(body, calls)
      return body.startsWith('retried') && calls.length === 1
        ? { kind: 'transient', reason: 'not now' }
        : { kind: 'accepted' }
    })
  },
}

interface Opened {
  readonly database: Database
  readonly store: NotifyStore
  readonly notify: Notify
}

async function open(url: string): Promise<Opened> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 8, timeouts })
  const store = postgresNotifyStore(database, await migrateNotify(database, { buckets }))
  const notify = await createNotify({
    store,
    providers: { email: [provider] },
    declared: {
      eventTypes: ['note', 'retried'].map((event) => ({ event, channels: ['email'] })),
      templates: ['note', 'retried'].map((event) => ({
        templateId: event,
        channel: 'email',
        locale: 'en',
        body: '{{ key }}',
      })),
      recipients: users.map((user_id) => ({ user_id, email: `${user_id}@example.com` })),
    },
    authenticate: () => assert.fail('nobody asks'),
    options: {
      leaseMs,
      idleMs: 100,
      sweepMs: 2_000,
      backoff: { baseMs: 100, factor: 2, maxMs: 1_000 },
      caps: { total: 100_000, channels: {}, priorities: {} },
    },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  })
  return { database, store, notify }
}

/** The buckets whose rows are on a node. */
async function bucketsOn(database: Database, port: number): Promise<Set<number>> {
  const { rows } = await database.query<{ bucket: number }>(
    `SELECT b.bucket FROM generate_series(0, $1::integer - 1) AS b (bucket)
       JOIN citus_shards s ON s.table_name = 'notify.delivery'::regclass AND s.nodeport = $2
        AND s.shardid = get_shard_id_for_distribution_column('notify.delivery', b.bucket::smallint)`,
    [buckets, port],
  )
  return new Set(rows.map(({ bucket }) => bucket))
}

const requestOf = ({ event, user, key }: Sending) => ({ event, user_id: user, data: { key }, dedup_key: key })

/** Submits an event until it is accepted, as producers do; answers how long the slowest try took, in milliseconds. */
async function submit(notify: Notify, sending: Sending, until?: AbortSignal): Promise<number> {
  let slowestMs = 0
  while (!until?.aborted) {
    const begun = performance.now()
    const [result] = await notify.accept([requestOf(sending)]).catch((error: unknown) => {
      assert.ok(isUnavailable(error), String(error))
      return []
    })
    slowestMs = Math.max(slowestMs, performance.now() - begun)
    if (result && 'accepted' in result) break
    await pause(200)
  }
  return slowestMs
}

const sendingsOf = (round: string, of: readonly string[]): Sending[] =>
  of.flatMap((user) =>
    (['note', 'retried'] as const).map((event) => ({ event, user, key: `${event} ${round} ${user}` })),
  )

const isSent = ({ event, key }: Sending) => (callsOf.get(key)?.length ?? 0) >= (event === 'retried' ? 2 : 1)

async function allSent(sendings: readonly Sending[], withinMs = maxWaitMs): Promise<void> {
  const deadline = performance.now() + withinMs
  await eventually(
    async () => {
      const missing = sendings.filter((each) => !isSent(each))
      if (missing.length > 0 && performance.now() < deadline) await pause(100)
      return missing
    },
    (missing) => missing.length === 0 || performance.now() > deadline,
  )
  const missing = sendings.filter((each) => !isSent(each))
  assert.equal(missing.length, 0, JSON.stringify(missing.slice(0, 5)))
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

testWith('citus', 'a worker that does not answer stops its own users alone, and nothing is lost', async (t) => {
  const citus: CitusServer = await startCitus({ settings: ['citus.shard_count=16'] })
  const url = await createCitusDatabase(citus.nodes)
  const single = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
  await distributeNotify(single, { buckets })
  const [silent = assert.fail('no worker')] = citus.workers
  const lost = await bucketsOn(single, silent.port)
  await single.close()
  const isAffected = (user: string) => lost.has(bucketOfUser(user, buckets))
  const affected = users.filter(isAffected)
  const others = users.filter((user) => !isAffected(user))
  assert.ok(affected.length > 0 && others.length > 0, 'each worker has users')
  const { database, store, notify } = await open(url)
  const ended = new AbortController()
  t.after(async () => {
    ended.abort()
    silent.thaw()
    await notify.stop()
    await database.close()
    await citus.stop()
  })
  const send = async (sendings: readonly Sending[]) =>
    Math.max(0, ...(await Promise.all(sendings.map((each) => submit(notify, each, ended.signal)))))

  const before = sendingsOf('before', users)
  await send(before)
  await allSent(before, startWithinMs)

  const backlog: Sending[] = affected.map((user) => ({ event: 'note', user, key: `note backlog ${user}` }))
  for (const each of backlog) await store.schedule.add(Date.now() + dueInMs, requestOf(each))
  const atOnce = sendingsOf('at once', users)
  const slowestAtOnce = Promise.all(atOnce.map((each) => submit(notify, each, ended.signal)))
  silent.freeze()
  const frozenAt = performance.now()
  for (const round of ['first', 'second', 'third']) {
    const during = sendingsOf(round, others)
    const acceptMs = await send(during)
    const sentMs = await timed(() => allSent(during))
    t.diagnostic(`${round} round of the others: accepted within ${acceptMs} ms, sent ${sentMs} ms later`)
    assert.ok(acceptMs < maxWaitMs, 'others are accepted')
    assert.ok(sentMs < maxWaitMs, 'others are sent, and tried again')
  }
  await allSent(atOnce.filter(({ user }) => !isAffected(user)))

  const scheduled: Sending[] = others.map((user) => ({ event: 'note', user, key: `note scheduled ${user}` }))
  for (const each of scheduled) await store.schedule.add(Date.now(), requestOf(each))
  const scheduledMs = await timed(() => allSent(scheduled))
  const { last } = await store.stateChanges.positions()
  const numberedMs = await timed(async () => {
    const more = sendingsOf('numbered', others)
    await send(more)
    await eventually(
      () => store.stateChanges.positions(),
      (positions) => positions.last >= last + more.length,
    )
  })
  const refusedMs = await timed(() =>
    notify
      .accept(affected.slice(0, 5).map((user) => requestOf({ event: 'note', user, key: 'refused' })))
      .catch(() => {}),
  )
  t.diagnostic(`fired ${scheduledMs} ms, numbered ${numberedMs} ms, refused ${refusedMs} ms`)
  assert.ok(scheduledMs < maxWaitMs && numberedMs < maxWaitMs, 'the other workers of the process go on')
  assert.ok(refusedMs < maxWaitMs, 'events for its users are refused')

  const late = sendingsOf('late', affected)
  const submitted = send(late)
  await pause(Math.max(0, frozenAt + silentMs - performance.now()))
  silent.thaw()
  const backMs = await timed(() => allSent(backlog, startWithinMs))
  t.diagnostic(`what waited there is sent ${backMs} ms after its return`)
  assert.ok(backMs < returnedMs, `what waited there is sent ${backMs} ms after its return`)
  await Promise.all([submitted, slowestAtOnce])
  // What was claimed when it fell silent is leased.
  await allSent([...atOnce, ...late], startWithinMs)
  assert.ok(Math.max(...(await slowestAtOnce)) < maxWaitMs, 'who asked at the wrong moment was answered')
  for (const [key, calls] of callsOf) {
    const repeated = calls.slice(1).filter((at, n) => at - (calls[n] ?? 0) < leaseMs / 2)
    const mayRepeat = key.startsWith('retried') ? 1 : 0
    assert.ok(repeated.length <= mayRepeat, `${key} was sent again without a reason`)
  }
})
