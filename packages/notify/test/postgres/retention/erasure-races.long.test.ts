import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { createAdmission } from '../../../src/admission/admission.ts'
import type { AdmissionUnit, DeliveryPlan, PlannedNotification, Settled } from '../../../src/admission/planned.ts'
import { defaultOptions } from '../../../src/config/options.ts'
import type { Channel } from '../../../src/model/channel.ts'
import { bucketOfUser, deliveryIdOf, newId, newIdOfUser } from '../../../src/model/id.ts'
import { createReason } from '../../../src/model/notification/reason.ts'
import type { AttemptRecord, ClaimedDelivery, NotifyStore } from '../../../src/store/store.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
  testBuckets,
} from '../../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'
import { claimDue } from '../../support/processes/claims.ts'
import { lockWaits, someoneWaits } from '../../support/processes/lock-waits.ts'
import { eventually } from '../../support/setup.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }
const forever = 86_400_000 * 3_650

/** Something that happens about alice beside her erasure: what is prepared, and then the step that races. */
type Racer = (store: NotifyStore) => Promise<(racing: NotifyStore) => Promise<unknown>>

const racers: Readonly<Record<string, Racer>> = {
  claim: async (store) => {
    await admitted(store, 'email')
    return ({ deliveries }) => claimDue(deliveries, { channel: 'email', now })
  },
  'a recorded success': (store) => recording(store, 'email', () => ({ next: { kind: 'done' } })),
  'a recorded success in the inbox': (store) =>
    recording(store, 'in-app', () => ({
      acknowledged: { provider: 'inbox', inInbox: true },
      next: { kind: 'done' },
    })),
  'a retry': (store) =>
    recording(store, 'email', ({ message: { targets } }) => ({
      next: { kind: 'again', dueAt: now, failures: 1, left: { targets, partlyAccepted: false } },
    })),
  'a dead letter': (store) => recording(store, 'email', () => ({ next: dead(false) })),
  'a fallback to email': (store) => recording(store, 'push', () => ({ next: dead(true) })),
  'a late acknowledgement': async (store) => {
    const [claimed] = await claimedOf(store, 'email')
    await store.deliveries.report([report(claimed, 'delivered')], now)
    return ({ deliveries }) => deliveries.record([tried(claimed, { next: { kind: 'done' } })])
  },
  'a webhook report': async (store) => {
    const [claimed] = await claimedOf(store, 'email')
    await store.deliveries.record([tried(claimed, { next: { kind: 'done' } })])
    return ({ deliveries }) => deliveries.report([report(claimed, 'bounced')], now)
  },
  'a webhook report before the record': async (store) => {
    const [claimed] = await claimedOf(store, 'email')
    return ({ deliveries }) => deliveries.report([report(claimed, 'bounced')], now)
  },
  'a replay': async (store) => {
    const [claimed] = await claimedOf(store, 'email')
    await store.deliveries.record([tried(claimed, { next: dead(false) })])
    return ({ deadLetters }) => deadLetters.replay({}, 10, now)
  },
  'a replay of what was never written': async (store) => {
    await store.intake.admit(
      [unit('email', { kind: 'fail', cause: 'render', reason: createReason('channel_off') })],
      createAdmission(rules, now),
    )
    return ({ deadLetters }) => deadLetters.replay({}, 10, now)
  },
  'a resend': async (store) => {
    const first = unit('email')
    await store.intake.admit([first], createAdmission(rules, now))
    const again = { ...unit('email'), resendOf: first.notifications[0]?.id ?? assert.fail('no notification') }
    return ({ intake }) => intake.admit([again], createAdmission(rules, now))
  },
  'a flush': async (store) => {
    await store.intake.admit([unit('email', { kind: 'aggregate' })], createAdmission(rules, now))
    const [window] = await store.waiting.closeWindows([0], 10, 60_000, now)
    const timelineEntry = { what: 'combined', detail: { into: newId(0) } } as const
    const flushed = unit('email', undefined, {
      kind: 'window',
      id: window?.id ?? assert.fail('no window'),
      timelineEntry,
    })
    return ({ intake }) => intake.admit([flushed], createAdmission(rules, now))
  },
  'a deferral that is due': async (store) => {
    await store.intake.admit([unit('email', { kind: 'defer', resumeAt: now })], createAdmission(rules, now))
    const [due] = await store.waiting.claimDeferred([0], 10, 60_000, now)
    assert.ok(due)
    const resumed = unit('email', undefined, { kind: 'deferred', id: due.id })
    const notifications = resumed.notifications.map((each) => ({
      ...each,
      id: due.notification.id,
      stored: 'deliveries' as const,
    }))
    return ({ intake }) => intake.admit([{ ...resumed, notifications }], createAdmission(rules, now))
  },
  'a cancellation of the fallback of a queued push': (store) => cancelling(store),
  'a cancellation of the fallback of a deferred push': (store) => cancelling(store, { kind: 'defer', resumeAt: now }),
  'a cancellation of the fallback of a push in an open window': (store) => cancelling(store, { kind: 'aggregate' }),
  'a cancellation of the fallback of a push in a closed window': async (store) => {
    const step = await cancelling(store, { kind: 'aggregate' })
    await store.waiting.closeWindows([0], 10, 60_000, now)
    return step
  },
  'a schedule that is due': async (store) => {
    const id = await store.schedule.add(now, { event: 'order.shipped', user_id: 'alice', data: {} })
    await store.waiting.claimScheduled([0], 10, 60_000, now)
    return ({ intake }) =>
      intake.admit([unit('email', undefined, { kind: 'scheduled', id })], createAdmission(rules, now))
  },
  'parked events that follow': async (store) => {
    const request = { event: 'order.shipped', user_id: 'alice', data: {} }
    const parkable = [{ key: 's:1', place: 1, request, occurredAt: now }]
    await store.intake.acquireRates(
      [{ event: request.event, count: 0, parkable, rate: { limit: 0, perSeconds: 1 } }],
      now,
    )
    return ({ parked }) => parked.release(0, { event: request.event, rate: undefined }, 10, now)
  },
  'a change of the inbox': async (store) => {
    await store.inbox.put([{ id: newId(0), userId: 'alice', event: 'order.shipped', body: 'x', createdAt: now }])
    return ({ inbox }) => inbox.change('alice', 'read', {}, now)
  },
  'the purge of old items': async (store) => {
    await store.inbox.put([{ id: newId(0), userId: 'alice', event: 'order.shipped', body: 'x', createdAt: now }])
    return ({ privacy }) => privacy.purge(0, defaultOptions.retention, now + forever)
  },
}

/** Columns of tables and what two rows of alice have in them, the key first. */
const lockedInOrder: Readonly<Record<string, readonly [columns: string, values: string]>> = {
  dead_letter: ['id, cause, detail, died_at', "delivery, 'c', 'd', now()"],
  delivery_queue: [
    'delivery_id, channel, event, priority, due_at, sensitive, message',
    "delivery, 'email', 'e', 1, now(), false, '{}'",
  ],
  deferred: ['id, notification_id, channels, reason, resume_at', "id, id, '{email}', 'quiet_hours', now()"],
  scheduled: ['id, fire_at, payload', "id, now(), '{}'"],
  parked: ['key, id, event, place, payload', "place, id, 'e', place, '{}'"],
  delivery: ['id, channel, state', "delivery, 'email', 'queued'"],
  notification: ['id', 'id'],
}

describe('an erasure', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer({ settings: ['deadlock_timeout=20ms'] }).catch(() => undefined)
  })
  after(() => server?.stop())

  for (const [name, racer] of Object.entries(racers))
    testWith('postgresql', `leaves nothing behind in any interleaving with ${name}`, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      const { rows: tables } = await database.query<{ name: string }>(tablesSql)
      const stores = [database, database].map((each) => postgresNotifyStore(each, { streaming: true }))
      const [store] = stores
      assert.ok(store)
      try {
        for (const stopped of ['racer', 'erasure'] as const)
          for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
            await known(store)
            const step = await racer(store)
            const barrier = createBarrier(place)
            const slow = postgresNotifyStore(withBarrier(barrier, database), { streaming: true })
            const run = {
              racer: (on: NotifyStore) => step(on),
              erasure: (on: NotifyStore) => on.privacy.eraseUser('alice'),
            }
            const first = run[stopped](slow)
            await Promise.race([barrier.reached, first])
            const second = run[stopped === 'racer' ? 'erasure' : 'racer'](store)
            await Promise.race([second, someoneWaits(database)])
            barrier.lift()
            await Promise.all([first, second])
            last = barrier.passes
            assert.deepEqual(await leftIn(database, tables), [], `the ${stopped} was stopped before statement ${place}`)
          }
      } finally {
        await database.close()
      }
    })

  for (const [table, [columns, values]] of Object.entries(lockedInOrder))
    testWith('postgresql', `locks the rows of ${table} in the order in which others do`, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      try {
        await migrateNotify(database)
        const bucket = bucketOfUser('alice', testBuckets)
        const ids = [newIdOfUser('alice'), newIdOfUser('alice')].toSorted()
        await database.query(
          `INSERT INTO notify.notification (bucket, id, user_id, event, priority, sensitive, decisions, accepted_at)
           SELECT $1, unnest($2::uuid[]), 'alice', 'e', 'normal', false, '[]', now()`,
          [bucket, ids.toReversed()],
        )
        // The rows are in the table in another order than in that of their ids.
        if (table !== 'notification')
          for (const id of ids.toReversed())
            await database.query(
              `INSERT INTO notify.${table} (bucket, user_id, ${columns})
               SELECT $1, 'alice', ${values} FROM (SELECT $2::uuid AS id, $3::uuid AS delivery, $4::integer AS place) AS of`,
              [bucket, id, deliveryIdOf(id, 'email'), ids.indexOf(id)],
            )
        const [key = ''] = columns.split(', ')
        const { rows } = await database.query<{ key: string }>(
          `SELECT ${key} AS key FROM notify.${table} ORDER BY ${key}`,
        )
        const lock = `SELECT FROM notify.${table} WHERE bucket = $1 AND ${key} = $2 FOR SHARE`
        await database.session(async (other) => {
          await other.query('BEGIN')
          await other.query(lock, [bucket, rows[0]?.key])
          const erasing = postgresNotifyStore(database).privacy.eraseUser('alice')
          await eventually(
            () => lockWaits(database),
            (waits) => waits > 0,
          )
          const { rowCount } = await other.query(`${lock} NOWAIT`, [bucket, rows[1]?.key])
          assert.equal(rowCount, 1, 'the second is not locked before the first')
          await other.query('COMMIT')
          await erasing
        })
      } finally {
        await database.close()
      }
    })

  testWith('postgresql', 'locks the changes that it removes in their order, as numbering does', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    try {
      await migrateNotify(database)
      const bucket = bucketOfUser('alice', testBuckets)
      const [shared = '', own = ''] = [newId(0), newId(0)].toSorted()
      const change = (user: string) => `($2, $2, now(), '${user}', NULL, 'sent', NULL)::notify.change`
      const insert = (users: readonly string[]) =>
        `INSERT INTO notify.outbox (bucket, id, changes) VALUES ($1, $2, ARRAY[${users.map(change).join()}])`
      await database.query(insert(['alice', 'bob']), [bucket, shared])
      await database.query(insert(['alice']), [bucket, own])
      const lock = 'SELECT FROM notify.outbox WHERE bucket = $1 AND id = $2 FOR SHARE'
      await database.session(async (numbering) => {
        await numbering.query('BEGIN')
        await numbering.query(lock, [bucket, shared])
        const erasing = postgresNotifyStore(database).privacy.eraseUser('alice')
        await eventually(
          () => lockWaits(database),
          (waits) => waits > 0,
        )
        const { rowCount } = await numbering.query(`${lock} NOWAIT`, [bucket, own])
        assert.equal(rowCount, 1, 'the second is not locked before the first')
        await numbering.query('COMMIT')
        await erasing
      })
      const { rows } = await database.query<{ users: Array<string | null> }>(
        'SELECT ARRAY(SELECT e.user_id FROM unnest(changes) AS e) AS users FROM notify.outbox',
      )
      assert.deepEqual(rows, [{ users: [null, 'bob'] }])
    } finally {
      await database.close()
    }
  })
})

/** Every table that knows users by name, and those that hang on them. */
const tablesSql = `
SELECT DISTINCT table_name AS name FROM information_schema.columns
 WHERE table_schema = 'notify'
   AND (column_name = 'user_id' OR table_name IN ('timeline_entry', 'pending_item', 'outbox', 'state_change'))`

async function leftIn(database: Database, tables: ReadonlyArray<{ readonly name: string }>): Promise<string[]> {
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name FROM notify.${name}`)
  const { rows } = await database.query<{ name: string }>(counts.join(' UNION ALL '))
  return rows.map(({ name }) => name)
}

async function known({ recipients, devices, preferences }: NotifyStore): Promise<void> {
  await recipients.put([{ userId: 'alice', email: 'alice@example.com' }], now)
  await devices.put('alice', { deviceId: 'phone', token: 't1', service: 'fcm' }, now)
  await preferences.put('alice', { eventType: '*', channels: ['email'] }, now)
}

async function admitted({ intake }: NotifyStore, channel: Channel): Promise<void> {
  await intake.admit([unit(channel)], createAdmission(rules, now))
}

/** Cancels the email that a push could fall back to. */
async function cancelling({ intake }: NotifyStore, plan?: DeliveryPlan) {
  const pushed = unit('push', plan)
  await intake.admit([pushed], createAdmission(rules, now))
  const [notification] = pushed.notifications
  return ({ notifications }: NotifyStore) => notifications.cancel(notification?.id ?? '', ['email'], now)
}

async function claimedOf(store: NotifyStore, channel: Channel): Promise<[ClaimedDelivery]> {
  await admitted(store, channel)
  const [claimed] = await claimDue(store.deliveries, { channel, now })
  return [claimed ?? assert.fail('nothing was claimed')]
}

async function recording(
  store: NotifyStore,
  channel: Channel,
  came: (claimed: ClaimedDelivery) => Pick<AttemptRecord, 'next'> & Partial<AttemptRecord>,
) {
  const [claimed] = await claimedOf(store, channel)
  return ({ deliveries }: NotifyStore) => deliveries.record([tried(claimed, came(claimed))])
}

function tried(claimed: ClaimedDelivery, came: Pick<AttemptRecord, 'next'> & Partial<AttemptRecord>): AttemptRecord {
  const suppressed = { address: 'alice@example.com', reason: 'bounced', detail: 'gone' } as const
  return {
    claimed,
    at: now,
    what: 'sent',
    detail: {},
    deadTokens: [{ token: 't1', provider: 'fcm', at: now, reason: 'gone' }],
    ...(came.next.kind === 'dead' ? { suppressed } : { acknowledged: { provider: 'p', providerMessageId: 'm' } }),
    ...came,
  }
}

const dead = (fallback: boolean) => ({ kind: 'dead', cause: 'permanent', detail: 'no', fallback }) as const

function report({ deliveryId }: ClaimedDelivery, kind: 'delivered' | 'bounced') {
  const suppressing = kind === 'bounced' ? { suppressing: { reason: 'bounced' as const } } : {}
  return { provider: 'p', eventId: newId(0), deliveryId, report: kind, at: now, ...suppressing }
}

function unit(channel: Channel, plan?: DeliveryPlan, settles?: Settled): AdmissionUnit {
  const message = { body: 'x', locale: 'en', targets: [{ id: channel, address: 'alice@example.com' }] }
  const notification: PlannedNotification = {
    id: newIdOfUser('alice'),
    userId: 'alice',
    event: 'order.shipped',
    data: {},
    priority: 'normal',
    acceptedAt: now,
    sensitive: false,
    decisions: [],
    deliveries: [{ channel, logKey: newId(0), plan: plan ?? { kind: 'send', message } }],
    item: { actor: 'Ann', flushAt: now },
    stored: 'no',
  }
  return { ...(settles ? { settles } : {}), notifications: [notification] }
}
