import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, manualClock, silentLog } from '@gatehouse/kit'
import { Agenda } from '../../../src/agenda/agenda.ts'
import { defaultOptions } from '../../../src/config/options.ts'
import { startRetentionWorker } from '../../../src/privacy/retention.ts'
import { notifyDatabase } from '../../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore } from '../../support/engine/engine.ts'
import { eventually } from '../../support/setup.ts'

const day = 86_400_000
const kept = 2_500

test('the retention worker purges batch by batch, then rests until it is triggered', async (t) => {
  const database = await notifyDatabase()
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 2 })
  const clock = manualClock(Date.parse('2026-06-01T12:00:00Z'))
  for (const [bucket, at] of [
    [0, '2026-06-01'],
    [1, '2026-06-11'],
  ])
    await database.query(
      `INSERT INTO notify.dedup_log (bucket, user_id, key_hash, notification_id, has_delivery, recorded_at)
       SELECT $1, 'user-' || n, md5('k')::uuid, '01000000-0000-7000-8000-000000000000', true, $2::timestamptz FROM generate_series(1, $3::int) AS n`,
      [bucket, at, kept],
    )
  const left = async () => (await database.query('SELECT 1 FROM notify.dedup_log')).rowCount
  const removedCounts: number[] = []
  const log = {
    ...silentLog,
    info: (about: { removed: number }) => removedCounts.push(about.removed),
  } as unknown as Log
  const { privacy, stateChanges } = postgresNotifyStore(database, { buckets: 2 })
  const retention = { ...defaultOptions.retention, logDays: 5 }
  const agenda = new Agenda({ sweepMs: day })
  agenda.own([0, 1])
  const worker = startRetentionWorker({
    privacy,
    stateChanges,
    publishes: false,
    agenda,
    retention,
    clock,
    log,
  })
  t.after(() => worker.stop())
  clock.advance(6 * day)
  agenda.hint([0, 1])
  worker.resume()
  assert.equal(await eventually(left, (rows) => rows <= kept), kept)
  clock.advance(10 * day)
  agenda.hint([0, 1])
  worker.resume()
  assert.equal(await eventually(left, (rows) => rows === 0), 0)
  await worker.stop()
  assert.ok(
    removedCounts.every((removed) => removed <= 2_000),
    `in small batches: ${removedCounts}`,
  )
  assert.equal(
    removedCounts.reduce((sum, removed) => sum + removed, 0),
    2 * kept,
  )
})
