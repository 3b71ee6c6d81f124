import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { revocationTimes } from '../../src/model/grants/revocation-times.ts'
import { defaultScopes } from '../../src/model/management-roles.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { PostgresManagementRoles } from '../../src/postgres/users/management-roles.ts'
import { getTokens } from '../support/journey.ts'
import { administrators, call, clientToken, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { type Running, setup } from '../support/setup.ts'
import { slowDatabase } from '../support/slow-database.ts'

const secret = 'secret-0123456789abcdef'
const registrar = { client_id: 'registrar', client_secret: secret, scopes: ['admin:roles', 'read:accounts'] }

let running: Running
let owner: string
before(async () => {
  running = await setup({ declared: { clients: [consoleClient, registrar], users: [...administrators] } })
  owner = await tokenOf(running, 'gatehouse-owner')
})
after(() => running.close())

const send = (token: string, method: string, path: string, payload?: object) =>
  call(running, token, { method, url: `/admin/v1/${path}`, ...(payload === undefined ? {} : { payload }) })
const put = async (role: string, scopes: readonly string[]) => {
  const answer = await send(owner, 'PUT', `roles/${role}`, { scopes })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}
beforeEach(async () => {
  for (const role of ['gatehouse-support', 'gatehouse-auditor'] as const) await put(role, defaultScopes(role))
  // Tokens of the seconds after a role lost scopes are revoked too.
  running.clock.advance(7_000)
  owner = await tokenOf(running, 'gatehouse-owner')
})

const password = 'a long and quiet password'
const refresh = async (token: string) =>
  (await running.post('/token', { grant_type: 'refresh_token', refresh_token: token, client_id: 'console' })).body
const scopesOf = (body: Readonly<Record<string, unknown>>) => String(body.scope ?? '').split(' ')

test('a role lists the scopes that it can be changed to have, the owners none', async () => {
  const { body } = await send(owner, 'GET', 'roles')
  const items = body.items as { role: string; assignable_scopes: string[] }[]
  const assignable = Object.fromEntries(items.map(({ role, assignable_scopes: scopes }) => [role, scopes]))
  assert.deepEqual(assignable['gatehouse-owner'], [])
  const scopes = assignable['gatehouse-auditor'] ?? []
  assert.ok(scopes.includes('admin:users'), scopes.join())
  await put('gatehouse-auditor', scopes)
  for (const scope of ['admin:roles', 'admin:connections']) {
    assert.ok(!scopes.includes(scope), scope)
    const { status } = await send(owner, 'PUT', 'roles/gatehouse-auditor', { scopes: [...scopes, scope] })
    assert.equal(status, 422, scope)
  }
})

test('a role allows what it was changed to, in new tokens and at a refresh', async () => {
  const scope = 'openid offline_access read:accounts write:sessions read:audit'
  const sara = { client: 'console', scope, user: ['support', password] as [string, string] }
  const before = await getTokens(running, sara)
  assert.deepEqual(scopesOf(before).toSorted(), ['offline_access', 'openid', 'read:accounts', 'write:sessions'])
  const changed = await put('gatehouse-support', ['read:accounts', 'read:audit'])
  assert.deepEqual(changed.granted_scopes, ['read:accounts', 'read:audit'])
  const after = await refresh(before.refresh_token ?? '')
  assert.deepEqual(scopesOf(after).toSorted(), ['offline_access', 'openid', 'read:accounts'])
  running.clock.advance(7_000)
  const fresh = await getTokens(running, sara)
  assert.deepEqual(scopesOf(fresh).toSorted(), ['offline_access', 'openid', 'read:accounts', 'read:audit'])
  assert.equal((await send(fresh.access_token ?? '', 'GET', 'audit-events')).status, 200)
})

test('a scope that a role loses is gone from issued tokens at once, and they are revoked', async () => {
  const token = await tokenOf(running, 'gatehouse-auditor')
  assert.equal((await send(token, 'GET', 'users')).status, 200)
  await put('gatehouse-auditor', ['read:audit'])
  assert.notEqual((await send(token, 'GET', 'users')).status, 200)
  const { rows } = await running.database.query<{ subject: string }>(
    'SELECT subject FROM identity.revocation WHERE subject IS NOT NULL ORDER BY position DESC LIMIT 1',
  )
  assert.deepEqual(rows, [{ subject: 'auditor' }])
})

test('tokens issued until a narrower role is stored are revoked, however long that waited', async () => {
  const { database, clock } = running
  const change = { role: 'gatehouse-auditor', scopes: ['read:audit'], expected: undefined, narrows: true } as const
  const expected = (await postgresIdentityStore(database).managementRoles.listChanged()).get(change.role)
  const times = () => revocationTimes({ clock })
  const roles = new PostgresManagementRoles(slowDatabase(database, clock).database)
  assert.equal(await roles.change({ ...change, expected }, times), 'changed')
  const token = { grantId: '00000000-0000-7000-8000-000000000000', subject: 'auditor', clientId: 'console' }
  const isRevoked = (after: number) =>
    postgresIdentityStore(database).revocations.isRevoked({
      ...token,
      issuedAt: Math.floor((clock.now() + after) / 1000),
    })
  assert.deepEqual([await isRevoked(0), await isRevoked(6_000)], [true, false])
})

test('a role that only gets scopes revokes nothing', async () => {
  const count = async () => (await running.database.query('SELECT 1 FROM identity.revocation')).rowCount
  const before = await count()
  await put('gatehouse-support', [...defaultScopes('gatehouse-support'), 'read:audit'])
  assert.equal(await count(), before)
})

test('nobody gives a role what they lack, changes the owners, or makes others owners by it', async () => {
  const token = await clientToken(running, 'registrar', secret)
  assert.equal((await send(token, 'PUT', 'roles/gatehouse-support', { scopes: ['read:accounts'] })).status, 403)
  assert.equal((await send(owner, 'PUT', 'roles/gatehouse-owner', { scopes: [] })).status, 409)
  assert.equal((await send(owner, 'PUT', 'roles/gatehouse-boss', { scopes: [] })).status, 404)
  for (const scope of ['admin:roles', 'admin:connections', 'orders:read', 'write:notifications', 'write:audit']) {
    const refused = await send(owner, 'PUT', 'roles/gatehouse-support', { scopes: ['read:accounts', scope] })
    assert.equal(refused.status, 422, scope)
    assert.deepEqual((refused.body.errors as { pointer: string }[])[0]?.pointer, '/scopes/1')
  }
})

test('an administrator whose role got more is changed by those only who have it too', async () => {
  const { management } = running.identity
  await management.createUser({ id: 'helper', password, email: 'helper@staff.example' })
  await management.changeRole('helper', { role: 'gatehouse-support', granted: true })
  await put('gatehouse-support', ['read:accounts', 'admin:audit'])
  const operator = await tokenOf(running, 'gatehouse-operator')
  assert.equal((await send(operator, 'PATCH', 'users/helper', { plan: 'pro' })).status, 403)
  await put('gatehouse-support', ['read:accounts'])
  assert.equal((await send(operator, 'PATCH', 'users/helper', { plan: 'pro' })).status, 200)
})
