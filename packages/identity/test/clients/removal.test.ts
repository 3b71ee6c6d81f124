/** Tokens that a client gets while its deletion waits for others. */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import { service, setup } from '../support/setup.ts'

const opaque = { ...service, client_id: 'opaque', access_token_format: 'opaque' as const }
const watcher = { client_id: 'watcher', client_secret: 'watcher-secret-0123456', may_introspect: true }

/** Deletes a client whose row another transaction holds, and does something else before that one ends. */
async function whileItWaits<T>(
  database: Database,
  id: string,
  remove: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = database.transaction(async (tx) => {
    await tx.query('SELECT 1 FROM identity.client WHERE id = $1 FOR UPDATE', [id])
    locked.resolve()
    await release.promise
  })
  await Promise.race([locked.promise, holding])
  let isRemoved = false
  const removing = remove().finally(() => {
    isRemoved = true
  })
  try {
    while (!isRemoved && (await database.query(waits)).rowCount === 0) await nextTurn()
    assert.equal(isRemoved, false, 'the deletion waits')
    return await work()
  } finally {
    release.resolve()
    await Promise.all([holding, removing])
  }
}

testWith('postgresql', 'a client gets no working token while its deletion waits for others', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 5)
  try {
    const running = await setup({ declared: { clients: [service, opaque, watcher] }, background: false }, database)
    try {
      for (const { client_id, client_secret } of [service, opaque]) {
        const remove = () => running.identity.management.deleteClient(client_id)
        const { status, body } = await whileItWaits(database, client_id, remove, async () => {
          running.clock.advance(30_000)
          return running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
        })
        assert.equal(status, 200, 'the client is not deleted yet')
        const { may_introspect: _, ...credentials } = watcher
        const introspected = await running.post('/introspect', { token: String(body.access_token), ...credentials })
        assert.deepEqual(introspected.body, { active: false }, client_id)
      }
    } finally {
      await running.close()
    }
  } finally {
    await database.close()
    await server.stop()
  }
})
