import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { testWith } from '@gatehouse/testing'
import { deliveryIdOf, newIdOfUser } from '../../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { writeChanges } from '../../../src/postgres/timeline/outbox.ts'
import { buffersOf, startExplainingPostgres } from '../../support/engine/explain-plans.ts'

const changes = 1_000
const limit = 100

testWith('postgresql', 'a page out of a large row of changes unpacks that row once, not for each change', async (t) => {
  const { server, database, ran } = await startExplainingPostgres()
  t.after(async () => {
    await database.close()
    await server.stop()
  })
  await migrateNotify(database)
  const { stateChanges } = postgresNotifyStore(database, { streaming: true })
  // Users that no compression makes short.
  const written = Array.from({ length: changes }, () => {
    const userId = randomBytes(150).toString('hex')
    const deliveryId = deliveryIdOf(newIdOfUser(userId), 'email')
    return { deliveryId, userId, channel: 'email', event: 'order.shipped', state: 'sent', at: Date.now() } as const
  })
  for (const query of writeChanges({ count: 1, bucket: 0 }, written)) await database.query(query)
  assert.equal(await stateChanges.number([0], 1, Date.now()), changes)
  const { rows } = await database.query<{ pages: number }>(
    "SELECT (pg_total_relation_size('notify.state_change') / 8192)::integer AS pages",
  )
  const pages = rows[0]?.pages ?? 0
  for (let after = 0; after < changes; after += limit) {
    ran.length = 0
    const page = await stateChanges.read(after, limit, {})
    assert.deepEqual(
      page.changes.map(({ sequence }) => sequence),
      Array.from({ length: limit }, (_, n) => after + n + 1),
    )
    assert.ok(buffersOf(ran) <= 4 * pages, `${buffersOf(ran)} pages were read of the ${pages} that the log has`)
  }
})
