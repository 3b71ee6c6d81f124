import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { createMetrics, type Database, type ManualClock, manualClock, silentLog } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { createAdmission } from '../../../src/admission/admission.ts'
import type { AdmissionUnit, PlannedNotification } from '../../../src/admission/planned.ts'
import { createNotify, type Notify } from '../../../src/index.ts'
import { bucketOfUser, newIdOfUser } from '../../../src/model/id.ts'
import type { ClosedWindow, NotifyStore } from '../../../src/store/store.ts'
import {
  type DatabaseServer,
  isDistributed,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
  testBuckets,
} from '../../support/engine/engine.ts'

const minute = 60_000
/** That of alice. */
const bucket = bucketOfUser('alice', testBuckets)
const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }

const locksSql = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%run_at_once%'"
/** A row for each node on which somebody waits for a lock to write. */
const waitingSql = isDistributed
  ? `SELECT FROM run_command_on_workers($$SELECT EXISTS (${locksSql})$$) AS node WHERE node.result = 't'`
  : locksSql

interface Scene {
  readonly database: Database
  readonly stores: readonly [NotifyStore, NotifyStore]
  readonly service: Notify
  readonly clock: ManualClock
  /** Accepts a like of each actor. */
  like(...actors: string[]): Promise<void>
}

describe('pending sets on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  /** A service without workers: the tests are the flushers, and die where they please. */
  const scene = (title: string, body: (scene: Scene) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      const clock = manualClock(Date.parse('2026-06-01T12:00:00Z'))
      const stores = [postgresNotifyStore(database), postgresNotifyStore(database)] as const
      const service = await createNotify({
        store: stores[0],
        providers: {},
        work: false,
        declared: {
          eventTypes: [{ event: 'photo.liked', channels: ['email'], aggregation: { threshold: 3, actor: 'actor' } }],
          templates: [{ templateId: 'photo.liked', channel: 'email', locale: 'en', body: '{{ actor }}' }],
          recipients: [{ user_id: 'alice', email: 'alice@example.com' }],
        },
        authenticate: () => assert.fail('nobody asks'),
        clock,
        log: silentLog,
        metrics: createMetrics(),
      })
      const like = async (...actors: string[]) => {
        const results = await service.accept(
          actors.map((actor) => ({ event: 'photo.liked', user_id: 'alice', data: { actor } })),
        )
        assert.ok(results.every((result) => 'accepted' in result))
      }
      try {
        await body({ database, stores, service, clock, like })
      } finally {
        await service.stop()
        await database.close()
      }
    })

  scene('of two flushers that close at the same time each window goes to one', async ({ stores, clock, like }) => {
    for (let round = 0; round < 10; round++) {
      await like('Ann', 'Bob')
      clock.advance(5 * minute)
      const close = (store: NotifyStore) => store.waiting.closeWindows([bucket], 10, minute, clock.now())
      const closed = await Promise.all([close(stores[0]), close(stores[1]), close(stores[0]), close(stores[1])])
      const windows = closed.flat()
      assert.equal(windows.length, 1)
      assert.deepEqual(windows[0]?.items.map(({ actor }) => actor).sort(), ['Ann', 'Bob'])
      await stores[0].intake.admit(windows.map(flushed), createAdmission(rules, clock.now()))
    }
  })

  scene(
    'an item that arrives while its window is being closed waits and opens the next',
    async ({ database, stores, clock, like }) => {
      await like('Ann')
      clock.advance(5 * minute)
      const [locked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const closing = database.transaction(async (tx) => {
        await tx.query("UPDATE notify.pending_window SET state = 'closed', lease_until = now()")
        locked.resolve()
        await go.promise
      })
      await locked.promise
      const late = like('Bob')
      const waiting = () => database.query(waitingSql)
      while ((await waiting()).rowCount === 0) await new Promise((resolve) => setImmediate(resolve))
      go.resolve()
      await Promise.all([closing, late])
      const first = await stores[0].waiting.closeWindows([bucket], 10, minute, clock.now())
      assert.deepEqual(
        first.map(({ items }) => items.map(({ actor }) => actor)),
        [['Ann']],
      )
      clock.advance(5 * minute)
      const second = await stores[0].waiting.closeWindows([bucket], 10, minute, clock.now())
      assert.deepEqual(
        second.map(({ items }) => items.map(({ actor }) => actor)),
        [['Bob']],
      )
    },
  )

  scene(
    'a window whose flusher died after closing it is flushed by another, whole, and by one of the two only',
    async ({ database, stores, clock, like }) => {
      await like('Ann', 'Bob', 'Chidi')
      clock.advance(5 * minute)
      const dying = await stores[0].waiting.closeWindows([bucket], 10, 0, clock.now())
      await like('Dana')
      const [reclaimed] = await stores[1].waiting.closeWindows([bucket], 10, minute, clock.now())
      assert.deepEqual(reclaimed, dying[0], 'the same window with the same items')
      assert.deepEqual(await stores[0].waiting.closeWindows([bucket], 10, minute, clock.now()), [], 'it is leased')
      const admitted = await Promise.all(
        [...dying, ...(reclaimed ? [reclaimed] : [])].map((window, index) =>
          stores[index === 0 ? 0 : 1].intake.admit([flushed(window)], createAdmission(rules, clock.now())),
        ),
      )
      assert.equal(admitted.flat().filter((decided) => decided !== undefined).length, 1)
      assert.equal((await database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 1)
      assert.equal((await database.query('SELECT 1 FROM notify.pending_item')).rowCount, 1, "Dana's waits in the next")
    },
  )

  scene(
    'a flush that is rolled back leaves its window to be flushed again',
    async ({ database, stores, clock, like }) => {
      await like('Ann')
      clock.advance(5 * minute)
      const [window] = await stores[0].waiting.closeWindows([bucket], 10, 0, clock.now())
      const broken = flushed(window ?? assert.fail('no window'))
      const twice = { ...broken, notifications: [...broken.notifications, ...broken.notifications] }
      await assert.rejects(stores[0].intake.admit([twice], createAdmission(rules, clock.now())))
      assert.equal((await database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 0)
      const again = await stores[1].waiting.closeWindows([bucket], 10, minute, clock.now())
      assert.deepEqual(again, [window])
      assert.equal(
        (await stores[1].intake.admit(again.map(flushed), createAdmission(rules, clock.now()))).flat().length,
        1,
      )
      assert.equal((await database.query('SELECT 1 FROM notify.pending_window')).rowCount, 0)
    },
  )
})

/** What a flush makes of a window: one notification, which takes the window away. */
function flushed({ id, userId, event }: ClosedWindow): AdmissionUnit {
  const message = { body: 'likes', locale: 'en', targets: [{ id: 'email', address: 'alice@example.com' }] }
  const notification: PlannedNotification = {
    id: newIdOfUser('alice'),
    userId,
    event,
    data: {},
    priority: 'normal',
    acceptedAt: 0,
    sensitive: false,
    decisions: [],
    deliveries: [{ channel: 'email', plan: { kind: 'send', message } }],
    stored: 'no',
  }
  return { settles: { kind: 'window', id }, notifications: [notification] }
}
