/** A token gets the part of its grant that its client's registration and its user's roles allow at that moment. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { decodeJwt } from 'jose'
import { commitMarginMs } from '../../src/model/grants/revocation-times.ts'
import { authorizeUrl, callback, pkce, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { issuer, setupOnce, type TestResponse } from '../support/setup.ts'

const scopes = ['openid', 'offline_access', 'read:orders', 'admin:users', 'read:audit']
const resources = ['https://photos.example', 'https://films.example']
const grant_types = ['authorization_code' as const, 'refresh_token' as const]
const application = (client_id: string, more: object = {}) => ({
  ...secretOf(client_id),
  redirect_uris: [callback],
  grant_types,
  resources,
  scopes,
  ...more,
})
const secretOf = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret-0123456789` })
const device = 'urn:ietf:params:oauth:grant-type:device_code' as const

const running = setupOnce({
  declared: {
    clients: [
      application('console'),
      application('opaque', { access_token_format: 'opaque' }),
      application('changing'),
      { ...secretOf('job'), scopes: ['admin:users'] },
      { client_id: 'tool', token_endpoint_auth_method: 'none', grant_types: [device, 'refresh_token'], scopes },
    ],
    users: [...users, { id: 'keeper', roles: ['gatehouse-owner'] }],
  },
})

/** Tokens are revoked that are issued in the second of the change and while its commit may take. */
const setRoles = async (...roles: string[]) => {
  await running.identity.management.updateUser('alice', { roles })
  running.clock.advance(1_000 + commitMarginMs)
}
const changeClient = (more: object) => running.identity.management.updateClient('changing', more)
beforeEach(async () => {
  await setRoles('support')
  await changeClient({ scopes, resources, grant_types })
})

const pageOf = async (browser: TestBrowser, client_id: string, scope: string, more: Record<string, string> = {}) => {
  const { code_verifier, code_challenge } = pkce()
  const request = { client_id, response_type: 'code', scope, code_challenge, prompt: 'consent', ...more }
  return { code_verifier, page: await browser.signIn(await browser.get(authorizeUrl(request))) }
}

/** The form of a code exchange, after login and consent. */
async function codeFor(client_id: string, scope: string, more: Record<string, string> = {}) {
  const browser = new TestBrowser(running)
  const { code_verifier, page } = await pageOf(browser, client_id, scope, more)
  const { code = '' } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  return { grant_type: 'authorization_code', code, code_verifier, ...secretOf(client_id) }
}

const tokens = async (client_id: string, scope: string, more: Record<string, string> = {}) => {
  const response = await running.post('/token', await codeFor(client_id, scope, more))
  assert.equal(response.status, 200, response.text)
  return response.body as Record<string, string>
}

const refresh = (client_id: string, refresh_token: unknown, more: Record<string, string> = {}) =>
  running.post('/token', {
    grant_type: 'refresh_token',
    refresh_token: String(refresh_token),
    ...secretOf(client_id),
    ...more,
  })

const introspect = async (client_id: string, token: unknown) =>
  (await running.post('/introspect', { token: String(token), ...secretOf(client_id) })).body

const wholeScope = scopes.join(' ')

test('management scopes are granted and shown only as far as the user’s roles allow', async () => {
  const { page } = await pageOf(new TestBrowser(running), 'console', wholeScope)
  assert.match(page.text, /Read orders/)
  assert.doesNotMatch(page.text, /Administer users|Read audit/)
  for (const client of ['console', 'opaque']) {
    await setRoles('gatehouse-auditor')
    const { scope, access_token } = await tokens(client, wholeScope)
    assert.equal(scope, 'openid offline_access read:orders read:audit')
    assert.equal((await introspect(client, access_token)).scope, scope)
    await setRoles('gatehouse-operator')
    assert.equal((await tokens(client, wholeScope)).scope, wholeScope)
  }
})

test('a user whose roles allow none of the requested scopes is not asked for consent', async () => {
  const browser = new TestBrowser(running)
  for (const scope of ['admin:users', 'admin:users offline_access']) {
    const request = { client_id: 'console', response_type: 'code', scope, code_challenge: pkce().code_challenge }
    const login = await browser.get(authorizeUrl(request))
    const response = login.text.includes('action="/login"') ? await browser.signIn(login) : login
    assert.equal(redirectParameters(response).error, 'access_denied')
  }
})

test('a role gained after consent requires new consent before it adds scopes', async () => {
  await running.identity.management.withdrawConsent('alice', 'console')
  const browser = new TestBrowser(running)
  const { page } = await pageOf(browser, 'console', wholeScope)
  await setRoles('gatehouse-owner')
  const { code = '' } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  assert.ok(code, 'consent counts for what the page named')
  const request = { client_id: 'console', response_type: 'code', scope: wholeScope, prompt: 'none' }
  const silent = await browser.get(authorizeUrl({ ...request, code_challenge: pkce().code_challenge }))
  assert.equal(redirectParameters(silent).error, 'consent_required')
})

test('consent adds no scope that its page did not name, whatever roles were added meanwhile', async () => {
  const browser = new TestBrowser(running)
  const { page, code_verifier } = await pageOf(browser, 'console', wholeScope)
  await setRoles('gatehouse-owner')
  const { code = '' } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...secretOf('console') }
  assert.equal((await running.post('/token', exchange)).body.scope, 'openid offline_access read:orders')
})

test('a role removed between code and token adds no scopes', async () => {
  await setRoles('gatehouse-owner')
  const [some, all] = [await codeFor('console', wholeScope), await codeFor('console', 'admin:users')]
  await setRoles()
  const { body } = await running.post('/token', some)
  assert.equal(body.scope, 'openid offline_access read:orders')
  assert.equal(decodeJwt(String(body.access_token)).scope, body.scope)
  assert.equal((await running.post('/token', all)).body.error, 'invalid_grant')
})

test('every refresh returns the scopes that the roles allow at that moment', async () => {
  for (const client of ['console', 'opaque']) {
    await setRoles('gatehouse-operator')
    let { refresh_token } = await tokens(client, wholeScope)
    for (const [roles, scope] of [
      [['gatehouse-auditor'], 'openid offline_access read:orders read:audit'],
      [[], 'openid offline_access read:orders'],
      [['gatehouse-owner'], wholeScope],
    ] as const) {
      await setRoles(...roles)
      assert.equal((await introspect(client, refresh_token)).scope, scope)
      const { body } = await refresh(client, refresh_token)
      assert.equal(body.scope, scope)
      assert.equal((await introspect(client, body.access_token)).scope, scope)
      refresh_token = String(body.refresh_token)
    }
  }
})

test('a refresh that names a lost scope gets the others, or invalid_scope if none are left', async () => {
  await setRoles('gatehouse-owner')
  const { refresh_token } = await tokens('console', wholeScope)
  await setRoles()
  const lost = await refresh('console', refresh_token, { scope: 'admin:users' })
  assert.equal(lost.body.error, 'invalid_scope')
  const some = await refresh('console', refresh_token, { scope: 'admin:users read:orders' })
  assert.equal(some.body.scope, 'read:orders')
  const wider = await refresh('console', some.body.refresh_token, { scope: 'read:orders read:keys' })
  assert.equal(wider.body.error, 'invalid_scope', 'the grant never had it')
})

test('a device gets no management scope beyond its user’s roles, initially or on refresh', async () => {
  const grant = await approveDevice('gatehouse-auditor', async (page) => {
    assert.match(page.text, /Read audit/)
    assert.doesNotMatch(page.text, /Administer users/)
    await setRoles('gatehouse-owner')
  })
  assert.equal(grant.body.scope, 'openid offline_access read:orders read:audit', 'no more than the page named')
  await setRoles()
  const form = { grant_type: 'refresh_token', client_id: 'tool', refresh_token: String(grant.body.refresh_token) }
  assert.equal((await running.post('/token', form)).body.scope, 'openid offline_access read:orders')
  const late = await approveDevice('gatehouse-owner', async () => {}, setRoles)
  assert.equal(late.body.scope, 'openid offline_access read:orders', 'the role was removed before the poll')
})

test('a device is denied at once if its user’s roles allow none of the requested scopes', async () => {
  const { page, device_code } = await enterCode('admin:users')
  assert.match(page.text, /has none of the permissions that this device requested/)
  const response = await running.post('/token', { grant_type: device, device_code, client_id: 'tool' })
  assert.equal(response.body.error, 'access_denied')
})

async function enterCode(scope: string): Promise<{ browser: TestBrowser; page: TestResponse; device_code: string }> {
  const { body } = await running.post('/device_authorization', { client_id: 'tool', scope })
  const user_code = String(body.user_code)
  const browser = new TestBrowser(running)
  const form = await browser.signIn(await browser.get(`/device?user_code=${user_code}`))
  return { browser, page: await browser.submit(form, { user_code }), device_code: String(body.device_code) }
}

/** The poll of a device whose user had a role when the page was shown. */
async function approveDevice(
  role: string,
  shown: (page: TestResponse) => Promise<void>,
  approved: () => Promise<unknown> = async () => {},
): Promise<TestResponse> {
  await setRoles(role)
  const { browser, page, device_code } = await enterCode(wholeScope)
  await shown(page)
  assert.match((await browser.submit(page, { decision: 'allow' })).text, /Device connected/)
  await approved()
  return running.post('/token', { grant_type: device, device_code, client_id: 'tool' })
}

test('a client acting for itself keeps its management scopes without roles', async () => {
  const { body } = await running.post('/token', { grant_type: 'client_credentials', ...secretOf('job') })
  assert.equal(body.scope, 'admin:users')
})

test('a refresh omits scopes that the client has lost and restores them when it regains them', async () => {
  const { refresh_token } = await tokens('changing', 'openid offline_access read:orders')
  await changeClient({ scopes: ['openid', 'offline_access'] })
  const narrowed = await refresh('changing', refresh_token)
  assert.equal(narrowed.body.scope, 'openid offline_access')
  assert.equal(decodeJwt(String(narrowed.body.access_token)).aud, `${issuer}/userinfo`)
  await changeClient({ scopes })
  assert.equal((await refresh('changing', narrowed.body.refresh_token)).body.scope, 'openid offline_access read:orders')
})

test('a refresh with nothing left is rejected and leaves the token unchanged', async () => {
  const { refresh_token } = await tokens('changing', 'offline_access read:orders')
  for (const left of [['openid'], ['openid', 'offline_access'], ['read:orders']]) {
    await changeClient({ scopes: left })
    assert.equal((await refresh('changing', refresh_token)).body.error, 'invalid_grant', left.join(' '))
    assert.deepEqual(await introspect('changing', refresh_token), { active: false })
  }
  await changeClient({ scopes })
  assert.equal((await refresh('changing', refresh_token)).body.scope, 'offline_access read:orders')
})

test('a client that lost the refresh grant cannot refresh', async () => {
  const { refresh_token } = await tokens('changing', 'offline_access read:orders')
  await changeClient({ grant_types: ['authorization_code'] })
  assert.equal((await refresh('changing', refresh_token)).body.error, 'unauthorized_client')
  assert.ok(!('refresh_token' in (await tokens('changing', 'offline_access read:orders'))))
})

test('a refresh for a resource that the client has lost is rejected, without a substitute', async () => {
  const [photos = ''] = resources
  const { refresh_token } = await tokens('changing', 'offline_access read:orders', { resource: photos })
  await changeClient({ resources: ['https://films.example'] })
  for (const more of [{}, { resource: photos }, { resource: issuer }, { resource: 'https://films.example' }]) {
    const { body } = await refresh('changing', refresh_token, more as Record<string, string>)
    assert.equal(body.error, 'invalid_target', JSON.stringify(more))
  }
})

test('a consent page is stale once the user may grant nothing that it named', async () => {
  await changeClient({ scopes: ['read:keys', 'reveal:personal-data'] })
  const shownTo = async (role: string) => {
    await setRoles(role)
    const browser = new TestBrowser(running)
    return { browser, ...(await pageOf(browser, 'changing', 'read:keys reveal:personal-data')) }
  }
  const moved = await shownTo('gatehouse-auditor')
  await setRoles('gatehouse-support')
  assert.equal((await moved.browser.submit(moved.page, { decision: 'allow' })).status, 400)
  const demoted = await shownTo('gatehouse-auditor')
  await setRoles()
  const response = await demoted.browser.submit(demoted.page, { decision: 'allow' })
  assert.equal(redirectParameters(response).error, 'access_denied')
})
