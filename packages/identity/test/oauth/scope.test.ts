/** Which part of a grant's scopes a token may carry. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isManagementScope, managementRoles, scopesOfRoles } from '../../src/model/management-roles.ts'
import { filterPermittedScopes, leavesNoAccess, userScopes } from '../../src/oauth/scope.ts'

test('a permitted scope is registered and, if a management scope, allowed by a role', () => {
  const names = fc.constantFrom(
    ...userScopes,
    ...scopesOfRoles(managementRoles, new Map()),
    'read:orders',
    'admin:orders',
  )
  const lists = fc.record({
    granted: fc.uniqueArray(names),
    registered: fc.uniqueArray(names),
    roles: fc.uniqueArray(fc.constantFrom(...managementRoles, 'support', 'gatehouse-nobody')),
  })
  fc.assert(
    fc.property(lists, ({ granted, registered, roles }) => {
      const permitted = filterPermittedScopes(granted, { scopes: registered }, scopesOfRoles(roles, new Map()))
      for (const scope of granted) {
        const allowed = !isManagementScope(scope) || scopesOfRoles(roles, new Map()).has(scope)
        assert.equal(permitted.includes(scope), registered.includes(scope) && allowed, scope)
      }
      assert.ok(permitted.every((scope) => granted.includes(scope)))
    }),
  )
})

test('a person never gets a scope reserved for services, whatever their roles', () => {
  const scopes = ['openid', 'read:revocations', 'read:api-keys', 'write:reserved-mails', 'write:audit', 'read:events']
  assert.deepEqual(filterPermittedScopes(scopes, { scopes }, scopesOfRoles(['gatehouse-owner'], new Map())), ['openid'])
})

test('nothing is left of a grant that lost every scope but offline_access', () => {
  for (const [before, after, nothing] of [
    [[], [], false],
    [['openid'], ['openid'], false],
    [['offline_access'], ['offline_access'], false],
    [['openid', 'admin:users'], ['openid'], false],
    [['admin:users'], [], true],
    [['offline_access', 'admin:users'], ['offline_access'], true],
  ] as const) {
    assert.equal(leavesNoAccess(before, after), nothing, `${before} to ${after}`)
  }
})
