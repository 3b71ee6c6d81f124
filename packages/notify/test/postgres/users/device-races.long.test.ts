import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, sqlState } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { bucketOfUser } from '../../../src/model/id.ts'
import { purgeDevices } from '../../../src/postgres/retention/purge-devices.ts'
import {
  type DatabaseServer,
  isDistributed,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
  testBuckets,
} from '../../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'
import { someoneWaits } from '../../support/processes/lock-waits.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const diedAt = now - 1_000
const layout = { count: testBuckets, distributed: isDistributed }

/** What happens to alice's dead phone and its token. */
const steps: Readonly<Record<string, (on: Database) => Promise<unknown>>> = {
  'a registration by another user': (on) =>
    postgresNotifyStore(on).devices.put('bob', { deviceId: 'tablet', token: 't1', service: 'fcm' }, now),
  'a registration with another token': (on) =>
    postgresNotifyStore(on).devices.put('alice', { deviceId: 'phone', token: 't2', service: 'fcm' }, now),
  'a removal': (on) => postgresNotifyStore(on).devices.remove('alice', 'phone'),
  'a purge': (on) =>
    purgeDevices(on, layout, {
      bucket: bucketOfUser('alice', testBuckets),
      deadBefore: new Date(now).toISOString(),
      limit: 10,
    }),
  'an erasure': (on) => postgresNotifyStore(on).privacy.eraseUser('alice'),
}
const names = Object.keys(steps)
const pairs = names.flatMap((first) => names.filter((each) => each !== first).map((second) => [first, second] as const))

describe('of a device and its token', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer({ settings: ['deadlock_timeout=20ms'] }).catch(() => undefined)
  })
  after(() => server?.stop())

  for (const [first = '', second = ''] of pairs)
    testWith('postgresql', `${first} and ${second} wait in one order`, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      const { devices, recipients } = postgresNotifyStore(database)
      try {
        for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
          await recipients.put([{ userId: 'alice', email: 'alice@example.com' }], now)
          await devices.put('alice', { deviceId: 'phone', token: 't1', service: 'fcm' }, diedAt - 1)
          await devices.markDead('alice', 't1', diedAt, 'Unregistered')
          const failures: unknown[] = []
          const barrier = createBarrier(place)
          const slow = steps[first]?.(withBarrier(barrier, noting(database, failures)))
          await Promise.race([barrier.reached, slow])
          const other = steps[second]?.(noting(database, failures))
          await Promise.race([other, someoneWaits(database)])
          barrier.lift()
          await Promise.all([slow, other])
          last = barrier.passes
          const where = `the first was stopped before statement ${place}`
          assert.deepEqual(
            failures.filter((state) => state === deadlock),
            [],
            where,
          )
          assert.deepEqual(await knownBy(database, 'device'), await knownBy(database, 'push_token'), where)
          for (const user of ['alice', 'bob']) await postgresNotifyStore(database).privacy.eraseUser(user)
        }
      } finally {
        await database.close()
      }
    })
})

/** SQLSTATE of a deadlock. */
const deadlock = '40P01'

/** A database that notes why transactions failed, those included that run again. */
function noting(database: Database, failures: unknown[]): Database {
  return {
    ...database,
    transaction: (work) =>
      database.transaction(async (tx) => {
        try {
          return await work(tx)
        } catch (error) {
          failures.push(sqlState(error))
          throw error
        }
      }),
  }
}

/** The devices that are known, or those whose tokens are: the two must be the same. */
async function knownBy(database: Database, table: 'device' | 'push_token'): Promise<string[]> {
  const tokenHash = table === 'device' ? "encode(sha256(convert_to(token, 'UTF8')), 'hex')" : 'token_hash'
  const { rows } = await database.query<{ known: string }>(
    `SELECT concat_ws(' ', user_id, device_id, ${tokenHash}) AS known FROM notify.${table}`,
  )
  return rows.map(({ known }) => known).sort()
}
