import assert from 'node:assert/strict'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { startPostgres, testWith } from '@gatehouse/testing'
import { defaultOptions } from '../../../src/config/options.ts'
import { deliveryIdOf, newIdOfUser } from '../../../src/model/id.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'
import { lockWaits } from '../../support/processes/lock-waits.ts'
import { eventually } from '../../support/setup.ts'

const { retention } = defaultOptions
const dayMs = 86_400_000
const user = 'alice'

/** An old notification of which nothing is left but a dead letter that was never written. */
async function addUnwritten(database: Database): Promise<void> {
  const id = newIdOfUser(user)
  await database.query(
    `INSERT INTO notify.notification (bucket, id, user_id, event, priority, sensitive, data, decisions, accepted_at)
     VALUES (0, $1, $2, 'e', 'normal', false, '{}', '[]', now())`,
    [id, user],
  )
  await database.query(
    `INSERT INTO notify.dead_letter (bucket, id, notification_id, user_id, channel, event, cause, detail, died_at)
     VALUES (0, $2, $1, $3, 'email', 'e', 'render', 'd', now() + interval '1 year')`,
    [id, deliveryIdOf(id, 'email'), user],
  )
}

async function countOf(database: Database, table: string): Promise<number | undefined> {
  const { rows } = await database.query<{ n: number }>(`SELECT count(*)::integer AS n FROM notify.${table}`)
  return rows[0]?.n
}

testWith('postgresql', 'a replay beside a purge has its notification, or leaves the letter', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const database = await openPostgres({ url: new Secret(server.url), log: silentLog, connections: 6 })
  t.after(() => database.close())
  await migrateNotify(database, { buckets: 1 })
  const now = Date.now() + (retention.notificationDays + 1) * dayMs
  for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
    await addUnwritten(database)
    const barrier = createBarrier(place)
    const replaying = postgresNotifyStore(withBarrier(barrier, database)).deadLetters.replay({}, 10, now)
    await Promise.race([barrier.reached, replaying])
    let isPurged = false
    const purged = postgresNotifyStore(database)
      .privacy.purge(0, retention, now)
      .then(() => {
        isPurged = true
      })
    await eventually(
      async () => isPurged || (await lockWaits(database)) > 0,
      (isThere) => isThere,
    )
    barrier.lift()
    const [{ replayed }] = await Promise.all([replaying, purged])
    last = barrier.passes
    const where = `the replay was stopped before statement ${place}`
    const left = { deferred: await countOf(database, 'deferred'), letters: await countOf(database, 'dead_letter') }
    if (replayed === 0) assert.deepEqual(left, { deferred: 0, letters: 1 }, where)
    else {
      assert.deepEqual(left, { deferred: 1, letters: 0 }, where)
      assert.equal(await countOf(database, 'notification'), 1, where)
    }
    for (const table of ['deferred', 'dead_letter', 'notification', 'timeline_entry'])
      await database.query(`DELETE FROM notify.${table}`)
  }
})
