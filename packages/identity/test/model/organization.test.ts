import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lacksPermission, type Membership, mayAssignRoles } from '../../src/model/organization.ts'
import { checkPermission, filterPermittedScopes } from '../../src/oauth/scope.ts'

const names = ['read:invoices', 'write:invoices', 'read:orders', 'write:members']
const subsets = fc.subarray(names)

const member = (permissions: readonly string[], roles: readonly string[] = []): Membership => {
  const organization = { id: 'acme', name: 'Acme', requireMfa: false }
  return { organization, userId: 'ann', roles, permissions, assignable: names }
}
const role = (key: string, permissions: readonly string[]) => {
  return { organizationId: undefined, key, name: key, permissions }
}

test('a member may assign roles within their permissions only', () => {
  fc.assert(
    fc.property(subsets, subsets, (own, wanted) => {
      const allowed = wanted.every((one) => own.includes(one))
      assert.equal(mayAssignRoles(member(own), [role('x', wanted)]), allowed)
    }),
  )
})

test('only an owner makes an owner', () => {
  assert.equal(mayAssignRoles(member(names, ['admin']), [role('owner', [])]), false)
  assert.equal(mayAssignRoles(member([], ['owner']), [role('owner', names), role('x', ['read:other'])]), true)
})

const scopes: readonly [scope: string, own: readonly string[] | undefined, lacks: boolean][] = [
  ['read:invoices', ['read:invoices'], false],
  ['read:invoices', [], true],
  ['read:photos', [], false],
  ['read:photos', undefined, false],
  ['write:organization', names, true],
  ['write:members', ['write:members'], false],
  ['write:members', undefined, true],
]

for (const [scope, own, lacks] of scopes) {
  const where = own === undefined ? 'without an organization' : `with the permissions [${own.join(' ')}]`
  test(`${scope} is ${lacks ? 'not granted' : 'granted'} ${where}`, () => {
    const permissions = own && { assignable: names, permissions: own }
    assert.equal(lacksPermission(scope, permissions), lacks)
    const permitted = filterPermittedScopes([scope], { scopes: [scope] }, new Set(), permissions)
    assert.deepEqual(permitted, lacks ? [] : [scope])
  })
}

test('a permission is a scope of a product, of no one else', () => {
  for (const name of ['read:invoices', 'write:members', 'x']) assert.equal(checkPermission(name), undefined, name)
  for (const name of ['openid', 'offline_access', 'admin:users', 'read:audit', 'read:revocations', 'a b', '', 'ü'])
    assert.notEqual(checkPermission(name), undefined, name)
})

test('a management scope needs a management role in an organization too', () => {
  const permissions = { assignable: ['admin:users'], permissions: ['admin:users'] }
  assert.deepEqual(filterPermittedScopes(['admin:users'], { scopes: ['admin:users'] }, new Set(), permissions), [])
})
