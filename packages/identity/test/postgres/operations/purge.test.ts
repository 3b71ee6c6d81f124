import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresIdentityStore } from '../../../src/postgres/index.ts'
import { clients, getTokens, users, webSecret } from '../../support/journey.ts'
import { setup } from '../../support/setup.ts'

test('expired rows are removed, live ones stay, and a refreshed grant stays one row', async () => {
  const running = await setup({ declared: { clients, users } })
  const count = async () => {
    const tables = [
      'session',
      'grant_record',
      'authorization_code',
      'refresh_family',
      'device_code',
      'pushed_request',
      'revocation',
    ]
    const sums = tables.map((table) => `(SELECT count(*) FROM identity.${table})`).join(' + ')
    return (await running.database.query<{ n: number }>(`SELECT ${sums} AS n`)).rows[0]?.n
  }
  let { refresh_token = '' } = await getTokens(running)
  await running.post('/device_authorization', { client_id: 'tv' })
  const before = await count()
  for (let turn = 0; turn < 20; turn++) {
    const response = await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })
    refresh_token = String(response.body.refresh_token)
  }
  assert.equal(await count(), before)
  const { purge } = postgresIdentityStore(running.database)
  running.clock.advance(3 * 3600_000)
  await purge.purge(running.clock.now(), 0, 500)
  const alive = await running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })
  assert.equal(alive.status, 200, 'a live family keeps its grant')
  running.clock.advance(60 * 86_400_000)
  await purge.purge(running.clock.now(), running.clock.now(), 500)
  await purge.purge(running.clock.now(), running.clock.now(), 500)
  assert.equal(await count(), 0)
  const { rows } = await running.database.query<{ n: number }>('SELECT count(*) AS n FROM identity.audit_event')
  assert.equal(rows[0]?.n, 0)
  await running.close()
})
