import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { administrators, call, clientToken, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { type Running, setup } from '../support/setup.ts'

const secret = 'secret-0123456789abcdef'
const password = 'another long and quiet password'
const script = {
  client_id: 'script',
  client_secret: secret,
  scopes: ['admin:users', 'admin:roles', 'admin:clients', 'admin:api-keys', 'admin:connections'],
}
const roles = ['gatehouse-auditor']

const unused = '00000000-0000-4000-8000-000000000000'

/** What lets somebody in, gives them more than they had, or takes away how a user signs in. */
const granting: readonly (readonly [method: string, path: string, payload?: object])[] = [
  ['POST', 'api-keys', { owner: 'script', name: 'k', scopes: ['admin:users'] }],
  ['PUT', 'roles/gatehouse-auditor/members/mallory'],
  ['POST', 'clients', { client_id: 'backdoor', scopes: ['admin:users'] }],
  ['PATCH', 'clients/shop', { scopes: ['admin:users'] }],
  ['PUT', 'users/bob/password', { password }],
  ['POST', 'user-imports', { users: [{ id: 'imported', roles }] }],
  ['POST', 'users', { id: 'created' }],
  ['POST', 'users', { id: 'created', password, roles }],
  ['PATCH', 'users/bob', { roles: [] }],
  ['PATCH', 'users/bob', { email: 'mallory@example.com' }],
  ['PATCH', 'users/bob', { email_verified: true }],
  ['PATCH', 'users/bob', { locked: false }],
  ['PATCH', 'users/bob', { claims: { phone_number: '+447700900123', phone_number_verified: true } }],
  ['POST', 'connections', { id: 'theirs', kind: 'google', client_id: 'g', client_secret: secret }],
  ['PATCH', 'connections/google', { label: 'Work' }],
  ['DELETE', 'connections/google'],
  ['DELETE', `users/bob/passkeys/${unused}`],
  ['DELETE', `users/bob/providers/${unused}`],
]
/** Everyday changes of the same resources. */
const everyday: typeof granting = [
  ['PATCH', 'users/bob', { locked: true }],
  ['PATCH', 'users/bob', { claims: { name: 'Bob' } }],
]

describe('a session whose sign-in is older than ten minutes', () => {
  let running: Running
  let owner: string
  let client: string
  before(async () => {
    const clients = [consoleClient, script, { client_id: 'shop', client_secret: secret }]
    const users = [...administrators, { id: 'mallory' }, { id: 'bob' }]
    running = await setup({ declared: { clients, users } })
    owner = await tokenOf(running, 'gatehouse-owner')
    running.clock.advance(11 * 60_000)
    client = await clientToken(running, 'script', secret)
  })
  after(() => running.close())

  const send = (token: string, [method, path, payload]: (typeof granting)[number]) =>
    call(running, token, { method, url: `/admin/v1/${path}`, ...(payload === undefined ? {} : { payload }) })

  for (const request of granting)
    test(`lets nobody in: ${request[0]} ${request[1]} ${Object.keys(request[2] ?? {})}`, async () => {
      const refused = await send(owner, request)
      assert.equal(refused.status, 401, refused.text)
      assert.match(String(refused.headers['www-authenticate']), /insufficient_user_authentication", max_age="600"/)
    })

  test('is enough for everyday changes', async () => {
    for (const request of everyday) {
      const response = await send(owner, request)
      assert.ok(response.status < 300, `${request[1]}: ${response.text}`)
    }
  })

  test('is not asked of a client, which has no sign-in', async () => {
    for (const request of granting) {
      const response = await send(client, request)
      assert.notEqual(response.status, 401, `${request[1]}: ${response.text}`)
    }
  })
})
