import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isManagementRole,
  isManagementScope,
  managementRoles,
  scopesOfRoles,
} from '../../src/model/management-roles.ts'

const rows: readonly [role: string, allowed: readonly string[], refused: readonly string[]][] = [
  ['gatehouse-owner', ['admin:roles', 'admin:privacy', 'admin:keys', 'read:personal-data', 'read:delivery'], []],
  [
    'gatehouse-operator',
    ['admin:users', 'read:accounts', 'read:audit'],
    ['admin:roles', 'admin:privacy', 'admin:audit'],
  ],
  ['gatehouse-support', ['read:accounts', 'reveal:personal-data'], ['read:personal-data', 'read:audit', 'admin:users']],
  ['gatehouse-auditor', ['read:audit', 'read:keys'], ['write:sessions', 'reveal:personal-data', 'read:personal-data']],
  ['editor', [], ['read:accounts']],
  ['constructor', [], ['read:accounts']],
]

for (const [role, allowed, refused] of rows) {
  test(`the role ${role} allows its scopes and no other`, () => {
    const scopes = scopesOfRoles([role], new Map())
    for (const scope of allowed) assert.ok(scopes.has(scope), scope)
    for (const scope of refused) assert.ok(!scopes.has(scope), scope)
  })
}

test('every role allows management scopes only, and the owner has all of them', () => {
  const owner = scopesOfRoles(['gatehouse-owner'], new Map())
  for (const role of managementRoles) {
    for (const scope of scopesOfRoles([role], new Map())) {
      assert.ok(isManagementScope(scope), scope)
      assert.ok(owner.has(scope), `${role} has ${scope}, the owner has not`)
    }
  }
})

test('product and OpenID Connect scopes are not management scopes', () => {
  for (const scope of ['openid', 'offline_access', 'read:users', 'write:notifications', 'admin:orders'])
    assert.equal(isManagementScope(scope), false)
  assert.equal(isManagementRole('gatehouse-admin'), false)
})
