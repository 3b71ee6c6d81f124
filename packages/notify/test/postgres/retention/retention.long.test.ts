import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Database } from '@gatehouse/kit'
import type { Server } from '@gatehouse/testing'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { buffersOf, type RunStatement, startExplainingPostgres } from '../../support/engine/explain-plans.ts'

const dayMs = 86_400_000
const periodDays = 30
const rowsAPeriod = 4_000
const periods = 10
const retention = {
  notificationDays: periodDays,
  logDays: periodDays,
  deadLetterDays: periodDays,
  inboxDays: periodDays,
  deadDeviceDays: periodDays,
  linkDays: periodDays,
  stateChangeDays: periodDays,
}
const start = Date.UTC(2026, 0, 1)
const endOf = (period: number) => start + (period + 1) * periodDays * dayMs

describe('a retention that runs period after period', () => {
  let server: Server
  let database: Database
  let ran: RunStatement[]
  before(async () => {
    ;({ server, database, ran } = await startExplainingPostgres())
    await migrateNotify(database)
  })
  after(async () => {
    await database.close()
    await server.stop()
  })

  it('reads no more from period to period, and next to nothing where nothing is old', async (t) => {
    const { privacy } = postgresNotifyStore(database)
    const purged = async (now: number) => {
      ran.length = 0
      let removed = 0
      for (let batch = -1; batch !== 0; removed += batch) batch = await privacy.purge(0, retention, now)
      const buffers = buffersOf(ran)
      ran.length = 0
      assert.equal(await privacy.purge(0, retention, now), 0)
      return { removed, buffers, idle: buffersOf(ran), statements: [...ran] }
    }
    const found: Array<{ removed: number; buffers: number; idle: number }> = []
    for (let period = 0; period < periods + 2; period++) {
      await fill(database, endOf(period - 1))
      const before = await purged(endOf(period - 1))
      if (period > 1) found.push(before)
      const unindexed = before.statements.filter(({ Plan }) => JSON.stringify(Plan).includes('"Seq Scan"'))
      assert.deepEqual(
        unindexed.map(({ 'Query Text': text }) => text),
        [],
      )
      await database.query('VACUUM')
    }
    for (const [index, { removed, buffers, idle }] of found.entries())
      t.diagnostic(
        `period ${index + 2}: ${removed} removed, ${(buffers / removed).toFixed(1)} pages each; idle ${idle}`,
      )
    const [first, ...later] = found
    assert.ok(first && first.removed > 5 * rowsAPeriod)
    for (const { removed, buffers, idle } of later) {
      assert.ok(Math.abs(removed - first.removed) <= 10)
      assert.ok(buffers <= first.buffers * 1.2, `${buffers} pages after ${first.buffers}`)
      assert.ok(idle <= first.idle * 1.2, `an idle purge read ${idle} pages after ${first.idle}`)
    }
    assert.ok(first.idle <= 300, `an idle purge read ${first.idle} pages`)
  })

  it('looks at no notification before its rows are gone, however many wait', async (t) => {
    const { privacy } = postgresNotifyStore(database)
    const now = endOf(periods + 5)
    await fill(database, endOf(periods + 3))
    const others = [1, 3, 4].map((digit) => `overlay(id::text PLACING '${digit}' FROM 32)::uuid`)
    for (const other of others)
      await database.query(
        `INSERT INTO notify.delivery (bucket, id, user_id, channel, state)
         SELECT bucket, ${other}, user_id, 'push', 'sent' FROM notify.delivery WHERE id::text LIKE '%20000'`,
      )
    const read: number[] = []
    for (let removed = -1; removed !== 0; ) {
      ran.length = 0
      removed = await privacy.purge(0, retention, now)
      read.push(buffersOf(ran.filter(({ 'Query Text': text }) => text.includes('FROM notify.notification'))))
    }
    t.diagnostic(`pages read by each batch: ${read.join(' ')}`)
    assert.ok(read.length >= (4 * rowsAPeriod) / 1_000, 'the batches are of deliveries')
    assert.ok(Math.max(...read) <= 12_000, `${Math.max(...read)} pages were read by a batch`)
  })
})

/** What a period leaves: rows of every kind that ages, spread over it. */
async function fill(database: Database, from: number): Promise<void> {
  const at = `to_timestamp((${from} + n * ${Math.floor((periodDays * dayMs) / rowsAPeriod)}::bigint) / 1000.0)`
  const hex = `lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0')`
  const id = (digit: number) =>
    `(substr(${hex}, 1, 8) || '-' || substr(${hex}, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 7, '0') || '${digit}0000')::uuid`
  const user = "'user-' || (n * 7919 % 1000)"
  const inserts: Readonly<Record<string, string>> = {
    notification: `(bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at)
      SELECT 0, ${id(0)}, ${user}, 'e', 'normal', false, '{}', '[]', ${at}`,
    delivery: `(bucket, id, user_id, channel, state) SELECT 0, ${id(2)}, ${user}, 'email', 'sent'`,
    timeline_entry: `(bucket, notification_id, id, delivery_id, channel, at, entry_type)
      SELECT 0, ${id(0)}, ${id(0)}, ${id(2)}, 'email', ${at}, 'sent'`,
    dedup_log: `(bucket, user_id, key_hash, notification_id, has_delivery, recorded_at)
      SELECT 0, ${user}, md5('key-${from}-' || n)::uuid, ${id(0)}, true, ${at}`,
    inbox: `(bucket, user_id, id, event, body, created_at, position, changed)
      SELECT 0, ${user}, ${id(4)}, 'e', 'b', ${at}, ${from / 1000} + n, ${from / 1000} + n`,
    dead_letter: `(bucket, id, user_id, cause, detail, died_at) SELECT 0, ${id(2)}, ${user}, 'c', 'd', ${at}`,
    suppression: `(bucket, id, user_id, channel, address, reason, since, scope, expires_at)
      SELECT 0, ${id(0)}, ${user}, 'email', 'a-${from}-' || n, 'bounced', ${at}, '*', ${at} + interval '${periodDays} days'`,
  }
  for (const [table, insert] of Object.entries(inserts))
    await database.query(`INSERT INTO notify.${table} ${insert} FROM generate_series(1, ${rowsAPeriod}) AS n`)
  await database.query(
    `INSERT INTO notify.cap (bucket, user_id) SELECT 0, 'user-' || n FROM generate_series(0, 999) AS n ON CONFLICT DO NOTHING`,
  )
}
