import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NotifyStore } from '../../src/index.ts'
import { bucketOfUser, newIdOfUser } from '../../src/model/id.ts'
import { postgresNotifyStore, testBuckets } from '../support/engine/engine.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const hour = 3_600_000
const caps = { total: 1_000_000, channels: {}, priorities: {} }

test('a restarted service fires everything due once, oldest first, at most 1,000 at a time', async (t) => {
  const due = 2_300
  const down = await setup({ work: false })
  await seedEventType(down)
  const firstAt = down.clock.now() + hour
  await down.database.query(
    `INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload)
     SELECT $3, ('01000000-0000-7000-8000-' || lpad(n::text, 7, '0') || '0' || $4::text)::uuid, 'alice', $1::timestamptz + n * interval '1 second',
            jsonb_build_object('event', 'order.shipped', 'user_id', 'alice', 'channels', '["in-app"]'::jsonb,
                               'data', jsonb_build_object('order_id', n))
       FROM generate_series(1, $2::int) AS n`,
    [new Date(firstAt).toISOString(), due, bucketOfUser('alice', testBuckets), newIdOfUser('alice').slice(-4)],
  )
  down.clock.advance(24 * hour)
  const claims: number[][] = []
  const kept = postgresNotifyStore(down.database)
  const watched: NotifyStore = {
    ...kept,
    waiting: {
      ...kept.waiting,
      async claimScheduled(...args) {
        const found = await kept.waiting.claimScheduled(...args)
        if (found.length > 0) claims.push(found.map(({ fireAt }) => fireAt))
        return found
      },
    },
  }
  const up = await setup({ database: down.database, clock: down.clock, store: watched, options: { caps } })
  // The database last: what is under way is recorded before a worker stops.
  t.after(async () => {
    await up.notify.stop()
    await down.close()
  })
  await eventually(
    () => down.database.query('SELECT 1 FROM notify.scheduled'),
    ({ rowCount }) => rowCount === 0,
  )
  assert.deepEqual(
    claims.map(({ length }) => length),
    [1_000, 1_000, 300],
  )
  assert.deepEqual(claims.flat(), claims.flat().toSorted())
  const { rows } = await down.database.query<{ order: string }>(
    `SELECT data->>'order_id' AS "order" FROM notify.notification`,
  )
  assert.deepEqual([rows.length, new Set(rows.map(({ order }) => order)).size], [due, due])
})
