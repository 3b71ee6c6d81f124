import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authenticate } from '../../../src/index.ts'
import { Authenticator } from '../../support/factors/authenticator.ts'
import { passkeyIds, registerPasskey, signInByPasskey } from '../../support/factors/passkeys.ts'
import { TestBrowser } from '../../support/journey.ts'
import {
  administrators,
  call,
  clientToken,
  consoleClient,
  createFixtures,
  type Role,
  tokenOf,
} from '../../support/management/administrators.ts'
import { setup, setupOnce } from '../../support/setup.ts'

const secret = 'secret-0123456789abcdef'
const script = { client_id: 'script', client_secret: secret, scopes: ['admin:users'] }
const running = setupOnce({ declared: { clients: [consoleClient, script], users: administrators } })

const as = async (role: Role, method: string, url: string) =>
  call(running, await tokenOf(running, role), { method, url })

test('passkeys are listed without their keys, and masked for a caller without personal data', async () => {
  const { user, passkey } = await createFixtures(running).passkey()
  const path = `/admin/v1/users/${user}/passkeys`
  const created_at = new Date(running.clock.now()).toISOString()
  const common = { id: passkey, synced: false, aaguid: '00000000-0000-0000-0000-000000000000', created_at }
  const shown = { ...common, transports: ['hybrid', 'internal'] }
  const items = async (role: Role) => (await as(role, 'GET', path)).body.items
  assert.deepEqual(await items('gatehouse-owner'), [{ ...shown, name: 'Phone of Carla' }])
  assert.deepEqual(await items('gatehouse-auditor'), [{ ...shown, name: '•••' }])
})

test('an administrator removes even the last way to sign in, of the user in the path only', async () => {
  const things = createFixtures(running)
  const { user, passkey } = await things.passkey()
  await running.database.query('UPDATE identity.account SET password_hash = NULL WHERE id = $1', [user])
  const other = await things.user()
  assert.equal((await as('gatehouse-owner', 'DELETE', `/admin/v1/users/${other}/passkeys/${passkey}`)).status, 404)
  assert.equal((await as('gatehouse-owner', 'DELETE', `/admin/v1/users/${user}/passkeys/${passkey}`)).status, 204)
  assert.equal((await as('gatehouse-owner', 'DELETE', `/admin/v1/users/${user}/passkeys/${passkey}`)).status, 404)
})

test('the passkeys of an administrator are removed only by who has all of their scopes', async () => {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'owner', 'a long and quiet password')
  const authenticator = new Authenticator()
  await registerPasskey(browser, authenticator)
  const [passkey] = await passkeyIds(browser)
  const refused = await as('gatehouse-operator', 'DELETE', `/admin/v1/users/owner/passkeys/${passkey}`)
  assert.equal(refused.status, 403)
  assert.equal((await as('gatehouse-owner', 'DELETE', `/admin/v1/users/owner/passkeys/${passkey}`)).status, 403)
  const other = new TestBrowser(running)
  assert.equal((await signInByPasskey(other, await other.get('/account'), authenticator)).status, 303)
})

test('a person who removes a passkey signed in within ten minutes; a client is not asked', async () => {
  const { user, passkey } = await createFixtures(running).passkey()
  const request = { method: 'DELETE', url: `/admin/v1/users/${user}/passkeys/${passkey}` }
  const token = await tokenOf(running, 'gatehouse-owner')
  running.clock.advance(11 * 60_000)
  const refused = await call(running, token, request)
  assert.equal(refused.status, 401, refused.text)
  const challenge = String(refused.headers['www-authenticate'])
  assert.match(challenge, /error="insufficient_user_authentication", max_age="600"/)
  assert.equal((await call(running, await clientToken(running, 'script', secret), request)).status, 204)
})

test('an API key of a user, which has no sign-in, removes no passkey', async (t) => {
  let key = ''
  const authenticate: Authenticate = async () => {
    const { owner, kind, scopes } = (await keyed.identity.resolveApiKey(key)) ?? assert.fail('the key is invalid')
    return { subject: owner, kind, scopes }
  }
  const keyed = await setup({ declared: { clients: [consoleClient], users: administrators }, authenticate })
  t.after(() => keyed.close())
  const made = await keyed.identity.management.createApiKey({ owner: 'owner', name: 'k', scopes: ['admin:users'] })
  key = made.key ?? ''
  const url = '/admin/v1/users/operator/passkeys/00000000-0000-4000-8000-000000000000'
  const refused = await call(keyed, key, { method: 'DELETE', url })
  assert.equal(refused.status, 401, refused.text)
  assert.match(String(refused.headers['www-authenticate']), /insufficient_user_authentication/)
})
