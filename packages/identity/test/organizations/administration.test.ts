import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  invitationLink,
  memberToken,
  type Organizations,
  send,
  setupOrganizations,
  tokensOf,
} from '../support/management/organizations.ts'
import type { TestResponse } from '../support/setup.ts'

/*
 * The administration of an organization by its members, and the attacks on it: adam administers acme, olga owns it, bob
 * owns beta.
 */

let running: Organizations
const tokens = new Map<string, string>()
before(async () => {
  running = await setupOrganizations()
  for (const [user, organization] of [
    ['olga', 'acme'],
    ['adam', 'acme'],
    ['bob', 'beta'],
  ] as const)
    tokens.set(user, await memberToken(running, user, organization))
})
after(() => running.close())

const as = (user: string, method: string, path: string, payload?: object): Promise<TestResponse> =>
  send(running, tokens.get(user) ?? assert.fail(user), method, `/organizations/${path}`, payload)

const items = ({ body }: TestResponse) => body.items as Record<string, unknown>[]

test('an administrator of an organization reads its members, roles and name', async () => {
  const members = items(await as('adam', 'GET', 'acme/members'))
  assert.deepEqual(
    members.map(({ user_id, roles }) => [user_id, roles]),
    [
      ['adam', ['admin']],
      ['ann', ['editor']],
      ['olga', ['owner']],
      ['vera', []],
    ],
  )
  assert.equal((await as('adam', 'GET', 'acme')).body.name, 'Acme Ltd')
  const roles = items(await as('adam', 'GET', 'acme/roles')).map(({ key, template }) => [key, template])
  assert.deepEqual(roles, [
    ['admin', true],
    ['editor', true],
    ['owner', true],
    ['viewer', true],
  ])
})

test('members are listed page by page', async () => {
  const first = await as('adam', 'GET', 'acme/members?limit=3')
  assert.deepEqual([items(first).length, first.body.next], [3, 'olga'])
  const rest = await as('adam', 'GET', 'acme/members?limit=3&cursor=olga')
  assert.deepEqual([items(rest).map(({ user_id }) => user_id), rest.body.next], [['vera'], undefined])
})

test('a token for one organization is rejected with 403 at another', async () => {
  for (const [method, path, payload] of [
    ['GET', 'acme'],
    ['PATCH', 'acme', { name: 'Mine' }],
    ['GET', 'acme/members'],
    ['PUT', 'acme/members/ann', { roles: ['owner'] }],
    ['DELETE', 'acme/members/ann'],
    ['GET', 'acme/roles'],
    ['PUT', 'acme/roles/mine', { permissions: [] }],
    ['DELETE', 'acme/roles/editor'],
    ['GET', 'acme/invitations'],
    ['POST', 'acme/invitations', { email: 'x@people.example' }],
    ['DELETE', 'acme/invitations/0193a5b0-7e2c-7000-8000-000000000000'],
    ['GET', 'acme/domains'],
    ['PUT', 'acme/domains/acme.example'],
    ['POST', 'acme/domains/acme.example/verify'],
    ['DELETE', 'acme/domains/acme.example'],
    ['GET', 'nowhere/members'],
  ] as const) {
    const { status, text } = await as('bob', method, path, payload)
    assert.equal(status, 403, `${method} ${path}: ${text}`)
  }
})

test('ids of another organization are not found, whatever they name (CVE-2026-2366)', async () => {
  const mine = await as('bob', 'POST', 'beta/invitations', { email: 'guest@people.example' })
  assert.equal((await as('bob', 'PUT', 'beta/roles/secret', { permissions: ['read:invoices'] })).status, 204)
  assert.equal((await as('bob', 'PUT', 'beta/domains/beta.example')).status, 200)
  for (const [method, path, payload] of [
    ['PUT', 'members/bob', { roles: [] }],
    ['DELETE', 'members/bob'],
    ['PUT', 'members/sam', { roles: [] }],
    ['DELETE', 'roles/secret'],
    ['DELETE', `invitations/${mine.body.id}`],
    ['POST', 'domains/beta.example/verify'],
    ['DELETE', 'domains/beta.example'],
  ] as const) {
    const { status, text } = await as('olga', method, `acme/${path}`, payload)
    assert.equal(status, 404, `${method} ${path}: ${text}`)
  }
  const granted = await as('olga', 'PUT', 'acme/members/vera', { roles: ['secret'] })
  assert.equal(granted.status, 422, granted.text)
  const left = [items(await as('bob', 'GET', 'beta/invitations')), items(await as('bob', 'GET', 'beta/domains'))]
  assert.deepEqual(
    left.map(({ length }) => length),
    [1, 1],
  )
})

test('an administrator cannot grant, change or remove a role above their own', async () => {
  for (const [method, path, payload] of [
    ['PUT', 'acme/members/vera', { roles: ['owner'] }],
    ['PUT', 'acme/members/adam', { roles: ['admin', 'owner'] }],
    ['PUT', 'acme/members/vera', { roles: ['editor'] }],
    ['PUT', 'acme/members/olga', { roles: [] }],
    ['DELETE', 'acme/members/olga'],
    ['DELETE', 'acme/members/ann'],
    ['POST', 'acme/invitations', { email: 'mine@people.example', roles: ['owner'] }],
    ['POST', 'acme/invitations', { email: 'mine@people.example', roles: ['editor'] }],
    ['PUT', 'acme/roles/mine', { permissions: ['write:invoices'] }],
    ['PUT', 'acme/roles/mine', { permissions: ['write:organization'] }],
  ] as const) {
    const { status, text } = await as('adam', method, path, payload)
    assert.equal(status, 403, `${method} ${path}: ${text}`)
  }
  assert.equal((await as('adam', 'PATCH', 'acme', { name: 'Mine' })).status, 403)
  assert.equal((await as('adam', 'PUT', 'acme/members/vera', { roles: ['viewer'] })).status, 204)
  assert.equal((await as('adam', 'PUT', 'acme/members/vera', { roles: ['viewer'] })).status, 204, 'idempotent')
  assert.equal((await as('adam', 'PUT', 'acme/members/vera', { roles: [] })).status, 204)
})

test('an own role cannot be raised above the permissions of who raises it', async () => {
  assert.equal((await as('olga', 'PUT', 'acme/roles/clerk', { permissions: ['write:invoices'] })).status, 204)
  for (const [method, payload] of [['PUT', { permissions: [] }], ['DELETE']] as const)
    assert.equal((await as('adam', method, 'acme/roles/clerk', payload)).status, 403)
  assert.equal((await as('olga', 'DELETE', 'acme/roles/clerk')).status, 204)
})

test('an owner cannot invent a permission that no role of the product has', async () => {
  const invented = await as('olga', 'PUT', 'acme/roles/root', { permissions: ['admin:everything'] })
  assert.equal(invented.status, 403, invented.text)
  for (const permission of ['admin:users', 'read:revocations', 'openid'])
    assert.equal((await as('olga', 'PUT', 'acme/roles/root', { permissions: [permission] })).status, 422)
})

test('templates are not changed through an organization', async () => {
  for (const key of ['viewer', 'owner']) {
    assert.equal((await as('olga', 'PUT', `acme/roles/${key}`, { permissions: [] })).status, 409)
    assert.equal((await as('olga', 'DELETE', `acme/roles/${key}`)).status, 404)
  }
})

test('an administrator who lost the role is powerless at once, however old the token is', async () => {
  const token = await memberToken(running, 'adam', 'acme')
  assert.equal((await as('olga', 'PUT', 'acme/members/adam', { roles: ['viewer'] })).status, 204)
  const late = await send(running, token, 'GET', '/organizations/acme/members')
  assert.equal(late.status, 403, late.text)
  assert.equal((await as('olga', 'PUT', 'acme/members/adam', { roles: ['admin'] })).status, 204)
})

test('a member without a permission, and a token without its scope, administer nothing', async () => {
  const narrow = await tokensOf(running, 'olga', 'acme', 'openid read:organization')
  const put = await send(running, narrow.accessToken, 'PUT', '/organizations/acme/members/vera', { roles: [] })
  assert.equal(put.status, 403)
  const ann = await tokensOf(running, 'ann', 'acme', 'openid read:invoices read:organization write:members')
  assert.equal(ann.scope, 'openid read:invoices')
  assert.equal((await send(running, ann.accessToken, 'GET', '/organizations/acme/members')).status, 403)
  assert.equal((await running.http.inject({ url: '/organizations/acme/members' })).statusCode, 401)
})

test('the last owner stays, whether removed, demoted or leaving', async () => {
  for (const [method, payload] of [['DELETE'], ['PUT', { roles: ['admin'] }]] as const) {
    const { status, text } = await as('olga', method, 'acme/members/olga', payload)
    assert.equal(status, 409, text)
    assert.match(text, /last member with the role owner/)
  }
  assert.equal((await as('olga', 'PUT', 'acme/members/adam', { roles: ['owner'] })).status, 204)
  await running.identity.management.updateUser('adam', { locked: true })
  assert.equal((await as('olga', 'DELETE', 'acme/members/olga')).status, 409, 'a locked owner cannot sign in')
  await running.identity.management.updateUser('adam', { locked: false })
  assert.equal((await as('olga', 'PUT', 'acme/members/adam', { roles: ['admin'] })).status, 204)
  tokens.set('adam', await memberToken(running, 'adam', 'acme'))
})

test('a role that is deleted while granted leaves no trace on members and invitations', async () => {
  assert.equal((await as('olga', 'PUT', 'acme/roles/temp', { permissions: ['read:invoices'] })).status, 204)
  assert.equal((await as('olga', 'PUT', 'acme/members/vera', { roles: ['temp', 'viewer'] })).status, 204)
  const made = await as('olga', 'POST', 'acme/invitations', { email: 'temp@people.example', roles: ['temp'] })
  assert.equal(made.status, 201, made.text)
  assert.equal((await as('olga', 'DELETE', 'acme/roles/temp')).status, 204)
  const vera = items(await as('olga', 'GET', 'acme/members')).find(({ user_id }) => user_id === 'vera')
  assert.deepEqual(vera?.roles, ['viewer'])
  const invitation = items(await as('olga', 'GET', 'acme/invitations')).find(({ id }) => id === made.body.id)
  assert.deepEqual(invitation?.roles, [])
  assert.equal((await as('olga', 'PUT', 'acme/members/vera', { roles: [] })).status, 204)
})

test('an invitation is never readable: its link is in the mail only (CVE-2026-16072)', async () => {
  const made = await as('adam', 'POST', 'acme/invitations', { email: 'hidden@people.example', roles: ['viewer'] })
  const token = new URLSearchParams((await invitationLink(running, 'hidden@people.example')).split('?')[1]).get('token')
  assert.match(token ?? '', /^[\w-]{43}$/)
  const listed = await as('adam', 'GET', 'acme/invitations')
  const rows = await running.database.query('SELECT * FROM identity.invitation')
  for (const text of [made.text, listed.text, JSON.stringify(rows.rows)]) assert.ok(!text.includes(String(token)))
})

test('the response to an invitation is the same with and without an account', async () => {
  const shapes = []
  for (const email of ['sam@people.example', 'unknown@people.example']) {
    const { status, body } = await as('adam', 'POST', 'acme/invitations', { email, roles: ['viewer'] })
    shapes.push([status, { ...body, id: '', email: '', created_at: '', expires_at: '' }])
  }
  assert.deepEqual(shapes[0], shapes[1])
})

test('changes by members are in the audit trail, with actor and organization', async () => {
  await as('olga', 'PUT', 'acme/members/vera', { roles: ['editor'] })
  const { rows } = await running.database.query<Record<string, unknown>>(
    `SELECT actor, action, target_id, members_before, members_after FROM identity.audit_event
     WHERE type = 'management' AND action LIKE 'organization%' ORDER BY id DESC LIMIT 1`,
  )
  assert.deepEqual(rows, [
    {
      actor: 'olga',
      action: 'organization_members.update',
      target_id: 'acme',
      members_before: { user_id: 'vera', roles: [] },
      members_after: { user_id: 'vera', roles: ['editor'] },
    },
  ])
  await as('olga', 'PUT', 'acme/members/vera', { roles: [] })
})
