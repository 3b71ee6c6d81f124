import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { administrators, call, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { type Running, setup } from '../support/setup.ts'

let running: Running
let owner: string
let support: string
before(async () => {
  running = await setup({ declared: { clients: [consoleClient], users: [...administrators] } })
  owner = await tokenOf(running, 'gatehouse-owner')
  support = await tokenOf(running, 'gatehouse-support')
})
after(() => running.close())

const search = async (key: string, token = support) => {
  const { status, body } = await call(running, token, {
    method: 'POST',
    url: '/admin/v1/api-keys/search',
    payload: { key },
  })
  const items = (body.items ?? []) as { name: string; matched: string }[]
  return { status, names: items.map(({ name, matched }) => `${name}: ${matched}`) }
}

test('a key is found by itself, also a replaced or expired one, and is not used by that', async () => {
  const { management } = running.identity
  const expires_at = new Date(running.clock.now() + 60_000).toISOString()
  const made = await management.createApiKey({ owner: 'owner', name: 'leaked', expires_at })
  const key = made.key ?? assert.fail('there is no key')
  assert.deepEqual(await search(key), { status: 200, names: ['leaked: current'] })
  const next = (await management.rotateApiKey(made.id, { overlap_seconds: 10 })).key ?? ''
  assert.deepEqual([(await search(key)).names, (await search(next)).names], [['leaked: previous'], ['leaked: current']])
  running.clock.advance(11_000)
  assert.deepEqual([(await search(key)).names, (await search(next)).names], [['leaked: expired'], ['leaked: current']])
  running.clock.advance(109_000)
  assert.deepEqual((await search(next)).names, ['leaked: expired'])
  const stored = await postgresIdentityStore(running.database).apiKeys.find(made.id)
  assert.equal(stored?.lastUsedAt, undefined)
  assert.deepEqual(await search(`gk_${'x'.repeat(43)}`), { status: 200, names: [] })
})

test('a part of a key is refused, and what is searched for is in no audit event', async () => {
  assert.equal((await search('gk_12345678')).status, 400)
  const key = `gk_${'y'.repeat(43)}`
  await search(key, owner)
  const { rows } = await running.database.query('SELECT 1 FROM identity.audit_event e WHERE e::text LIKE $1', [
    `%${key.slice(3)}%`,
  ])
  assert.deepEqual(rows, [])
})
