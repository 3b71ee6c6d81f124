import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Database, manualClock } from '@gatehouse/kit'
import { defaultOptions, type Provider } from '../../../src/index.ts'
import { notifyTables } from '../../../src/postgres/index.ts'
import { baseUrl, linkSecret } from '../../support/providers/mail-links.ts'
import { eventually, type Setup, seedEventType, setup } from '../../support/setup.ts'
import { createManualTopic } from '../../support/topic/manual-topic.ts'

const dayMs = 86_400_000
/** Tables of the embedded mode alone, and of processes that share a PostgreSQL. */
const unused: ReadonlySet<string> = new Set(['mailbox', 'worker_process', 'bucket_lease', 'numbered_batch'])
const retention = {
  notificationDays: 20,
  logDays: 10,
  deadLetterDays: 20,
  inboxDays: 25,
  deadDeviceDays: 10,
  linkDays: 10,
  stateChangeDays: 7,
}
const maxKeptDays = 25
/** What grows with what an operator or the product has, and not with time. */
const registers = new Set([
  'bucket_anchor',
  ...['property', 'declared', 'event_type', 'template', 'published_template', 'provider_health', 'event_rate'],
  ...['recipient', 'preference', 'device', 'push_token', 'sealed_secret', 'migration', 'state_change_position'],
  'worker_generation',
  // statistics are written by the machine's clock; their age is tested with them
  ...['stat', 'stat_batch'],
  ...['provider_order', 'provider_webhook', 'template_sample'],
])
/** What is under way for a moment, and never stays. */
const passing = new Set([
  'delivery_queue',
  'deferred',
  'scheduled',
  'parked',
  'pending_window',
  'pending_item',
  'outbox',
])
const regulars = 2
const yearDays = 365
/** One day in ten is lived, and the others pass. */
const everyDays = 10

async function rowCounts(database: Database): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { table } of notifyTables)
    counts[table] = (await database.query<{ n: number }>(`SELECT count(*) AS n FROM notify.${table}`)).rows[0]?.n ?? 0
  return counts
}

test('after a year of small traffic every table that ages has as many rows as after two months', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T12:00:00Z') })
  const clock = manualClock(Date.now())
  const carry = (channel: Provider['channel'], result: Awaited<ReturnType<Provider['send']>>[number]): Provider => ({
    name: `${channel}-provider`,
    channel,
    timeoutMs: 1_000,
    send: async (messages) => messages.map(() => result),
  })
  const { topic, deliver } = createManualTopic()
  const s = await setup({
    clock,
    topic,
    linkSecret,
    publicUrl: baseUrl,
    tables: { streaming: true },
    providers: {
      email: [carry('email', { kind: 'accepted' })],
      sms: [carry('sms', { kind: 'permanent', code: '400', reason: 'bad' })],
      push: [carry('push', { kind: 'accepted' })],
    },
    options: { ...defaultOptions, idleMs: 10, morningSpreadMs: 0, suppressionDays: {}, devicesPerUser: 3, retention },
  })
  // closed before the clock is the machine's again: the embedded engine has timers by it
  try {
    await live(t, s, deliver)
  } finally {
    await s.close()
  }
})

async function live(t: TestContext, s: Setup, deliver: ReturnType<typeof createManualTopic>['deliver']): Promise<void> {
  const { clock } = s
  await seedEventType(s)
  await seedEventType(s, 'photo.liked', {
    channels: ['in-app'],
    aggregation: { actor: 'actor', threshold: 1 },
    tracking: 'clicks',
  })
  await s.call('PUT', '/v1/templates/photo.liked/in-app/en', {
    subject: 'A like',
    body: 'See https://shop.example/photo',
  })
  await seedEventType(s, 'news.weekly', { channels: ['email'], rate_limit: { limit: 1, per_seconds: 60 } })

  /** Users who come for good, and one who comes once. */
  const liveADay = async (day: number) => {
    for (const user of [...Array.from({ length: regulars }, (_, n) => `user-${n}`), `guest-${day}`]) {
      await s.call('PUT', `/v1/recipients/${user}`, { email: `${user}@example.com`, phone_number: '+14155550100' })
      await s.call('PUT', `/v1/users/${user}/devices/phone-${day}`, { token: `token-${day} of ${user}` })
      const request = { event: 'order.shipped', user_id: user, data: { order_id: day }, dedup_key: `${day}-${user}` }
      const { body } = await s.call('POST', '/v1/notify', request)
      await s.call('POST', '/v1/notify', request)
      await s.call('POST', '/v1/notify', { event: 'photo.liked', user_id: user, data: { actor: `ann-${day}` } })
      await s.call('POST', '/v1/suppressions', {
        user_id: user,
        channel: 'email',
        scope: 'news.weekly',
        address: `old-${day}@example.com`,
        expires_at: new Date(clock.now() + 5 * dayMs).toISOString(),
      })
      await s.store.deliveries.report(
        [
          {
            provider: 'email-provider',
            eventId: `${day}-${user}`,
            deliveryId: await emailOf(body),
            report: 'delivered',
            at: clock.now(),
          },
        ],
        clock.now(),
      )
      await s.call('POST', `/v1/users/never-${day}/inbox/read`, {})
    }
    const fire_at = new Date(clock.now() + 60_000).toISOString()
    const payload = { event: 'order.shipped', user_id: 'user-0', data: {}, channels: ['email'] }
    await s.call('POST', '/v1/scheduled', { fire_at, payload })
    await s.call('PUT', '/v1/templates/order.shipped/samples', { items: [{ name: 'one', data: {} }] })
    for (const place of [0, 1])
      await deliver(2 * day + place, { event: 'news.weekly', user_id: `user-${place}`, data: {} })
    const failed = {
      key: `NOTIFICATIONS:failed-${day}`,
      text: '{}',
      reason: 'a fault of its own',
      request: { event: 'order.shipped', user_id: 'user-0', data: {} },
    }
    await s.store.deadLetters.countFailure(failed, 5, clock.now())
    await s.call('POST', '/v1/dead-letters/replay', { limit: 1 })
    await s.store.devices.markDead('user-0', `token-${day} of user-0`, clock.now(), 'Unregistered')
  }
  const advance = (ms: number) => {
    t.mock.timers.setTime(Date.now() + ms)
    clock.advance(ms)
  }
  const settled = async () => {
    for (const minutes of [2, 10]) {
      advance(minutes * 60_000)
      for (const worker of s.notify.workers) worker.resume()
      await eventually(
        async () => {
          for (const worker of s.notify.workers) worker.resume()
          const counts = await rowCounts(s.database)
          return [...passing].filter((table) => (counts[table] ?? 0) > 0)
        },
        (left) => minutes === 2 || left.length === 0,
      )
    }
  }
  const emailOf = async ({ deliveries }: { deliveries: ReadonlyArray<{ channel: string; id: string }> }) =>
    deliveries.find(({ channel }) => channel === 'email')?.id ?? assert.fail('no email')

  const peaks = new Map<string, number>()
  let month: Record<string, number> = {}
  for (let day = 0; day < yearDays; day += everyDays) {
    await liveADay(day)
    await settled()
    for (const [table, count] of Object.entries(await rowCounts(s.database)))
      peaks.set(table, Math.max(peaks.get(table) ?? 0, count))
    advance(everyDays * dayMs - 12 * 60_000)
    while ((await s.store.privacy.purge(0, retention, clock.now())) > 0);
    const loggedBefore = clock.now() - retention.stateChangeDays * dayMs
    while ((await s.store.stateChanges.purge(loggedBefore, true, 1_000)) > 0);
    if (day <= 2 * maxKeptDays) month = await rowCounts(s.database)
  }
  const year = await rowCounts(s.database)
  t.diagnostic(JSON.stringify(year))
  for (const { table } of notifyTables) {
    if (registers.has(table)) continue
    const [early = 0, late = 0] = [month[table], year[table]]
    assert.ok(late <= early, `${table}: ${early} rows after two months, ${late} after the year`)
    if (!passing.has(table) && !unused.has(table)) assert.ok((peaks.get(table) ?? 0) > 0, `${table} was used`)
  }
  assert.ok((year.device ?? 0) <= 3 * regulars + yearDays / everyDays + 1, 'as many devices as their users may have')
  assert.equal(year.push_token, year.device)
  // everybody leaves: nothing but the registers stays
  advance(400 * dayMs)
  while ((await s.store.privacy.purge(0, retention, clock.now())) > 0);
  while ((await s.store.stateChanges.purge(clock.now() - retention.stateChangeDays * dayMs, true, 1_000)) > 0);
  const left = Object.entries(await rowCounts(s.database)).filter(([table, n]) => n > 0 && !registers.has(table))
  assert.deepEqual(left, [])
}
