import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { NotifyStore, Provider, SendResult } from '../../src/index.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore } from '../support/engine/engine.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const pushes = 400
const openMs = 10_000
const options = {
  caps: { total: 1_000_000, channels: {}, priorities: {} },
  breaker: { windowMs: 60_000, minCalls: 20, failureRate: 0.5, openMs, maxOpenMs: 4 * openMs },
  backoff: { baseMs: 1_000, factor: 1, maxMs: 1_000 },
  concurrency: { push: 20, email: 20, sms: 20, 'in-app': 20 },
}
const accepted: SendResult = { kind: 'accepted' }

/** A provider that accepts calls and never answers them, until it is fixed. */
function hanging(name: string, carries?: Provider['supports']) {
  const state = { isFixed: false, calls: 0 }
  const provider: Provider = {
    name,
    channel: 'push',
    timeoutMs: 50,
    ...(carries ? { supports: carries } : {}),
    send(messages) {
      state.calls += messages.length
      return state.isFixed ? Promise.resolve(messages.map(() => accepted)) : new Promise(() => {})
    },
  }
  return { state, provider }
}

interface Rows {
  claims: number
  claimed: number
  released: number
}

/** A store that counts what is claimed, and what is released. */
function counting(store: NotifyStore, rows: Rows): NotifyStore {
  const { deliveries } = store
  return {
    ...store,
    deliveries: {
      ...deliveries,
      async claim(...options) {
        const claimed = await deliveries.claim(...options)
        rows.claims++
        rows.claimed += claimed.deliveries.length
        return claimed
      },
      async release(claimed, ...when) {
        rows.released += claimed.length
        return deliveries.release(claimed, ...when)
      },
    },
  }
}

async function setupPush(t: TestContext, providers: readonly Provider[], more: object = {}) {
  const rows: Rows = { claims: 0, claimed: 0, released: 0 }
  const database = await notifyDatabase()
  await migrateNotify(database)
  const store = counting(postgresNotifyStore(database), rows)
  const s = await setup({ database, store, providers: { push: providers }, options: { ...options, ...more } })
  t.after(s.close)
  await seedEventType(s, 'order.shipped', { channels: ['push'] })
  return { s, rows }
}

const order = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }
const accept = (s: Setup, count: number = pushes) => s.notify.accept(Array.from({ length: count }, () => order))

async function count(s: Setup, what: string): Promise<number> {
  const { rows } = await s.database.query<{ count: number }>(`SELECT count(*) AS count FROM notify.${what}`)
  return rows[0]?.count ?? 0
}

const health = async (s: Setup) => {
  const { rows } = await s.database.query<{ open_until: number | null; openings: number; probe_until: number | null }>(
    'SELECT open_until, openings, probe_until FROM notify.provider_health',
  )
  return rows[0]
}

/** Waits until the breaker has opened so often, and no lease is left. */
const opened = (s: Setup, times: number) =>
  eventually(
    async () => ({
      openings: (await health(s))?.openings,
      leased: await count(s, 'delivery_queue WHERE lease_until IS NOT NULL'),
    }),
    ({ openings, leased }) => (openings ?? 0) >= times && leased === 0,
  )

test('an open breaker lets one delivery be claimed for each probe; timelines list calls alone', async (t) => {
  const { state, provider } = hanging('fcm')
  const { s, rows } = await setupPush(t, [provider])
  await accept(s)
  await opened(s, 1)
  const before = { ...rows, calls: state.calls, timeline: await count(s, 'timeline_entry') }
  assert.ok(before.calls <= 2 * options.concurrency.push, `${before.calls} calls until it opened`)
  assert.equal(before.timeline, before.calls, 'one entry for each call')
  const probes = 5
  for (let probe = 1; probe <= probes; probe++) {
    s.clock.set((await health(s))?.open_until ?? assert.fail('it is closed'))
    await opened(s, probe + 1)
  }
  const since = {
    calls: state.calls - before.calls,
    claimed: rows.claimed - before.claimed,
    released: rows.released - before.released,
    timeline: (await count(s, 'timeline_entry')) - before.timeline,
  }
  assert.deepEqual(since, { calls: probes, claimed: probes, released: 0, timeline: probes })

  state.isFixed = true
  s.clock.set((await health(s))?.open_until ?? assert.fail('it is closed'))
  await eventually(
    async () => {
      s.clock.advance(500)
      return count(s, "delivery WHERE state = 'sent'")
    },
    (sent) => sent === pushes,
  )
  const timeline = await count(s, 'timeline_entry')
  assert.ok(timeline <= pushes + before.timeline + probes, `${timeline} entries of ${pushes} deliveries`)
})

test('a hanging provider delays only its own deliveries, without timeline entries', async (t) => {
  const fcm = hanging('fcm', ({ service }) => service === 'fcm')
  const apns: Provider = {
    name: 'apns',
    channel: 'push',
    timeoutMs: 1_000,
    supports: ({ service }) => service === 'apns',
    send: async (messages) => messages.map(() => accepted),
  }
  const { s, rows } = await setupPush(t, [fcm.provider, apns])
  const device = (user: string, service: string) =>
    s.call('PUT', `/v1/users/${user}/devices/phone`, { token: `token-of-${user}`.padEnd(64, '0'), service })
  await device('alice', 'fcm')
  await device('bob', 'apns')
  await accept(s, 60)
  await opened(s, 1)
  const timeline = await count(s, 'timeline_entry')
  await accept(s)
  await s.notify.accept(Array.from({ length: 50 }, () => ({ ...order, user_id: 'bob' })))
  await eventually(
    () => count(s, "delivery WHERE state = 'sent'"),
    (sent) => sent === 50,
  )
  assert.equal(fcm.state.calls, timeline, 'only its calls are listed')
  assert.equal(await count(s, 'timeline_entry'), timeline, 'that a push was sent stands in its delivery')
  assert.ok(rows.claimed <= 2 * (60 + pushes + 50), `${rows.claimed} rows claimed`)
  const { rows: waiting } = await s.database.query<{ since: number; failures: number }>(
    "SELECT DISTINCT message->>'waitsSince' IS NOT NULL AS since, failures FROM notify.delivery_queue WHERE failures = 0",
  )
  assert.deepEqual(waiting, [{ since: true, failures: 0 }])
})

test('a delivery that waits too long for a hanging provider ends, though it was never claimed', async (t) => {
  const { provider, state } = hanging('fcm')
  const { s } = await setupPush(t, [provider], { pushPatienceMs: 120_000 })
  await accept(s, 100)
  await opened(s, 1)
  s.clock.advance(5_000)
  const tried = state.calls
  await eventually(
    async () => {
      s.clock.advance(2_000)
      return count(s, "dead_letter WHERE cause = 'waited_too_long'")
    },
    (dead) => dead >= 100 - tried - 10,
  )
  assert.equal(
    (await count(s, "deferred WHERE reason = 'fallback'")) > 0 ||
      (await count(s, "delivery WHERE channel = 'email'")) > 0,
    true,
  )
})
