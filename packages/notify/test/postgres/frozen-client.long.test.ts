import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, startSilentProxy, testWith } from '@gatehouse/testing'
import { createAdmission } from '../../src/admission/admission.ts'
import type { AdmissionUnit } from '../../src/admission/planned.ts'
import { newId } from '../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../src/postgres/index.ts'
import type { NotifyStore, RateRequest } from '../../src/store/store.ts'

const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }
const now = Date.parse('2026-06-01T12:00:00Z')
/** Large enough that a batch leaves in many packets. */
const users = Array.from({ length: 60 }, (_, n) => `user-${n}`)
const batch = (key: string) => users.map((userId) => unit(userId, key))

interface Case {
  readonly title: string
  /** What the client is doing when it falls silent; the others do the same. */
  readonly work: (store: NotifyStore, key: string) => Promise<unknown>
}

const cases: readonly Case[] = [
  {
    title: 'holds up no other admission of its users, at whatever byte it was cut off',
    work: async ({ intake }, key) => {
      const units = batch(key)
      assert.equal((await intake.admit(units, createAdmission(rules, now))).flat().length, units.length)
    },
  },
  {
    title: 'holds up no other event of a type that has a rate, at whatever byte it was cut off',
    work: async ({ intake }, key) => {
      const granted = await intake.acquireRates(
        [rateRequest('order.shipped', key), rateRequest('order.paid', key)],
        now,
      )
      assert.deepEqual(granted.get('order.paid')?.granted, 1)
    },
  },
  {
    title: 'holds up no release of what is parked, at whatever byte it was cut off',
    work: async ({ intake, parked }, key) => {
      await intake.acquireRates([{ ...rateRequest('order.shipped', key), rate: { limit: 0, perSeconds: 60 } }], now)
      await parked.release(0, { event: 'order.shipped', rate }, 50, now)
    },
  },
]

/**
 * A process is stopped, or its network is cut, after any byte that it sends. Nothing on the server's side ends its
 * transaction within the test: the other one fails on its first wait for a lock.
 */
describe('a client that falls silent', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  for (const { title, work } of cases)
    testWith('postgresql', title, async () => {
      assert.ok(server, 'PostgreSQL did not start')
      const database = await postgresDatabase(server)
      const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
      await migrateNotify(database)
      const url = new URL(server.url)
      url.pathname = `/${rows[0]?.name}`
      const proxy = await startSilentProxy(Number(url.port))
      const patient = await opened(url, { lockMs: 1_000 })
      const throughProxy = () => {
        const muted = new URL(url)
        muted.port = String(proxy.port)
        return opened(muted, { statementMs: 3_000 })
      }
      try {
        const whole = await throughProxy()
        const store = postgresNotifyStore(whole)
        for (const key of ['first-aa', 'first-bb']) await work(store, key)
        const start = proxy.sent
        await work(store, 'first-cc')
        const bytes = proxy.sent - start
        await whole.close()
        const doomed: Array<{ readonly database: Database; readonly lost: Promise<string> }> = []
        for (const [index, cut] of cuts(bytes).entries()) {
          const place = index + 10
          const muted = await throughProxy()
          const prepared = postgresNotifyStore(muted)
          await work(prepared, `first-${place}`)
          const silent = proxy.silenceAfter(cut)
          const lost = work(prepared, `broke-${place}`).then(
            () => 'answered',
            () => 'lost',
          )
          await Promise.race([silent, lost])
          await assert.doesNotReject(
            work(postgresNotifyStore(patient), `after-${place}`),
            `cut off after ${cut} of ${bytes} bytes`,
          )
          doomed.push({ database: muted, lost })
        }
        for (const { database: muted, lost } of doomed) {
          assert.equal(await lost, 'lost')
          await muted.close()
        }
      } finally {
        await patient.close()
        await proxy.stop()
        await database.close()
      }
    })
})

const rate = { limit: 100_000, perSeconds: 60 }

/** One event whose producer waits for an answer, and some that may wait. */
function rateRequest(event: string, key: string): RateRequest {
  const request = { event, user_id: 'alice', data: { text: 'x'.repeat(2_000) } }
  const parkable = Array.from({ length: 40 }, (_, n) => ({
    key: `${event}:${key}:${n}`,
    place: n,
    request,
    occurredAt: now,
  }))
  return { event, count: 1, parkable, rate }
}

/** Evenly over the whole, and the last bytes one by one. */
function cuts(bytes: number): number[] {
  const even = Array.from({ length: 12 }, (_, n) => Math.round(((n + 1) * bytes) / 14))
  return [...even, ...[60, 16, 6, 5, 4, 1].map((left) => bytes - left), bytes]
}

function opened(url: URL, timeouts: { readonly lockMs?: number; readonly statementMs?: number }): Promise<Database> {
  const idleTransactionMs = 600_000
  return openPostgres({
    url: new Secret(url.href),
    log: silentLog,
    connections: 1,
    timeouts: { idleTransactionMs, ...timeouts },
  })
}

function unit(userId: string, key: string): AdmissionUnit {
  const message = {
    body: 'x'.repeat(2_000),
    locale: 'en',
    targets: [{ id: 'email', address: `${userId}@example.com` }],
  }
  return {
    notifications: [
      {
        id: newId(0),
        userId,
        event: 'order.shipped',
        data: {},
        priority: 'critical',
        acceptedAt: now,
        sensitive: false,
        decisions: [],
        deliveries: [{ channel: 'email', logKey: key, plan: { kind: 'send', message } }],
        stored: 'no',
      },
    ],
  }
}
