import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createLog, type Database, findDrift, type Log, StartError, silentLog } from '@gatehouse/kit'
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
async function start(
  organizations: readonly object[],
  organizationRoles: readonly object[] = [editor],
  { log = silentLog, connections = [] }: { readonly log?: Log; readonly connections?: readonly object[] } = {},
): Promise<void> {
  const declared = { users, organizations, organizationRoles, connections }
  await (await setup({ declared: declared as never, log }, database)).close()
}

/** A log, and the members of what was logged. */
function recordLog(): { readonly log: Log; readonly lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  return { log: createLog('warn', { write: (line) => void lines.push(JSON.parse(line)) }), lines }
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

test('a permission that a changed declaration leaves out stays with roles', async () => {
  const store = postgresIdentityStore(database)
  const clerk = { key: 'clerk', permissions: ['read:orders', 'write:orders'] }
  await start([acme], [editor, clerk])
  await start([acme], [editor, { ...clerk, permissions: ['read:orders'] }])
  const bob = await store.memberships.find('acme', 'bob')
  assert.deepEqual(bob?.permissions, [])
  assert.ok(bob.assignable.includes('write:orders'))
  assert.ok((await store.organizationRoles.listTemplatePermissions()).includes('write:orders'))
})

test('a template whose key a role of an organization has waits, and stops no start', async () => {
  const store = postgresIdentityStore(database)
  const manager = { organizationId: 'acme', key: 'manager', name: 'Manager', permissions: [] }
  await store.organizationRoles.put(manager, Date.now())
  const declared = [
    { key: 'manager', permissions: ['read:payroll'] },
    { key: 'planner', permissions: [] },
  ]
  const found = async (key: string) => (await store.organizationRoles.list('acme')).find((role) => role.key === key)
  const { log, lines } = recordLog()
  await start([acme], declared, { log })
  assert.deepEqual(
    lines.map(({ level, role, organizations }) => ({ level, role, organizations })),
    [{ level: 'error', role: 'manager', organizations: ['acme'] }],
  )
  assert.deepEqual(await found('manager'), manager, 'that of the organization stays')
  assert.ok(await found('planner'), 'the others are applied')
  const reserved = await store.organizationRoles.listTemplatePermissions()
  assert.ok(reserved.includes('read:payroll'), 'nobody gets meanwhile what the template shall allow')
  await store.organizationRoles.remove('acme', 'manager')
  await start([acme], declared, { log })
  assert.equal(lines.length, 1)
  assert.deepEqual((await found('manager'))?.permissions, ['read:payroll'], 'at the next start')
})

test('an organization whose member shall have a waiting template waits, with its connection', async () => {
  const store = postgresIdentityStore(database)
  await store.organizationRoles.put(
    { organizationId: 'acme', key: 'buyer', name: 'Buyer', permissions: [] },
    Date.now(),
  )
  const organizations = [{ id: 'beta', members: [{ user_id: 'bob', roles: ['buyer'] }] }, { id: 'gamma' }]
  const buyer = { key: 'buyer', permissions: [] }
  const { log, lines } = recordLog()
  const connections = [{ id: 'beta', kind: 'google', client_id: 'c', client_secret: 's', organization: 'beta' }]
  await start(organizations, [buyer], { log, connections })
  assert.deepEqual(
    lines.map(({ role, organization }) => role ?? organization),
    ['buyer', 'beta'],
  )
  assert.equal(await store.organizations.find('beta'), undefined)
  assert.ok(await store.organizations.find('gamma'), 'the others are applied')
  await store.organizationRoles.remove('acme', 'buyer')
  await start(organizations, [buyer], { connections })
  assert.equal((await store.connections.find('beta'))?.settings.organization, 'beta')
  assert.deepEqual((await store.memberships.find('beta', 'bob'))?.roles, ['buyer'])
})

test('an organization that exists is applied without the roles that wait, and its connection is', async () => {
  const store = postgresIdentityStore(database)
  const connection = { id: 'delta', kind: 'google', client_id: 'c', client_secret: 's', organization: 'delta' }
  await start([{ id: 'delta' }], [], { connections: [connection] })
  const now = Date.now()
  await store.organizationRoles.put({ organizationId: 'delta', key: 'auditor', name: 'Auditor', permissions: [] }, now)
  const bob = { organizationId: 'delta', userId: 'bob', roles: ['auditor'] }
  await store.memberships.put({ ...bob, expected: undefined, now, messages: [] })
  const members = [
    { user_id: 'ann', roles: ['owner', 'auditor'] },
    { user_id: 'bob', roles: ['auditor'] },
  ]
  const organizations = [{ id: 'delta', status: 'suspended', require_mfa: true, members }]
  const auditor = { key: 'auditor', permissions: [] }
  const connections = [{ ...connection, enabled: false }]
  const { log, lines } = recordLog()
  const restart = () => start(organizations, [auditor], { log, connections })
  const found = async () => {
    const { name, status, requireMfa } = (await store.organizations.find('delta')) ?? assert.fail()
    return { name, status, requireMfa }
  }
  const rolesOf = async (id: string) => (await store.memberships.findMember('delta', id))?.roles
  const declared = { name: 'delta', status: 'suspended', requireMfa: true }

  await restart()
  assert.deepEqual(await found(), declared)
  assert.equal((await store.connections.find('delta'))?.settings.enabled, false)
  assert.deepEqual(await rolesOf('ann'), ['owner'], 'that of the organization is another role')
  assert.deepEqual(await rolesOf('bob'), ['auditor'], 'who has that keeps it')

  await store.organizations.update('delta', { name: 'Renamed' }, { now, expiresAt: now }, { messages: [] })
  await restart()
  assert.equal((await found()).name, 'Renamed', 'an unchanged entry does not overwrite later changes')
  assert.deepEqual(
    lines.map(({ role, organization }) => role ?? organization),
    ['auditor', 'delta', 'auditor', 'delta'],
    'every start says it',
  )

  await store.organizationRoles.remove('delta', 'auditor')
  await restart()
  assert.deepEqual(await found(), { ...declared, name: 'Renamed' }, 'nor does one whose role no longer waits')
  assert.deepEqual([await rolesOf('ann'), await rolesOf('bob')], [['auditor', 'owner'], ['auditor']])
  assert.equal(lines.length, 4)
})

describe('an organization with members whose declared roles wait', () => {
  const keys = ['checker', 'packer'] as const
  const roles = keys.map((key) => ({ key, permissions: [] }))
  const organization = (id: string, members: object[]) => ({ id, name: 'Declared', members })
  const own = (organizationId: string, key: string) => ({ organizationId, key, name: 'Own', permissions: [] })
  const now = Date.now()
  const end = { now, expiresAt: now }
  const rolesOf = async (id: string, userId: string) =>
    (await postgresIdentityStore(database).memberships.findMember(id, userId))?.roles
  const found = async (id: string) => {
    const { name, status, requireMfa } = (await postgresIdentityStore(database).organizations.find(id)) ?? assert.fail()
    return { name, status, requireMfa }
  }
  const setRoles = (organizationId: string, userId: string, change: readonly string[], expected: readonly string[]) =>
    postgresIdentityStore(database).memberships.put({
      organizationId,
      userId,
      roles: change,
      expected,
      now,
      messages: [],
    })

  test('gets each of them when its key is free, and nothing else of what management changed', async () => {
    const store = postgresIdentityStore(database)
    await start([{ id: 'epsilon' }], [])
    for (const key of keys) await store.organizationRoles.put(own('epsilon', key), now)
    const members = ['ann', 'bob'].map((id) => ({ user_id: id, roles: ['owner', ...keys] }))
    const restart = () => start([organization('epsilon', members)], roles)
    await restart()
    assert.deepEqual(await found('epsilon'), { name: 'Declared', status: 'active', requireMfa: false })

    const managed = { name: 'Managed', status: 'suspended', requireMfa: true } as const
    await store.organizations.update('epsilon', managed, end, { messages: [] })
    await store.organizationRoles.put(own('epsilon', 'helper'), now)
    assert.equal(await setRoles('epsilon', 'ann', ['helper', 'owner'], ['owner']), 'changed')
    assert.equal(await setRoles('epsilon', 'bob', [], ['owner']), 'changed')
    await store.organizationRoles.remove('epsilon', 'checker')
    await restart()
    assert.deepEqual(await found('epsilon'), managed)
    assert.deepEqual(await rolesOf('epsilon', 'ann'), ['checker', 'helper', 'owner'])
    assert.deepEqual(await rolesOf('epsilon', 'bob'), ['checker'])

    assert.equal(await setRoles('epsilon', 'bob', [], ['checker']), 'changed')
    await store.organizationRoles.remove('epsilon', 'packer')
    await restart()
    assert.deepEqual(await found('epsilon'), managed)
    assert.deepEqual(await rolesOf('epsilon', 'ann'), ['checker', 'helper', 'owner', 'packer'])
    assert.deepEqual(await rolesOf('epsilon', 'bob'), ['packer'], 'a role is added once')
    await start([{ ...organization('epsilon', members), require_mfa: true }], roles)
    assert.deepEqual(await found('epsilon'), { name: 'Declared', status: 'active', requireMfa: true })
  })

  test('keeps a member away whom management removed, and stays deleted', async () => {
    const store = postgresIdentityStore(database)
    await start([{ id: 'zeta' }, { id: 'eta' }], [])
    await store.organizationRoles.put(own('zeta', 'grader'), now)
    const members = [{ user_id: 'bob', roles: ['grader'] }]
    const restart = () =>
      start(
        ['zeta', 'eta'].map((id) => organization(id, members)),
        [{ key: 'grader', permissions: [] }],
      )
    await restart()
    const removed = { organizationId: 'zeta', userId: 'bob', expected: undefined, messages: [] }
    assert.equal(await store.memberships.remove(removed, end), 'changed')
    assert.equal(await store.organizations.remove('eta', end, undefined), 'changed')
    await store.organizationRoles.remove('zeta', 'grader')
    await restart()
    assert.equal(await rolesOf('zeta', 'bob'), undefined)
    assert.equal(await store.organizations.find('eta'), undefined)
  })

  test('waits for what the file says last', async () => {
    const store = postgresIdentityStore(database)
    await start([{ id: 'theta' }], [])
    await store.organizationRoles.put(own('theta', 'sorter'), now)
    const sorter = [{ key: 'sorter', permissions: [] }]
    await start([organization('theta', [{ user_id: 'ann', roles: ['sorter'] }])], sorter)
    const changed = [organization('theta', [{ user_id: 'bob', roles: ['sorter'] }])]
    await start(changed, sorter)
    await store.organizationRoles.remove('theta', 'sorter')
    await start(changed, sorter)
    assert.deepEqual([await rolesOf('theta', 'ann'), await rolesOf('theta', 'bob')], [[], ['sorter']])
  })

  test('is left alone when a role that it had begins to wait', async () => {
    const store = postgresIdentityStore(database)
    const organizations = [organization('iota', [{ user_id: 'ann', roles: ['owner', 'filer'] }])]
    await start(organizations, [{ key: 'filer', permissions: [] }])
    await store.organizations.update('iota', { name: 'Managed' }, end, { messages: [] })
    await store.organizationRoles.remove(undefined, 'filer')
    await store.organizationRoles.put(own('iota', 'filer'), now)
    await start(organizations, [{ key: 'filer', permissions: ['read:files'] }])
    assert.equal((await found('iota')).name, 'Managed')
    assert.deepEqual(await rolesOf('iota', 'ann'), ['owner'])
  })
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
