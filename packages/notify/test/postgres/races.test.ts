import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { createMetrics, type Database, manualClock, silentLog } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { createAdmission } from '../../src/admission/admission.ts'
import { createNotify, type Notify } from '../../src/index.ts'
import { bucketOfUser, newIdOfUser } from '../../src/model/id.ts'
import type { NotifyStore, ProviderReport } from '../../src/store/store.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
  testBuckets,
} from '../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../support/processes/barriers.ts'
import { claimDue } from '../support/processes/claims.ts'

const shipped = {
  event: 'order.shipped',
  user_id: 'alice',
  data: { order_id: 'A-1', actor: 'Ann' },
  channels: ['email'] as const,
}

interface Pair {
  readonly stores: readonly [NotifyStore, NotifyStore]
  readonly services: readonly [Notify, Notify]
  readonly database: Database
  readonly clock: ReturnType<typeof manualClock>
}

describe('two processes on one PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  /** Two services without workers, each with connections of its own, on one fresh database. */
  const withPair = (title: string, body: (pair: Pair) => Promise<void>, event: object = {}) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      const clock = manualClock(Date.parse('2026-06-01T12:00:00Z'))
      const stores = [postgresNotifyStore(database), postgresNotifyStore(database)] as const
      const make = (store: NotifyStore) =>
        createNotify({
          store,
          providers: {},
          work: false,
          declared: {
            eventTypes: [{ event: 'order.shipped', channels: ['email'], ...event }],
            templates: [{ templateId: 'order.shipped', channel: 'email', locale: 'en', body: 'Order {{ order_id }}' }],
            recipients: [
              { user_id: 'alice', email: 'alice@example.com', devices: [{ device_id: 'phone', token: 't1' }] },
            ],
          },
          authenticate: () => assert.fail('nobody asks'),
          clock,
          log: silentLog,
          metrics: createMetrics(),
        })
      const services = [await make(stores[0]), await make(stores[1])] as const
      try {
        await body({ stores, services, database, clock })
      } finally {
        await Promise.all(services.map((service) => service.stop()))
        await database.close()
      }
    })

  const outcomes = async ({ services }: Pair, requests: ReadonlyArray<Parameters<Notify['accept']>[0][number]>) => {
    const results = await Promise.all(
      requests.map((request, index) => services[index % 2 === 0 ? 0 : 1].accept([request])),
    )
    return results
      .flat()
      .flatMap((result) => ('accepted' in result ? result.accepted.deliveries.map((d) => d.outcome) : ['refused']))
  }
  const count = (list: readonly string[], wanted: string) => list.filter((each) => each === wanted).length

  withPair('of 40 simultaneous replays of one event exactly one is queued', async (pair) => {
    const seen = await outcomes(
      pair,
      Array.from({ length: 40 }, () => ({ ...shipped, dedup_key: 'k' })),
    )
    assert.deepEqual([count(seen, 'queued'), count(seen, 'duplicate')], [1, 39])
    assert.equal((await pair.database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 1)
  })

  withPair('of 60 simultaneous notifications of one user exactly the cap is queued', async (pair) => {
    const seen = await outcomes(
      pair,
      Array.from({ length: 60 }, () => shipped),
    )
    assert.deepEqual([count(seen, 'queued'), count(seen, 'capped')], [10, 50])
  })

  withPair('batches of five lanes for one user all get their turn, and count exactly', async ({ stores, clock }) => {
    const hot = { caps: { total: 90, channels: {}, priorities: {} }, windowMs: 86_400_000 }
    const work = async (store: NotifyStore) => {
      const seen: string[] = []
      for (let n = 0; n < 20; n++) {
        const notification = planned(newIdOfUser('alice'), clock.now())
        const [decided] = await store.intake.admit(
          [{ notifications: [notification] }],
          createAdmission(hot, clock.now()),
        )
        seen.push(...(decided ?? []).flatMap(({ deliveries }) => deliveries.map(({ outcome }) => outcome)))
      }
      return seen
    }
    const seen = (await Promise.all([0, 1, 0, 1, 0].map((index) => work(stores[index === 0 ? 0 : 1])))).flat()
    assert.deepEqual([count(seen, 'queued'), count(seen, 'capped')], [90, 10])
  })

  withPair('an event planned before an erasure and admitted after it is not sent to what was known', async (pair) => {
    const { stores, services, database, clock } = pair
    for (const isFirst of [true, false])
      for (let place = 0; place < 6; place++) {
        await stores[0].recipients.put([{ userId: 'alice', email: 'alice@example.com' }], clock.now())
        if (!isFirst) await services[0].accept([shipped])
        // A service that starts has statements of its own.
        let barrier = createBarrier(Number.POSITIVE_INFINITY)
        const passing = withBarrier({ pass: () => barrier.pass() }, database)
        const slow = await serviceOn(postgresNotifyStore(passing), clock)
        barrier = createBarrier(place)
        const accepting = slow.accept([shipped])
        await Promise.race([barrier.reached, accepting])
        await stores[1].privacy.eraseUser('alice')
        const { rows: before } = await database.query('SELECT 1 FROM notify.delivery_queue')
        assert.deepEqual(before, [])
        barrier.lift()
        const [result] = await accepting
        assert.ok(result && 'accepted' in result)
        const { rows } = await database.query('SELECT 1 FROM notify.delivery_queue')
        assert.deepEqual(rows, [], `the erasure came before statement ${place}, first admission: ${isFirst}`)
        await slow.stop()
        await stores[1].privacy.eraseUser('alice')
      }
  })

  withPair('a worker that has lost its lease writes no item of the inbox', async ({ stores, database, clock }) => {
    const admitted = planned(newIdOfUser('alice'), clock.now())
    const [delivery] = admitted.deliveries
    await stores[0].intake.admit(
      [{ notifications: [{ ...admitted, deliveries: [{ ...delivery, channel: 'in-app' }] }] }],
      createAdmission(rules, clock.now()),
    )
    const [lost] = await claimDue(stores[0].deliveries, { channel: 'in-app', limit: 1, now: clock.now() })
    await database.query("UPDATE notify.delivery_queue SET lease_until = now() - interval '1 second'")
    const [current] = await claimDue(stores[1].deliveries, { channel: 'in-app', limit: 1, now: clock.now() })
    assert.ok(lost && current)
    const acknowledged = { provider: 'inbox', inInbox: true } as const
    const done = {
      at: clock.now(),
      acknowledged,
      next: { kind: 'done' },
      what: 'sent',
      detail: {},
      deadTokens: [],
    } as const
    const items = async () => (await stores[0].inbox.page('alice', { limit: 10 })).items.length
    assert.equal((await stores[0].deliveries.record([{ ...done, claimed: lost }])).late, 1)
    assert.equal(await items(), 0)
    assert.equal((await stores[1].deliveries.record([{ ...done, claimed: current }])).late, 0)
    assert.equal(await items(), 1)
  })

  withPair('replays that race the cap cost none of it', async (pair) => {
    const keys = Array.from({ length: 60 }, (_, index) => ({ ...shipped, dedup_key: `k${index % 6}` }))
    const seen = await outcomes(pair, keys)
    assert.deepEqual([count(seen, 'queued'), count(seen, 'duplicate')], [6, 54])
    const more = await outcomes(
      pair,
      Array.from({ length: 10 }, () => shipped),
    )
    assert.deepEqual([count(more, 'queued'), count(more, 'capped')], [4, 6])
  })

  withPair('a due delivery is claimed by one worker alone, and a late record is left out', async (pair) => {
    await outcomes(
      pair,
      Array.from({ length: 10 }, () => shipped),
    )
    const { stores, clock } = pair
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        claimDue(stores[index % 2 === 0 ? 0 : 1].deliveries, { channel: 'email', limit: 3, now: clock.now() }),
      ),
    )
    const ids = claims.flat().map(({ deliveryId }) => deliveryId)
    assert.equal(ids.length, 10)
    assert.equal(new Set(ids).size, 10)
    const [claimed] = claims.flat()
    assert.ok(claimed)
    await pair.database.query(
      "UPDATE notify.delivery_queue SET lease_until = now() - interval '1 second' WHERE delivery_id = $1",
      [claimed.deliveryId],
    )
    const [again] = await claimDue(stores[1].deliveries, { channel: 'email', limit: 3, now: clock.now() })
    assert.equal(again?.deliveryId, claimed.deliveryId)
    assert.equal(again?.crashes, 1)
    const late = { claimed, at: clock.now(), next: { kind: 'done' }, what: 'sent', detail: {}, deadTokens: [] } as const
    assert.equal((await stores[0].deliveries.record([late])).late, 1)
    assert.equal((await stores[1].deliveries.record([{ ...late, claimed: again ?? claimed }])).late, 0)
  })

  withPair(
    'a scheduled notification that is fired by two and cancelled by a third happens once or not at all',
    async (pair) => {
      const { stores, clock, database } = pair
      for (let round = 0; round < 5; round++) {
        const id = await stores[0].schedule.add(clock.now(), shipped)
        const before = (await database.query('SELECT 1 FROM notify.notification')).rowCount
        const settle = (store: NotifyStore, notificationId: string) =>
          store.intake.admit(
            [{ settles: { kind: 'scheduled', id }, notifications: [planned(notificationId, clock.now())] }],
            createAdmission(rules, clock.now()),
          )
        const [a, b, cancelled] = await Promise.all([
          settle(stores[0], ids[0]),
          settle(stores[1], ids[1]),
          stores[1].schedule.cancel(id),
        ])
        const fired = [a[0], b[0]].filter((decided) => decided !== undefined).length
        assert.equal(fired + (cancelled ? 1 : 0), 1)
        assert.equal((await database.query('SELECT 1 FROM notify.notification')).rowCount, before + fired)
        await database.query(
          'DELETE FROM notify.notification; DELETE FROM notify.delivery; DELETE FROM notify.delivery_queue',
        )
      }
    },
  )

  withPair('a scheduled notification that is moved when its lease has ended is not fired as it was', async (pair) => {
    const { stores, clock, database } = pair
    const id = await stores[0].schedule.add(clock.now(), shipped)
    const claimed = await stores[0].waiting.claimScheduled([bucketOfUser('alice', testBuckets)], 1, 60_000, clock.now())
    assert.equal(claimed.length, 1)
    await database.query("UPDATE notify.scheduled SET lease_until = now() - interval '1 second' WHERE id = $1", [id])
    assert.equal(await stores[1].schedule.move(id, clock.now() + 86_400_000), 'moved')
    const settle = () =>
      stores[0].intake.admit(
        [{ settles: { kind: 'scheduled', id }, notifications: [planned(ids[0], clock.now())] }],
        createAdmission(rules, clock.now()),
      )
    assert.deepEqual(await settle(), [undefined])
    clock.advance(86_400_000)
    assert.equal((await settle()).filter((decided) => decided !== undefined).length, 1)
  })

  withPair(
    'items that join while windows are flushed are each in exactly one window',
    async (pair) => {
      const { stores, clock } = pair
      const flushed: string[] = []
      const join = async () => {
        for (let n = 0; n < 30; n++) {
          await outcomes(pair, [shipped, shipped, shipped])
          clock.advance(60_000)
        }
      }
      const flush = async (store: NotifyStore) => {
        for (let n = 0; n < 60; n++) {
          const windows = await store.waiting.closeWindows(
            [bucketOfUser('alice', testBuckets)],
            10,
            60_000,
            clock.now(),
          )
          flushed.push(...windows.flatMap(({ items }) => items.map(({ notificationId }) => notificationId)))
        }
      }
      await Promise.all([join(), flush(stores[0]), flush(stores[1])])
      clock.advance(600_000)
      await flush(stores[0])
      assert.equal(flushed.length, 90)
      assert.equal(new Set(flushed).size, 90)
      const open = await pair.database.query("SELECT 1 FROM notify.pending_window WHERE state = 'open'")
      assert.equal(open.rowCount, 0)
    },
    { aggregation: { threshold: 3, actor: 'actor' } },
  )

  withPair(
    'a breaker that may be probed lets one caller through, and replayed dead letters go back once',
    async (pair) => {
      const { stores, clock, database } = pair
      const breaker = { windowMs: 60_000, minCalls: 5, failureRate: 0.5, openMs: 1_000, maxOpenMs: 10_000 }
      const opened = await Promise.all(
        stores.map((store) => store.providerHealth.report('p', { calls: 10, failures: 9 }, breaker, clock.now())),
      )
      assert.equal(opened.filter(Boolean).length, 1)
      clock.advance(5_000)
      const probes = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          stores[n % 2 === 0 ? 0 : 1].providerHealth.probe('p', clock.now(), 1_000, breaker.maxOpenMs),
        ),
      )
      assert.equal(probes.filter(Boolean).length, 1)
      await outcomes(
        pair,
        Array.from({ length: 5 }, () => shipped),
      )
      const claimed = await claimDue(stores[0].deliveries, { channel: 'email', now: clock.now() })
      const dead = { kind: 'dead', cause: 'permanent', detail: 'no', fallback: false } as const
      await stores[0].deliveries.record(
        claimed.map((each) => ({
          claimed: each,
          at: clock.now(),
          next: dead,
          what: 'dead_letter',
          detail: {},
          deadTokens: [],
        })),
      )
      const replayed = await Promise.all(
        stores.map((store) => store.deadLetters.replay({ cause: 'permanent' }, 100, clock.now())),
      )
      assert.equal(
        replayed.reduce((sum, each) => sum + each.replayed, 0),
        5,
      )
      assert.equal((await database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 5)
    },
  )

  withPair(
    'a report that is delivered twice at once counts once, and an ack never lowers what it raised',
    async (pair) => {
      const { stores, clock, database } = pair
      await outcomes(pair, [shipped])
      const [claimed] = await claimDue(stores[0].deliveries, { channel: 'email', limit: 1, now: clock.now() })
      assert.ok(claimed)
      const report: ProviderReport = {
        provider: 'p',
        eventId: 'e1',
        deliveryId: claimed.deliveryId,
        report: 'opened',
        at: clock.now(),
      }
      const done = {
        claimed,
        at: clock.now(),
        acknowledged: { provider: 'p' },
        next: { kind: 'done' },
        what: 'sent',
        detail: {},
        deadTokens: [],
      } as const
      const answers = await Promise.all([
        stores[0].deliveries.report([report], clock.now()),
        stores[1].deliveries.report([report], clock.now()),
        stores[0].deliveries.record([done]),
      ])
      assert.deepEqual(answers.slice(0, 2).flat().toSorted(), ['changed', 'duplicate'])
      const { rows } = await database.query('SELECT state FROM notify.delivery')
      assert.deepEqual(rows, [{ state: 'opened' }])
    },
  )

  withPair('a device that registers again while its token is declared dead stays alive', async (pair) => {
    const { stores, clock } = pair
    const deadSince = clock.now()
    clock.advance(1)
    await Promise.all([
      stores[0].devices.put('alice', { deviceId: 'phone', token: 't1', service: 'fcm' }, clock.now()),
      stores[1].devices.markDead('alice', 't1', deadSince, 'Unregistered'),
    ])
    const [device] = await stores[0].devices.list('alice')
    assert.equal(device?.deadAt, undefined)
  })
})

/** A service without workers and without settings of its own. */
function serviceOn(store: NotifyStore, clock: ReturnType<typeof manualClock>): Promise<Notify> {
  const authenticate = () => assert.fail('nobody asks')
  return createNotify({
    store,
    providers: {},
    work: false,
    authenticate,
    clock,
    log: silentLog,
    metrics: createMetrics(),
  })
}

const rules = { caps: { total: 99, channels: {}, priorities: {} }, windowMs: 86_400_000 }
/** In the bucket of their user, whatever the number of buckets. */
const ids = [newIdOfUser('alice'), newIdOfUser('alice')] as const

function planned(id: string, now: number) {
  const message = { body: 'Order', locale: 'en', targets: [{ id: 'email', address: 'alice@example.com' }] }
  return {
    id,
    userId: 'alice',
    event: 'order.shipped',
    data: {},
    priority: 'normal',
    acceptedAt: now,
    sensitive: false,
    decisions: [],
    deliveries: [{ channel: 'email', plan: { kind: 'send', message } }],
    stored: 'no',
  } as const
}
