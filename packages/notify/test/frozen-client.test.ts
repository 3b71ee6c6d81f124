import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, startSilentProxy, testWith } from '@gatehouse/testing'
import type { AdmissionUnit } from '../src/admission.ts'
import { newId } from '../src/ids.ts'
import { migrateNotify, postgresNotifyStore } from '../src/postgres/index.ts'

const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }
const now = Date.parse('2026-06-01T12:00:00Z')
/** Large enough that a batch leaves in many packets. */
const users = Array.from({ length: 60 }, (_, n) => `user-${n}`)
const batch = (key: string) => users.map((userId) => unit(userId, key))

/**
 * A process is stopped, or its network is cut, after any byte that it sends. Nothing on the server's side ends its
 * transaction within the test: the other one fails on its first wait for a lock.
 */
describe('a client that falls silent while it admits', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'holds up no other admission of its users, at whatever byte it was cut off', async () => {
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
      const { intake } = postgresNotifyStore(whole)
      for (const key of ['first-aa', 'first-bb']) await intake.admit(0, batch(key), rules, now)
      const start = proxy.sent
      await intake.admit(0, batch('first-cc'), rules, now)
      const bytes = proxy.sent - start
      await whole.close()
      const doomed: Array<{ readonly database: Database; readonly lost: Promise<string> }> = []
      for (const [index, cut] of cuts(bytes).entries()) {
        const place = index + 10
        const muted = await throughProxy()
        const prepared = postgresNotifyStore(muted)
        await prepared.intake.admit(0, batch(`first-${place}`), rules, now)
        const silent = proxy.silenceAfter(cut)
        const lost = prepared.intake.admit(0, batch(`broke-${place}`), rules, now).then(
          () => 'answered',
          () => 'lost',
        )
        await Promise.race([silent, lost])
        const units = batch(`after-${place}`)
        const admitted = await postgresNotifyStore(patient).intake.admit(0, units, rules, now)
        assert.equal(admitted.flat().length, units.length, `cut off after ${cut} of ${bytes} bytes`)
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
