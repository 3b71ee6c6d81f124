import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Database } from '@gatehouse/kit'
import type { Server } from '@gatehouse/testing'
import { createAdmission } from '../../src/admission/admission.ts'
import type { AdmissionUnit, PlannedNotification } from '../../src/admission/planned.ts'
import { newId } from '../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../src/postgres/index.ts'
import type { AttemptRecord, ClaimedDelivery, NotifyStore } from '../../src/store/store.ts'
import { type RunNode, type RunStatement, startExplainingPostgres } from '../support/engine/explain-plans.ts'
import { assertFewRead, bigNodesOf, ofUsers, onlyOfUsers } from '../support/engine/plan-nodes.ts'
import { claimDue } from '../support/processes/claims.ts'

/**
 * What the planner makes of the hot statements when it knows nothing: every table grew from nothing to 200,000 rows and
 * was never analysed. auto_explain reports every statement as it ran, with the rows that each scan really read.
 */
const rows = 200_000
const batch = 200
/** So few that reading all of their index seems cheaper than a look for each row of a batch. */
const settled = 2_000
/** A batch has at most so many users and deliveries, and each is looked for in a table a few times. */
const maxRowsRead = 5 * batch

describe('the plans of the hot statements', () => {
  let server: Server
  let database: Database
  let store: NotifyStore
  let explained: RunStatement[]
  let texts: string[] = []

  before(async () => {
    ;({ server, database, ran: explained } = await startExplainingPostgres({ nested: true }))
    await migrateNotify(database)
    store = postgresNotifyStore(database, { streaming: true })
  })
  after(async () => {
    await database.close()
    await server.stop()
  })

  it('read the rows they name, though the tables grew since they were first planned', async () => {
    await database.query(
      `VACUUM notify.delivery_queue, notify.delivery, notify.cap, notify.dedup_log, notify.recipient, notify.preference,
              notify.device, notify.suppression`,
    )
    for (let times = 0; times < 7; times++) await walk(store)
    await fill(database)
    explained.length = 0
    await walk(store)
    const hot = explained.filter(({ 'Query Text': text }) => /notify\./.test(text))
    assert.ok(hot.length >= 20, `the walk runs the hot statements: ${hot.length}`)
    assertFewRead(hot, maxRowsRead)
    // Those inside a function name its variables and can't be prepared by themselves: they ran as they are always planned.
    // So did the one that lifts suppressions, whose filter may be any: it is planned with its values.
    texts = [...new Set(hot.map(({ 'Query Text': text }) => text.replace(/^PREPARE \w+ AS /, '')))].filter(
      (text) => !/\b(?:sinces|newest|reached)\b|^DELETE FROM notify\.suppression/.test(text),
    )
  })

  it('read no table either when they are planned without their values', async () => {
    await database.query('SET plan_cache_mode = force_generic_plan')
    for (const [n, text] of texts.entries()) {
      const parameters = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
      await database.query(`PREPARE generic_${n} AS ${text}`)
      const nulls = Array.from({ length: parameters }, () => 'NULL').join(', ')
      const { rows: plans } = await database.query<{ 'QUERY PLAN': Array<{ Plan: RunNode }> }>(
        `EXPLAIN (FORMAT JSON) EXECUTE generic_${n}${nulls && `(${nulls})`}`,
      )
      for (const { Plan } of plans[0]?.['QUERY PLAN'] ?? [])
        for (const node of bigNodesOf(Plan))
          assert.notEqual(node['Node Type'], 'Seq Scan', `${text}\n${JSON.stringify(Plan, null, 1)}`)
    }
  })

  it('read by its keys what a user has, at an export and an erasure', async () => {
    await database.query('RESET plan_cache_mode')
    explained.length = 0
    await store.privacy.exportUser('user-7')
    await store.privacy.eraseUser('user-7')
    const known = explained.map(({ Plan, ...statement }) => ({ ...statement, Plan: onlyOfUsers(Plan) }))
    assertFewRead(known, maxRowsRead)
    assert.deepEqual(
      new Set(known.flatMap(({ Plan }) => bigNodesOf(Plan)).map((node) => node['Relation Name'])),
      ofUsers,
    )
  })

  it('read the rows they name where few are stored, and none waited when they were analysed', async () => {
    await database.query('RESET plan_cache_mode')
    await database.query('TRUNCATE notify.delivery, notify.delivery_queue')
    await database.query(
      `INSERT INTO notify.delivery (bucket, id, user_id, channel, state)
       SELECT 0, ${deliveryId}, 'user-' || n, 'push', 'delivered' FROM generate_series(1, ${settled}) AS n`,
    )
    await database.query('VACUUM ANALYZE notify.delivery, notify.delivery_queue')
    const now = Date.now()
    const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }
    const units = Array.from({ length: 4 * batch }, (_, n) => ({
      notifications: [planned(`user-${n}`, undefined, now, 'send')],
    }))
    await store.intake.admit(units, createAdmission(rules, now))
    const claimed = await claimDue(store.deliveries, { channel: 'push', limit: batch, now: now + 1_000 })
    explained.length = 0
    await store.deliveries.record(claimed.map((each) => tried(each, 0, now)))
    assert.ok(explained.some(({ 'Query Text': text }) => text.includes('UPDATE notify.delivery ')))
    assertFewRead(explained, maxRowsRead)
  })
})

/** One batch all the way: profiles, admission, claim, tries put back, recorded and buried; deferred and windows. */
async function walk(store: NotifyStore): Promise<void> {
  const now = Date.now()
  const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }
  const users = Array.from({ length: batch / 2 }, (_, n) => `user-${n * 7}`).sort()
  await store.intake.readProfiles(users)
  const units = users.flatMap((userId, n): AdmissionUnit[] => [
    { notifications: [planned(userId, `a-${now}-${n}`, now, 'send')] },
    { notifications: [planned(userId, `b-${now}-${n}`, now, n % 2 ? 'defer' : 'aggregate')] },
  ])
  await store.intake.admit(units, createAdmission(rules, now))
  const replays = users.map((userId, n) => ({ notifications: [planned(userId, `a-${now}-${n}`, now, 'send')] }))
  await store.intake.admit(replays, createAdmission(rules, now))
  const again = units.flatMap(({ notifications }) =>
    notifications.map(({ id, userId }) => ({ resendOf: id, notifications: [planned(userId, undefined, now, 'send')] })),
  )
  assert.ok((await store.intake.admit(again, createAdmission(rules, now))).every((each) => each !== undefined))
  const [deferred, windows] = [
    await store.waiting.claimDeferred([0], batch, 60_000, now + 1_000),
    await store.waiting.closeWindows([0], batch, 60_000, now + 1_000),
  ]
  assert.ok(deferred.length > 0 && windows.length > 0)
  const settled = [
    ...deferred.map(
      ({ id, notification: { userId } }): AdmissionUnit => ({
        settles: { kind: 'deferred', id },
        notifications: [planned(userId, undefined, now, 'send')],
      }),
    ),
    ...windows.map(
      ({ id, userId }): AdmissionUnit => ({
        settles: { kind: 'window', id },
        notifications: [planned(userId, undefined, now, 'send')],
      }),
    ),
  ]
  await store.intake.admit(settled, createAdmission(rules, now))
  const id = await store.schedule.add(now, { event: 'e', user_id: users[0] as string, data: {} })
  await store.waiting.claimScheduled([0], batch, 60_000, now + 1_000)
  await store.intake.admit(
    [{ settles: { kind: 'scheduled', id }, notifications: [planned(users[0] as string, undefined, now, 'send')] }],
    createAdmission(rules, now),
  )
  await deliver(store, now)
}

async function deliver(store: NotifyStore, now: number): Promise<void> {
  const claimed = await claimDue(store.deliveries, { channel: 'push', limit: batch, now: now + 1_000 })
  assert.ok(claimed.length >= batch / 2)
  const thirds = Map.groupBy(claimed, (each) => claimed.indexOf(each) % 4)
  await store.deliveries.release(thirds.get(3) ?? [], now)
  const records = [0, 1, 2].flatMap((kind) => (thirds.get(kind) ?? []).map((each) => tried(each, kind, now)))
  assert.equal((await store.deliveries.record(records)).late, 0)
  const reported = [0, 2].flatMap((kind) => thirds.get(kind) ?? [])
  const outcomes = await store.deliveries.report(
    reported.map(({ deliveryId }, n) => ({
      provider: 'p',
      eventId: `e-${deliveryId}`,
      deliveryId,
      report: n % 2 ? 'delivered' : 'bounced',
      at: now,
      suppressing: { reason: 'bounced' },
    })),
    now,
  )
  assert.deepEqual([...new Set(outcomes)], ['changed'])
  const ids = (await store.suppressions.list({ userId: 'user-7' }, batch, undefined, now)).map(({ id }) => id)
  await store.suppressions.list({ ids }, batch, undefined, now)
  await store.suppressions.lift({ ids })
  await store.suppressions.lift({ userId: 'user-7' })
  await store.stateChanges.number([0], 2 * batch, now)
  await store.stateChanges.read(0, batch, { state: 'bounced' })
  await store.stateChanges.purge(now + 1, false, batch)
}

function tried(claimed: ClaimedDelivery, kind: number, at: number): AttemptRecord {
  const { targets } = claimed.message
  const common = { claimed, at, detail: {}, deadTokens: [] }
  if (kind === 0) return { ...common, acknowledged: { provider: 'p' }, next: { kind: 'done' }, what: 'sent' }
  if (kind === 1)
    return {
      ...common,
      next: { kind: 'again', dueAt: at, failures: 1, left: { targets, partlyAccepted: false } },
      what: 'failed',
    }
  return {
    ...common,
    next: { kind: 'dead', cause: 'exhausted', detail: 'it failed', fallback: true },
    what: 'dead_letter',
    deadTokens: [{ token: 't', provider: 'fcm', at, reason: 'Unregistered' }],
  }
}

function planned(
  userId: string,
  logKey: string | undefined,
  now: number,
  kind: 'send' | 'defer' | 'aggregate',
): PlannedNotification {
  const message = { body: 'b', locale: 'en', targets: [{ id: 'phone', address: 't', service: 'fcm' }] }
  const plan = { send: { kind, message }, defer: { kind, resumeAt: now }, aggregate: { kind } }[kind]
  return {
    id: newId(0),
    userId,
    event: 'e',
    data: {},
    priority: 'normal',
    acceptedAt: now,
    sensitive: false,
    decisions: [],
    deliveries: [{ channel: 'push', plan: plan as never, ...(logKey === undefined ? {} : { logKey }) }],
    ...(kind === 'aggregate' ? { item: { actor: 'ann', flushAt: now } } : {}),
    stored: 'no',
  }
}

const deliveryId = "('01000000-0000-7000-8000-' || lpad(to_hex(n), 7, '0') || '10000')::uuid"

/** 200,000 rows a table, of as many users: what waits is due. */
async function fill(database: Database): Promise<void> {
  const id = "('01000000-0000-7000-8000-' || lpad(to_hex(n), 7, '0') || '00000')::uuid"
  const delivery = deliveryId
  const changes = `ARRAY[(${id}, ${delivery}, now(), 'u', NULL, 'sent', NULL)::notify.change]`
  const inserts: Record<string, string> = {
    recipient: `(bucket, user_id, email, updated_at) SELECT 0, 'user-' || n, 'a@example.com', now()`,
    preference: `(bucket, user_id, event_type, updated_at) SELECT 0, 'user-' || n, '*', now()`,
    device: `(bucket, user_id, device_id, token, service, registered_at) SELECT 0, 'user-' || n, 'phone', 't', 'fcm', now()`,
    suppression: `(bucket, user_id, channel, address, reason, since, id) SELECT 0, 'user-' || n, 'email', 'a', 'b', now(), ${id}`,
    cap: `(bucket, user_id) SELECT 0, 'user-' || n`,
    notification: `(bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at) SELECT 0, ${id}, 'user-' || n, 'e', 'normal', false, '{}', '[]', now()`,
    dedup_log: `(bucket, user_id, key_hash, notification_id, has_delivery, recorded_at) SELECT 0, 'user-' || n, md5('k')::uuid, ${id}, true, now()`,
    delivery: `(bucket, id, user_id, channel, state) SELECT 0, ${delivery}, 'user-' || n, 'push', 'queued'`,
    timeline_entry: `(bucket, notification_id, id, at, entry_type) SELECT 0, ${id}, ${id}, now(), 'queued'`,
    delivery_queue: `(bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message) SELECT 0, ${delivery}, 'user-' || n, 'push', 'e', 1, now(), false, '{"body": "b", "locale": "en", "targets": []}'`,
    scheduled: `(bucket, id, user_id, fire_at, payload) SELECT 0, ${id}, 'user-' || n, now(), '{"user_id": "u"}'`,
    parked: `(bucket, key, id, user_id, event, place, payload) SELECT 0, n::text, ${id}, 'user-' || n, 'e', n, '{"user_id": "u"}'`,
    deferred: `(bucket, id, notification_id, user_id, channels, reason, resume_at) SELECT 0, ${id}, ${id}, 'user-' || n, '{push}', 'quiet_hours', now()`,
    pending_window: `(bucket, id, user_id, event, state, flush_at) SELECT 0, ${id}, 'user-' || n, 'other', 'open', now()`,
    pending_item: `(bucket, window_id, notification_id, actor, at, data, channels, by_request) SELECT 0, ${id}, ${id}, 'ann', now(), '{}', '{push}', false`,
    dead_letter: `(bucket, id, cause, detail, died_at) SELECT 0, ${id}, 'c', 'd', now()`,
    // Below what was removed, so that nobody reads them.
    state_change: `(sequence, recorded_at, changes) SELECT n - ${rows} - 1, now(), ${changes}`,
    outbox: `(bucket, id, changes) SELECT 0, ${id}, ${changes}`,
  }
  for (const [table, insert] of Object.entries(inserts))
    await database.query(
      `INSERT INTO notify.${table} ${insert} FROM generate_series(1, ${rows}) AS n ON CONFLICT DO NOTHING`,
    )
}
