import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Database, findDrift, StartError } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { identityDeclared, migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'
import { setup } from '../support/setup.ts'

let database: Database
before(async () => {
  database = await memoryDatabase(migrateIdentity)
})
after(() => database.close())

const users = [{ id: 'ann' }, { id: 'bob' }]
const acme = { id: 'acme', name: 'Acme Ltd', members: [{ user_id: 'ann', roles: ['owner', 'editor'] }] }
const editor = { key: 'editor', permissions: ['read:invoices'] }

/** Starts with these declarations, and stops. */
async function start(organizations: readonly object[], organizationRoles: readonly object[] = [editor]): Promise<void> {
  await (await setup({ declared: { users, organizations, organizationRoles } as never }, database)).close()
}

test('declared roles and organizations are created with their members', async () => {
  await start([acme])
  const store = postgresIdentityStore(database)
  const ann = await store.memberships.find('acme', 'ann')
  assert.deepEqual([ann?.organization.name, ann?.roles], ['Acme Ltd', ['editor', 'owner']])
})

test('an unchanged declaration does not overwrite later changes, and a changed one does', async () => {
  const store = postgresIdentityStore(database)
  const now = Date.now()
  await store.organizations.update('acme', { name: 'Renamed' }, { now, expiresAt: now }, { messages: [] })
  await store.memberships.put({
    organizationId: 'acme',
    userId: 'bob',
    roles: [],
    expected: undefined,
    now,
    messages: [],
  })
  await start([acme])
  assert.equal((await store.organizations.find('acme'))?.name, 'Renamed')
  await start([{ ...acme, require_mfa: true, members: [{ user_id: 'ann', roles: ['owner'] }] }])
  const changed = await store.organizations.find('acme')
  assert.deepEqual([changed?.name, changed?.requireMfa], ['Acme Ltd', true])
  assert.deepEqual((await store.memberships.find('acme', 'ann'))?.roles, ['owner'])
  assert.deepEqual((await store.memberships.find('acme', 'bob'))?.roles, [], 'others stay members')
})

test('a declared role differs from the file once it is changed or deleted', async () => {
  const store = postgresIdentityStore(database)
  const differing = async () =>
    (await findDrift(database, identityDeclared)).flatMap(({ kind, id }) => (kind === 'organization_role' ? id : []))
  await start([acme], [editor, { key: 'reader', permissions: [] }])
  assert.deepEqual(await differing(), [])
  const later = Date.now() + 60_000
  await store.organizationRoles.put({ organizationId: 'acme', key: 'own', name: 'Own', permissions: [] }, later)
  assert.deepEqual(await differing(), [])
  await store.organizationRoles.put({ organizationId: undefined, ...editor, name: 'Editors' }, later)
  await store.organizationRoles.remove(undefined, 'reader')
  assert.deepEqual(await differing(), ['editor', 'reader'])
})

const faults: readonly [name: string, organizations: readonly object[], roles: readonly object[], reason: RegExp][] = [
  ['a member without an account', [{ id: 'x', members: [{ user_id: 'nobody', roles: [] }] }], [], /no user nobody/],
  [
    'an unknown role',
    [{ id: 'x', members: [{ user_id: 'ann', roles: ['none'] }] }],
    [],
    /role of the member ann is unknown/,
  ],
  ['a management scope as a permission', [], [{ key: 'x', permissions: ['admin:users'] }], /management scope/],
  ['another definition of the owner', [], [{ key: 'owner', permissions: [] }], /owner is fixed/],
  ['an organization that is declared twice', [{ id: 'x' }, { id: 'x' }], [], /declared twice/],
]

for (const [name, organizations, roles, reason] of faults) {
  test(`${name} is an error at the start`, async () => {
    await assert.rejects(
      start(organizations, roles),
      (error) => error instanceof StartError && reason.test(error.message),
    )
  })
}
