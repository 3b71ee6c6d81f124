import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Log, silentLog } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import type { Provider } from '../../../src/index.ts'
import { bucketOfUser } from '../../../src/model/id.ts'
import { eventually, seedEventType, setup } from '../../support/setup.ts'

const buckets = 8
const failing = 3
const users = Array.from({ length: 64 }, (_, n) => `user-${n}`)
const inFailing = users.filter((user) => bucketOfUser(user, buckets) === failing)
const inOthers = users.filter((user) => bucketOfUser(user, buckets) !== failing)

/** As where the one node is away that has a bucket: nothing of it can be claimed. */
const failSql = `
CREATE FUNCTION notify.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no such luck'; END $$;
CREATE TRIGGER fail BEFORE UPDATE ON notify.delivery_queue FOR EACH ROW WHEN (OLD.bucket = ${failing}) EXECUTE FUNCTION notify.fail();
CREATE TRIGGER fail BEFORE UPDATE ON notify.scheduled FOR EACH ROW WHEN (OLD.bucket = ${failing}) EXECUTE FUNCTION notify.fail()`

describe('a bucket whose statements fail', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'a failing bucket stops no other, is repeated at intervals, and recovers', async (t) => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const sent: string[] = []
    const provider: Provider = {
      name: 'post',
      channel: 'email',
      timeoutMs: 1_000,
      send: async (messages) =>
        messages.map(({ userId }) => {
          sent.push(userId)
          return { kind: 'accepted' as const }
        }),
    }
    let failures = 0
    const log = { ...silentLog, error: () => failures++ } as unknown as Log
    const s = await setup({ database, tables: { buckets }, providers: { email: [provider] }, log })
    t.after(s.close)
    // Accepted by a process without workers, so that nothing is handed over without a claim.
    const producer = await setup({ database, tables: { buckets }, clock: s.clock, work: false })
    t.after(() => producer.notify.stop())
    await seedEventType(s)
    const recipients = users.map((user_id) => ({ user_id, email: `${user_id}@example.com` }))
    await s.call('PUT', '/v1/recipients', { recipients })
    await database.query(failSql)
    const eventOf = (user_id: string) => ({
      event: 'order.shipped',
      user_id,
      data: { order_id: 'A-1' },
      channels: ['email'],
    })
    for (const user of users) await producer.call('POST', '/v1/notify', eventOf(user))
    const fire_at = new Date(s.clock.now() + 1_000).toISOString()
    for (const user of users) await s.call('POST', '/v1/scheduled', { fire_at, payload: eventOf(user) })
    s.clock.advance(1_000)
    await eventually(
      async () => sent.length,
      (count) => count >= 2 * inOthers.length,
    )
    assert.deepEqual(new Set(sent), new Set(inOthers))
    await eventually(
      async () => failures,
      (count) => count >= 2,
    )
    assert.ok(failures < 20, 'it is not repeated all the time')
    await database.query('DROP FUNCTION notify.fail CASCADE')
    await eventually(
      async () => sent.length,
      (count) => count === 2 * users.length,
    )
    assert.deepEqual(sent.filter((user) => inFailing.includes(user)).length, 2 * inFailing.length)
  })
})
