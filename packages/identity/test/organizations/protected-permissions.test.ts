import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { maxOrganizationRoles } from '../../src/model/organization.ts'
import { tokenOf } from '../support/management/administrators.ts'
import {
  declared,
  memberToken,
  type Organizations,
  send,
  setupOrganizations,
  tokensOf,
} from '../support/management/organizations.ts'

/* A scope that a role named depends on roles until it is released: removing the last role opens nothing. */

interface Listed {
  readonly permission: string
  readonly roles: readonly string[]
}

let running: Organizations
let owner: string
let olga: string
before(async () => {
  const clients = declared.clients.map((client) =>
    client.client_id === 'portal' ? { ...client, scopes: [...(client.scopes ?? []), 'write:exports'] } : client,
  )
  const organizationRoles = [...declared.organizationRoles, { key: 'auditor', permissions: ['read:users'] }]
  running = await setupOrganizations({ declared: { ...declared, clients, organizationRoles } })
  owner = await tokenOf(running, 'gatehouse-owner')
  olga = await memberToken(running, 'olga', 'acme')
})
after(() => running.close())

const templates = '/admin/v1/organization-roles'
const scope = 'openid read:users read:invoices write:invoices'

async function change(token: string, method: string, path: string, payload?: object): Promise<void> {
  const { status, text } = await send(running, token, method, path, payload)
  assert.equal(status, 204, `${method} ${path}: ${text}`)
}

/** The scopes of a user who signs in, for an organization if one is named. */
async function scopesOf(user: string, organization?: string): Promise<string[]> {
  return (await tokensOf(running, user, organization, scope)).scope.split(' ')
}

test('a permission of a deleted template is granted to nobody who lacked it', async () => {
  await change(owner, 'DELETE', `${templates}/editor`)
  assert.deepEqual(await scopesOf('vera', 'acme'), ['openid'])
  assert.deepEqual(await scopesOf('ann', 'acme'), ['openid'], 'whose role is gone')
  assert.deepEqual(await scopesOf('sam'), ['openid'], 'who is a member of no organization')
  assert.deepEqual(await scopesOf('olga', 'acme'), scope.split(' '), 'an owner still has it')
})

test('a permission that a template no longer has is granted to nobody who lacked it', async () => {
  await change(owner, 'PUT', `${templates}/auditor`, { permissions: [] })
  assert.deepEqual(await scopesOf('vera', 'acme'), ['openid'])
  assert.deepEqual(await scopesOf('sam'), ['openid'])
})

test('a permission of a deleted role of one organization stays with roles there alone', async () => {
  const path = '/admin/v1/organizations/acme/roles/exporter'
  const exporting = async (user: string, organization: string) =>
    (await tokensOf(running, user, organization, 'openid write:exports')).scope
  assert.equal(await exporting('vera', 'acme'), 'openid write:exports')
  await change(owner, 'PUT', path, { permissions: ['write:exports'] })
  assert.equal(await exporting('vera', 'acme'), 'openid')
  await change(olga, 'DELETE', '/organizations/acme/roles/exporter')
  assert.equal(await exporting('vera', 'acme'), 'openid')
  assert.equal(await exporting('ann', 'beta'), 'openid write:exports')
})

test('a released permission is granted as one that no role ever had', async () => {
  const path = '/admin/v1/organization-permissions'
  await change(owner, 'PUT', `${templates}/accountant`, { permissions: ['write:invoices'] })
  const used = await send(running, owner, 'DELETE', `${path}/write:invoices`)
  assert.equal(used.status, 409)
  assert.match(used.text, /accountant/)
  await change(owner, 'DELETE', `${templates}/accountant`)
  const listed = await send(running, owner, 'GET', path)
  const roles = Object.fromEntries((listed.body.items as Listed[]).map((one) => [one.permission, one.roles]))
  assert.deepEqual(roles['write:invoices'], [])
  assert.deepEqual(roles['read:invoices'], ['admin', 'viewer'])
  assert.deepEqual(await scopesOf('vera', 'acme'), ['openid'])
  await change(owner, 'DELETE', `${path}/write:invoices`)
  assert.deepEqual(await scopesOf('vera', 'acme'), ['openid', 'write:invoices'])
  assert.deepEqual(await scopesOf('sam'), ['openid', 'write:invoices'])
  assert.equal((await send(running, owner, 'DELETE', `${path}/write:invoices`)).status, 404)
})

test('an organization releases the permissions of its own roles only, by members who have them', async () => {
  const path = '/organizations/acme/permissions'
  const adam = await memberToken(running, 'adam', 'acme')
  const release = async (token: string, permission: string) =>
    (await send(running, token, 'DELETE', `${path}/${permission}`)).status
  const listed = await send(running, olga, 'GET', path)
  assert.deepEqual(listed.body.items, [{ permission: 'write:exports', roles: [] }])
  assert.equal(await release(olga, 'read:invoices'), 404, 'one of a template')
  assert.equal(await release(adam, 'write:exports'), 403)
  assert.equal(await release(olga, 'write:exports'), 204)
  const { scope: granted } = await tokensOf(running, 'vera', 'acme', 'openid write:exports')
  assert.equal(granted, 'openid write:exports')
})

test('an organization has at most a hundred roles of its own, and changes those', async () => {
  const put = async (key: string) =>
    (await send(running, owner, 'PUT', `/admin/v1/organizations/beta/roles/${key}`, { permissions: [] })).status
  for (let at = 0; at < maxOrganizationRoles; at++) assert.equal(await put(`role-${at}`), 204)
  assert.equal(await put('one-more'), 409)
  assert.equal(await put('role-0'), 204)
  await change(owner, 'DELETE', '/admin/v1/organizations/beta/roles/role-1')
  assert.equal(await put('one-more'), 204)
})
