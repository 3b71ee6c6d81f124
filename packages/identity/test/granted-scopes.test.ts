/** What of a grant is given: as far as its client is registered for it and its user's roles allow it, each time anew. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { isManagementScope, managementRoles, scopesOfRoles } from '../src/model/management-roles.ts'
import { filterPermittedScopes, leavesNoAccess, userScopes } from '../src/oauth/scope.ts'
import { answerParameters, authorizeUrl, callback, pkce, TestBrowser, users } from './journey.ts'
import { type Answer, issuer, served } from './setup.ts'

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

const running = served({
  declared: {
    clients: [
      application('console'),
      application('opaque', { access_token_format: 'opaque' }),
      application('losing'),
      { ...secretOf('job'), scopes: ['admin:users'] },
      { client_id: 'tool', token_endpoint_auth_method: 'none', grant_types: [device, 'refresh_token'], scopes },
    ],
    users: [...users, { id: 'keeper', roles: ['gatehouse-owner'] }],
  },
})

/** A second passes: what was issued in the second of the change is revoked with what was issued before. */
const setRoles = async (...roles: string[]) => {
  await running.identity.management.updateUser('alice', { roles })
  running.clock.advance(1_000)
}
const register = (more: object) => running.identity.management.updateClient('losing', more)
beforeEach(async () => {
  await setRoles('support')
  await register({ scopes, resources, grant_types })
})

const pageOf = async (browser: TestBrowser, client_id: string, scope: string, more: Record<string, string> = {}) => {
  const { code_verifier, code_challenge } = pkce()
  const request = { client_id, response_type: 'code', scope, code_challenge, prompt: 'consent', ...more }
  return { code_verifier, page: await browser.signIn(await browser.get(authorizeUrl(request))) }
}

/** A code and what its exchange needs, after login and consent. */
async function codeFor(client_id: string, scope: string, more: Record<string, string> = {}) {
  const browser = new TestBrowser(running)
  const { code_verifier, page } = await pageOf(browser, client_id, scope, more)
  const { code = '' } = answerParameters(await browser.submit(page, { decision: 'allow' }))
  return { grant_type: 'authorization_code', code, code_verifier, ...secretOf(client_id) }
}

const tokens = async (client_id: string, scope: string, more: Record<string, string> = {}) => {
  const answer = await running.post('/token', await codeFor(client_id, scope, more))
  assert.equal(answer.status, 200, answer.text)
  return answer.body as Record<string, string>
}

const refresh = (client_id: string, refresh_token: unknown, more: Record<string, string> = {}) =>
  running.post('/token', {
    grant_type: 'refresh_token',
    refresh_token: String(refresh_token),
    ...secretOf(client_id),
    ...more,
  })

const introspected = async (client_id: string, token: unknown) =>
  (await running.post('/introspect', { token: String(token), ...secretOf(client_id) })).body

const wholeScope = scopes.join(' ')

test('a permitted scope is registered and, where it belongs to management, allowed by a role', () => {
  const names = fc.constantFrom(...userScopes, ...scopesOfRoles(managementRoles), 'read:orders', 'admin:orders')
  const lists = fc.record({
    granted: fc.uniqueArray(names),
    registered: fc.uniqueArray(names),
    roles: fc.uniqueArray(fc.constantFrom(...managementRoles, 'support', 'gatehouse-nobody')),
  })
  fc.assert(
    fc.property(lists, ({ granted, registered, roles }) => {
      const permitted = filterPermittedScopes(granted, { scopes: registered }, { roles })
      for (const scope of granted) {
        const allowed = !isManagementScope(scope) || scopesOfRoles(roles).has(scope)
        assert.equal(permitted.includes(scope), registered.includes(scope) && allowed, scope)
      }
      assert.ok(permitted.every((scope) => granted.includes(scope)))
    }),
  )
})

test('a person is given no scope that belongs between services, whatever roles they hold', () => {
  const scopes = ['openid', 'read:revocations', 'read:api-keys', 'write:reserved-mails', 'write:audit', 'read:events']
  assert.deepEqual(filterPermittedScopes(scopes, { scopes }, { roles: ['gatehouse-owner'] }), ['openid'])
})

test('nothing is left of a grant when it lost all but the leave to refresh', () => {
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

test('a management scope is given as far as the roles of the user allow it, and the page names no more', async () => {
  const { page } = await pageOf(new TestBrowser(running), 'console', wholeScope)
  assert.match(page.text, /Read orders/)
  assert.doesNotMatch(page.text, /Administer users|Read audit/)
  for (const client of ['console', 'opaque']) {
    await setRoles('gatehouse-auditor')
    const { scope, access_token } = await tokens(client, wholeScope)
    assert.equal(scope, 'openid offline_access read:orders read:audit')
    assert.equal((await introspected(client, access_token)).scope, scope)
    await setRoles('gatehouse-operator')
    assert.equal((await tokens(client, wholeScope)).scope, wholeScope)
  }
})

test('a user whose roles allow none of the scopes asked for is no reason to ask them', async () => {
  const browser = new TestBrowser(running)
  for (const scope of ['admin:users', 'admin:users offline_access']) {
    const request = { client_id: 'console', response_type: 'code', scope, code_challenge: pkce().code_challenge }
    const login = await browser.get(authorizeUrl(request))
    const answer = login.text.includes('action="/login"') ? await browser.signIn(login) : login
    assert.equal(answerParameters(answer).error, 'access_denied')
  }
})

test('a role that is gained after consent was given is asked about before it brings scopes', async () => {
  await running.identity.management.withdrawConsent('alice', 'console')
  const browser = new TestBrowser(running)
  const { page } = await pageOf(browser, 'console', wholeScope)
  await setRoles('gatehouse-owner')
  const { code = '' } = answerParameters(await browser.submit(page, { decision: 'allow' }))
  assert.ok(code, 'the answer to the page counts for what it named')
  const request = { client_id: 'console', response_type: 'code', scope: wholeScope, prompt: 'none' }
  const silent = await browser.get(authorizeUrl({ ...request, code_challenge: pkce().code_challenge }))
  assert.equal(answerParameters(silent).error, 'consent_required')
})

test('an answer brings no scope that its page did not name, whatever roles came meanwhile', async () => {
  const browser = new TestBrowser(running)
  const { page, code_verifier } = await pageOf(browser, 'console', wholeScope)
  await setRoles('gatehouse-owner')
  const { code = '' } = answerParameters(await browser.submit(page, { decision: 'allow' }))
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...secretOf('console') }
  assert.equal((await running.post('/token', exchange)).body.scope, 'openid offline_access read:orders')
})

test('a role that is removed between code and token brings nothing any more', async () => {
  await setRoles('gatehouse-owner')
  const [some, all] = [await codeFor('console', wholeScope), await codeFor('console', 'admin:users')]
  await setRoles()
  const { body } = await running.post('/token', some)
  assert.equal(body.scope, 'openid offline_access read:orders')
  assert.equal(decodeJwt(String(body.access_token)).scope, body.scope)
  assert.equal((await running.post('/token', all)).body.error, 'invalid_grant')
})

test('every refresh gives the scopes that the roles allow at that moment', async () => {
  for (const client of ['console', 'opaque']) {
    await setRoles('gatehouse-operator')
    let { refresh_token } = await tokens(client, wholeScope)
    for (const [roles, scope] of [
      [['gatehouse-auditor'], 'openid offline_access read:orders read:audit'],
      [[], 'openid offline_access read:orders'],
      [['gatehouse-owner'], wholeScope],
    ] as const) {
      await setRoles(...roles)
      assert.equal((await introspected(client, refresh_token)).scope, scope)
      const { body } = await refresh(client, refresh_token)
      assert.equal(body.scope, scope)
      assert.equal((await introspected(client, body.access_token)).scope, scope)
      refresh_token = String(body.refresh_token)
    }
  }
})

test('a refresh that asks for a lost scope by name gets the others, and an error when there are none', async () => {
  await setRoles('gatehouse-owner')
  const { refresh_token } = await tokens('console', wholeScope)
  await setRoles()
  const lost = await refresh('console', refresh_token, { scope: 'admin:users' })
  assert.equal(lost.body.error, 'invalid_scope')
  const some = await refresh('console', refresh_token, { scope: 'admin:users read:orders' })
  assert.equal(some.body.scope, 'read:orders')
  const wider = await refresh('console', some.body.refresh_token, { scope: 'read:orders read:keys' })
  assert.equal(wider.body.error, 'invalid_scope', 'the grant never held it')
})

test('a device gets no management scope that the roles of its user do not allow, then and later', async () => {
  const grant = await deviceGrant('gatehouse-auditor', async (page) => {
    assert.match(page.text, /Read audit/)
    assert.doesNotMatch(page.text, /Administer users/)
    await setRoles('gatehouse-owner')
  })
  assert.equal(grant.body.scope, 'openid offline_access read:orders read:audit', 'no more than the page named')
  await setRoles()
  const form = { grant_type: 'refresh_token', client_id: 'tool', refresh_token: String(grant.body.refresh_token) }
  assert.equal((await running.post('/token', form)).body.scope, 'openid offline_access read:orders')
  const taken = await deviceGrant('gatehouse-owner', async () => {}, setRoles)
  assert.equal(taken.body.scope, 'openid offline_access read:orders', 'the role went before the poll')
})

test('a device is told at once when its user may allow nothing of what it asks for', async () => {
  const { page, device_code } = await enteredCode('admin:users')
  assert.match(page.text, /has none of the permissions that this device asks for/)
  const answer = await running.post('/token', { grant_type: device, device_code, client_id: 'tool' })
  assert.equal(answer.body.error, 'access_denied')
})

async function enteredCode(scope: string): Promise<{ browser: TestBrowser; page: Answer; device_code: string }> {
  const { body } = await running.post('/device_authorization', { client_id: 'tool', scope })
  const user_code = String(body.user_code)
  const browser = new TestBrowser(running)
  const form = await browser.signIn(await browser.get(`/device?user_code=${user_code}`))
  return { browser, page: await browser.submit(form, { user_code }), device_code: String(body.device_code) }
}

/** The poll of a device whose user held a role when the page was shown. */
async function deviceGrant(
  role: string,
  shown: (page: Answer) => Promise<void>,
  approved: () => Promise<unknown> = async () => {},
): Promise<Answer> {
  await setRoles(role)
  const { browser, page, device_code } = await enteredCode(wholeScope)
  await shown(page)
  assert.match((await browser.submit(page, { decision: 'allow' })).text, /Device connected/)
  await approved()
  return running.post('/token', { grant_type: device, device_code, client_id: 'tool' })
}

test('a client acting for itself keeps its management scopes: roles are people’s', async () => {
  const { body } = await running.post('/token', { grant_type: 'client_credentials', ...secretOf('job') })
  assert.equal(body.scope, 'admin:users')
})

test('a refresh gives no scope that the client has lost, and all of them once it has them again', async () => {
  const { refresh_token } = await tokens('losing', 'openid offline_access read:orders')
  await register({ scopes: ['openid', 'offline_access'] })
  const narrowed = await refresh('losing', refresh_token)
  assert.equal(narrowed.body.scope, 'openid offline_access')
  assert.equal(decodeJwt(String(narrowed.body.access_token)).aud, `${issuer}/userinfo`)
  await register({ scopes })
  assert.equal((await refresh('losing', narrowed.body.refresh_token)).body.scope, 'openid offline_access read:orders')
})

test('a refresh of which nothing is left is refused, and leaves the token as it was', async () => {
  const { refresh_token } = await tokens('losing', 'offline_access read:orders')
  for (const left of [['openid'], ['openid', 'offline_access'], ['read:orders']]) {
    await register({ scopes: left })
    assert.equal((await refresh('losing', refresh_token)).body.error, 'invalid_grant', left.join(' '))
    assert.deepEqual(await introspected('losing', refresh_token), { active: false })
  }
  await register({ scopes })
  assert.equal((await refresh('losing', refresh_token)).body.scope, 'offline_access read:orders')
})

test('a client that lost the refresh grant refreshes nothing more', async () => {
  const { refresh_token } = await tokens('losing', 'offline_access read:orders')
  await register({ grant_types: ['authorization_code'] })
  assert.equal((await refresh('losing', refresh_token)).body.error, 'unauthorized_client')
  assert.ok(!('refresh_token' in (await tokens('losing', 'offline_access read:orders'))))
})

test('a refresh gives no token for a resource that the client has lost, and none for another instead', async () => {
  const [photos = ''] = resources
  const { refresh_token } = await tokens('losing', 'offline_access read:orders', { resource: photos })
  await register({ resources: ['https://films.example'] })
  for (const more of [{}, { resource: photos }, { resource: issuer }, { resource: 'https://films.example' }]) {
    const { body } = await refresh('losing', refresh_token, more as Record<string, string>)
    assert.equal(body.error, 'invalid_target', JSON.stringify(more))
  }
})

test('a page is stale when the user may no longer give anything of what it named', async () => {
  await register({ scopes: ['read:keys', 'reveal:personal-data'] })
  const shownTo = async (role: string) => {
    await setRoles(role)
    const browser = new TestBrowser(running)
    return { browser, ...(await pageOf(browser, 'losing', 'read:keys reveal:personal-data')) }
  }
  const moved = await shownTo('gatehouse-auditor')
  await setRoles('gatehouse-support')
  assert.equal((await moved.browser.submit(moved.page, { decision: 'allow' })).status, 400)
  const demoted = await shownTo('gatehouse-auditor')
  await setRoles()
  const answer = await demoted.browser.submit(demoted.page, { decision: 'allow' })
  assert.equal(answerParameters(answer).error, 'access_denied')
})
