import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import type { Provider } from '../../src/index.ts'
import { provider as base, shipped, stateOf } from '../support/providers/webhook-provider.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

/** On PostgreSQL: a trigger makes its statements fail, and a distributed table can have none. */
describe('steps are recorded beside the calls', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'the next call is made while the step after the last can not be recorded yet', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    const storing = holding(database)
    const called: string[] = []
    const provider: Provider = {
      ...base,
      async send(messages, signal) {
        called.push(...messages.map(({ id }) => id))
        if (called.length === 1) await storing.hold()
        else storing.release()
        return base.send(messages, signal)
      },
    }
    const s = await setup({
      database,
      providers: { email: [provider] },
      options: { concurrency: { push: 1, email: 1, sms: 1, 'in-app': 1 } },
    })
    try {
      await seedEventType(s)
      const ids = await Promise.all(
        ['A-1', 'A-2'].map(
          async (order_id) => (await s.call('POST', '/v1/notify', { ...shipped, data: { order_id } })).body.id,
        ),
      )
      for (const id of ids)
        await eventually(
          () => stateOf(s, id),
          (state) => state === 'sent',
        )
      assert.equal(called.length, 2, 'each was handed to the provider once')
    } finally {
      storing.release()
      await s.close()
    }
  })

  for (const state of ['53100', '53300', '57014', 'XX000', '42P01'])
    testWith(
      'postgresql',
      `a mail whose recording fails with SQLSTATE ${state} is recorded later and sent once`,
      async () => {
        const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
        const called: string[] = []
        const provider: Provider = {
          ...base,
          async send(messages, signal) {
            called.push(...messages.map(({ id }) => id))
            return base.send(messages, signal)
          },
        }
        const s = await setup({ database, providers: { email: [provider] }, options: { leaseMs: 10_000 } })
        try {
          await seedEventType(s)
          await failingDeletes(database, state, 3)
          const { body } = await s.call('POST', '/v1/notify', shipped)
          await eventually(
            () => stateOf(s, body.id),
            (found) => found === 'sent',
          )
          const { rows } = await database.query<{ failures: number }>('SELECT last_value AS failures FROM failures')
          assert.equal(called.length, 1, 'it was handed to the provider once')
          assert.ok((rows[0]?.failures ?? 0) > 3, 'recording failed three times before')
        } finally {
          await s.close()
        }
      },
    )
})

/** The next `count` times that a delivery is removed from the queue fail with `state`. */
async function failingDeletes(database: Database, state: string, count: number): Promise<void> {
  await database.query(`
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('failures') <= ${count} THEN RAISE EXCEPTION 'injected' USING ERRCODE = '${state}'; END IF;
      RETURN OLD;
    END $$;
    CREATE TRIGGER failing BEFORE DELETE ON notify.delivery_queue FOR EACH ROW EXECUTE FUNCTION fail()`)
}

/** Keeps the rows of all queued deliveries locked, so that no step can be recorded. */
function holding(database: Database) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  return {
    release,
    async hold() {
      const { promise: isLocked, resolve: confirm } = Promise.withResolvers<void>()
      database.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM notify.delivery_queue FOR UPDATE')
        confirm()
        await released
      })
      await isLocked
    },
  }
}
