import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clientToken, tokenOf } from '../support/management/administrators.ts'
import {
  declared,
  memberToken,
  type Organizations,
  send,
  setupOrganizations,
} from '../support/management/organizations.ts'

const secret = 'secret-0123456789abcdef'
const script = { client_id: 'script', client_secret: secret, scopes: ['admin:organizations'] }

type Change = readonly [method: string, path: string, payload?: object | undefined]

/** What people change in an organization, in an order in which each change is possible. */
const inside: readonly Change[] = [
  ['PATCH', '', { require_mfa: false }],
  ['PUT', '/roles/:role', { permissions: ['read:invoices'] }],
  ['PUT', '/members/:user_id', { roles: ['viewer'] }],
  ['POST', '/invitations', { email: 'ida@people.example' }],
  ['PUT', '/domains/:domain'],
  ['POST', '/domains/:domain/verify'],
  ['DELETE', '/domains/:domain'],
  ['DELETE', '/invitations/:invitation_id'],
  ['DELETE', '/members/:user_id'],
  ['DELETE', '/roles/:role'],
  ['DELETE', '/permissions/:permission'],
]
const own = inside.map(([method, rest, payload]): Change => [method, `/organizations/:organization_id${rest}`, payload])
const management: readonly Change[] = [
  ...inside.map(
    ([method, rest, payload]): Change => [method, `/admin/v1/organizations/:organization_id${rest}`, payload],
  ),
  ['PUT', '/admin/v1/organization-roles/:role', { permissions: [] }],
  ['DELETE', '/admin/v1/organization-roles/:role'],
  ['DELETE', '/admin/v1/organization-permissions/:permission'],
  ['DELETE', '/admin/v1/organizations/:organization_id'],
]
const values: Readonly<Record<string, string>> = {
  ':organization_id': 'acme',
  ':role': 'helper',
  ':permission': 'read:invoices',
  ':user_id': 'vera',
  ':domain': 'acme.example',
  ':invitation_id': '00000000-0000-4000-8000-000000000000',
}

describe('a person whose sign-in is older than ten minutes', () => {
  let running: Organizations
  let owner: string
  let olga: string
  before(async () => {
    running = await setupOrganizations({ declared: { ...declared, clients: [...declared.clients, script] } })
    owner = await tokenOf(running, 'gatehouse-owner')
    olga = await memberToken(running, 'olga', 'acme')
    running.clock.advance(11 * 60_000)
  })
  after(() => running?.close())

  const change = (token: string, [method, path, payload]: Change) =>
    send(
      running,
      token,
      method,
      path.replaceAll(/:\w+/g, (name) => values[name] ?? assert.fail(name)),
      payload,
    )
  const changing = (prefix: RegExp) =>
    running.routes
      .filter(({ method, url }) => prefix.test(url) && !['GET', 'HEAD', 'OPTIONS'].includes(method))
      .map(({ method, url }) => `${method} ${url}`)
      .sort()
  const named = (changes: readonly Change[]) => changes.map(([method, path]) => `${method} ${path}`).sort()

  test('is in these tables with every change of an organization but its creation', () => {
    assert.deepEqual(changing(/^\/organizations\//), named(own))
    const [created, ...others] = [['POST', '/admin/v1/organizations'] as const, ...management]
    assert.deepEqual(changing(/^\/admin\/v1\/organization/), named([created, ...others]))
  })

  test('changes nothing in an organization, as management or as a member', async () => {
    const members = async () => (await send(running, olga, 'GET', '/organizations/acme/members')).text
    const before = await members()
    for (const [token, changes] of [
      [owner, management],
      [olga, own],
    ] as const)
      for (const one of changes) {
        const { status, headers, text } = await change(token, one)
        assert.equal(status, 401, `${one[0]} ${one[1]}: ${text}`)
        const challenge = String(headers['www-authenticate'])
        assert.match(challenge, /insufficient_user_authentication", max_age="600"/)
      }
    assert.equal(await members(), before)
  })

  test('reads an organization, and creates one', async () => {
    for (const [token, path] of [
      [owner, '/admin/v1/organizations/acme'],
      [olga, '/organizations/acme'],
    ] as const)
      for (const rest of ['', '/members', '/roles', '/permissions', '/invitations', '/domains'])
        assert.equal((await send(running, token, 'GET', path + rest)).status, 200, path + rest)
    assert.equal((await send(running, owner, 'POST', '/admin/v1/organizations', { id: 'gamma' })).status, 201)
  })

  test('makes each change after signing in again', async () => {
    const signedIn = await memberToken(running, 'olga', 'acme')
    for (const one of own) {
      const { status, text } = await change(signedIn, one)
      assert.notEqual(status, 401, `${one[0]} ${one[1]}: ${text}`)
    }
    const { body } = await send(running, signedIn, 'GET', '/organizations/acme/members')
    assert.doesNotMatch(JSON.stringify(body), /vera/)
  })

  test('is no client, which has no sign-in', async () => {
    const token = await clientToken(running, 'script', secret)
    for (const one of management) {
      const { status, text } = await change(token, one)
      assert.notEqual(status, 401, `${one[0]} ${one[1]}: ${text}`)
    }
    assert.equal((await send(running, token, 'GET', '/admin/v1/organizations/acme')).status, 404)
  })
})
