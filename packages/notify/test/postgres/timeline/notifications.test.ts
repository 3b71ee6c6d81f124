import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { bucketOfUser, newIdBeside } from '../../../src/model/id.ts'
import { postgresNotifications } from '../../../src/postgres/timeline/notifications.ts'
import { testBuckets } from '../../support/engine/engine.ts'
import { seedEventType, setup } from '../../support/setup.ts'

const endDelivery = `
UPDATE notify.delivery SET state = 'failed', ended = 'dead_letter' WHERE bucket = $1 AND user_id = 'alice'`
const addEntry = `
INSERT INTO notify.timeline_entry (bucket, notification_id, id, channel, at, entry_type, state)
VALUES ($1, $2, $3, 'email', now(), 'dead_letter', 'failed')`

test('a notification is read as it was at one time, whatever ends meanwhile', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
  const { id } = (await s.call('POST', '/v1/notify', shipped)).body
  const bucket = bucketOfUser('alice', testBuckets)
  const end = () =>
    s.database.transaction(async (tx) => {
      await tx.query(endDelivery, [bucket])
      await tx.query(addEntry, [bucket, id, newIdBeside(id)])
    })
  /** Ends the delivery after the first statement that has read it. */
  let hasEnded = false
  const ending: Database = Object.create(s.database, {
    query: {
      value: async (...args: Parameters<Database['query']>) => {
        const result = await s.database.query(...args)
        if (!hasEnded && String(args[0]).includes('notify.delivery')) {
          hasEnded = true
          await end()
        }
        return result
      },
    },
  })
  const read = async (database: Database) => {
    const found = await postgresNotifications(database, testBuckets).find(id)
    return {
      ended: found?.deliveries.some(({ ended }) => ended === 'dead_letter'),
      entry: found?.timeline.some(({ what }) => what === 'dead_letter'),
    }
  }
  assert.deepEqual(await read(ending), { ended: false, entry: false })
  assert.deepEqual(await read(s.database), { ended: true, entry: true })
})
