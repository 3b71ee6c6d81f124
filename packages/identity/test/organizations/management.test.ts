import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { administrators, tokenOf } from '../support/management/administrators.ts'
import { declared, type Organizations, send, setupOrganizations } from '../support/management/organizations.ts'

let running: Organizations
let owner: string
let support: string
before(async () => {
  running = await setupOrganizations({
    declared: { ...declared, users: [...declared.users, ...administrators.slice(1)] },
  })
  owner = await tokenOf(running, 'gatehouse-owner')
  support = await tokenOf(running, 'gatehouse-support')
})
after(() => running.close())

const path = '/admin/v1/organizations'
const manage = (method: string, rest: string, payload?: object) => send(running, owner, method, path + rest, payload)

test('an organization is created, updated, listed by page and deleted with its grants', async () => {
  const made = await manage('POST', '', { id: 'zeta', name: 'Zeta' })
  assert.deepEqual([made.status, made.body.status, made.body.require_mfa], [201, 'active', false])
  assert.equal((await manage('POST', '', { id: 'zeta' })).status, 409)
  const generated = await manage('POST', '', { name: 'Without an id' })
  assert.match(String(generated.body.id), /^[0-9a-f-]{36}$/)
  const updated = await manage('PATCH', '/zeta', { require_mfa: true })
  assert.deepEqual([updated.body.name, updated.body.require_mfa], ['Zeta', true])
  const page = await manage('GET', '?limit=2')
  assert.equal((page.body.items as unknown[]).length, 2)
  assert.ok(page.body.next)
  assert.equal((await manage('DELETE', '/zeta')).status, 204)
  assert.equal((await manage('DELETE', '/zeta')).status, 404)
})

test('an unknown organization, user or role is reported as such', async () => {
  for (const [method, rest, payload, status] of [
    ['GET', '/nowhere', undefined, 404],
    ['PATCH', '/nowhere', { name: 'x' }, 404],
    ['GET', '/nowhere/members', undefined, 404],
    ['PUT', '/nowhere/members/ann', { roles: [] }, 404],
    ['PUT', '/acme/members/nobody', { roles: [] }, 404],
    ['DELETE', '/acme/members/sam', undefined, 404],
    ['PUT', '/acme/members/sam', { roles: ['none'] }, 422],
    ['PUT', '/nowhere/roles/x', { permissions: [] }, 404],
    ['POST', '/nowhere/invitations', { email: 'a@people.example' }, 404],
    ['PUT', '/nowhere/domains/x.example', undefined, 404],
    ['POST', '', { id: '../x' }, 400],
    ['POST', '', { name: 'two\nlines' }, 400],
    ['PUT', '/acme/members/sam', { roles: Array.from({ length: 51 }, (_, at) => `r${at}`) }, 400],
  ] as const) {
    const response = await manage(method, rest, payload)
    assert.equal(response.status, status, `${method} ${rest}: ${response.text}`)
  }
})

test('management keeps the last owner too, and adds members without an invitation', async () => {
  assert.equal((await manage('DELETE', '/acme/members/olga')).status, 409)
  assert.equal((await manage('PUT', '/acme/members/sam', { roles: ['viewer'] })).status, 204)
  const { body } = await send(running, owner, 'GET', '/admin/v1/users/sam/organizations')
  assert.deepEqual(body.items, [{ organization_id: 'acme', name: 'Acme Ltd', roles: ['viewer'] }])
  assert.equal((await manage('DELETE', '/acme/members/sam')).status, 204)
})

test('the role owner is fixed, and a template shares its key with no other role', async () => {
  const templates = '/admin/v1/organization-roles'
  const put = (key: string) => send(running, owner, 'PUT', `${templates}/${key}`, { permissions: ['read:invoices'] })
  assert.equal((await put('owner')).status, 409)
  assert.equal((await send(running, owner, 'DELETE', `${templates}/owner`)).status, 409)
  assert.equal((await manage('PUT', '/acme/roles/local', { permissions: [] })).status, 204)
  assert.equal((await put('local')).status, 409)
  assert.equal((await manage('PUT', '/beta/roles/local', { permissions: ['read:invoices'] })).status, 204)
  assert.equal((await manage('PUT', '/acme/roles/viewer', { permissions: [] })).status, 409)
})

test('members and invitations are masked for callers who may not read personal data', async () => {
  await manage('POST', '/acme/invitations', { email: 'guest.person@people.example' })
  for (const rest of ['/acme/members', '/acme/invitations']) {
    const masked = await send(running, support, 'GET', path + rest)
    assert.equal(masked.status, 200)
    assert.doesNotMatch(masked.text, /ann@people|guest\.person/)
    assert.match((await manage('GET', rest)).text, /ann@people|guest\.person/)
  }
})

test('deleting an account ends its memberships, invitations and grants', async () => {
  await running.identity.management.createUser({ id: 'tom', email: 'tom@people.example' })
  await manage('PUT', '/acme/members/tom', { roles: ['viewer'] })
  await running.identity.management.deleteUser('tom')
  assert.doesNotMatch((await manage('GET', '/acme/members')).text, /tom/)
})
