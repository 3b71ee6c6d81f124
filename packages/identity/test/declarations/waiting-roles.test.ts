/** What the log says at a start about declared organizations with members who have a role that was not applied. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLog, type Database } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { setup } from '../support/setup.ts'

let database: Database
before(async () => {
  database = await memoryDatabase(migrateIdentity)
})
after(() => database.close())

const now = Date.now()
const end = { now, expiresAt: now }
const members = [{ user_id: 'ann', roles: ['owner', 'packer'] }]
const organizations = ['acme', 'beta', 'gamma'].map((id) => ({ id, members }))
const own = { organizationId: 'acme', key: 'packer', name: 'Own', permissions: [] }

/** Starts with these organizations, stops, and returns what the log named: roles and organizations. */
async function start(declared: readonly object[], permissions?: readonly string[]): Promise<unknown[]> {
  const named: unknown[] = []
  const write = (line: string) => {
    const { role, organization } = JSON.parse(line) as { role?: string; organization?: string }
    named.push(role ?? organization)
  }
  const organizationRoles = permissions === undefined ? [] : [{ key: 'packer', permissions }]
  const options = { users: [{ id: 'ann' }, { id: 'bob' }], organizations: declared, organizationRoles }
  await (await setup({ declared: options as never, log: createLog('warn', { write }) }, database)).close()
  return named
}

test('a start names the organizations of which a member waits for a role, and no others', async () => {
  const { organizationRoles, organizations: store, memberships } = postgresIdentityStore(database)
  assert.deepEqual(await start(organizations.map(({ id }) => ({ id }))), [])
  await organizationRoles.put(own, now)
  assert.deepEqual(await start(organizations, []), ['packer', 'acme', 'beta', 'gamma'])
  assert.deepEqual(await start(organizations, []), ['packer', 'acme', 'beta', 'gamma'], 'also while they are unchanged')

  const bob = { organizationId: 'beta', userId: 'bob', roles: ['owner'], now }
  assert.equal(await memberships.put({ ...bob, expected: undefined, messages: [] }), 'changed')
  const ann = { organizationId: 'beta', userId: 'ann', expected: undefined, messages: [] }
  assert.equal(await memberships.remove(ann, end), 'changed')
  assert.equal(await store.remove('gamma', end, undefined), 'changed')
  assert.deepEqual(await start(organizations, []), ['packer', 'acme'], 'one was deleted, and one lost the member')
})

test('a start names no organization whose member had a role before it began to wait', async () => {
  const { organizationRoles } = postgresIdentityStore(database)
  await organizationRoles.remove('acme', 'packer')
  assert.deepEqual(await start([{ id: 'delta', members }], []), [])
  await organizationRoles.remove(undefined, 'packer')
  await organizationRoles.put({ ...own, organizationId: 'delta' }, now)
  assert.deepEqual(await start([{ id: 'delta', members }], ['read:parcels']), ['packer'])
})
