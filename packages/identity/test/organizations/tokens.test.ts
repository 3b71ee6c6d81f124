import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import {
  authorizeUrl,
  getTokens,
  hiddenFields,
  pkce,
  redirectParameters,
  type TestBrowser,
} from '../support/journey.ts'
import {
  introspect,
  invoices,
  type Organizations,
  password,
  portalSecret,
  refresh,
  send,
  setupOrganizations,
  signedIn,
  tokensOf,
} from '../support/management/organizations.ts'
import type { TestResponse } from '../support/setup.ts'

let running: Organizations
before(async () => {
  running = await setupOrganizations()
})
after(() => running.close())

const request = (more: Record<string, string> = {}) => ({
  client_id: 'portal',
  response_type: 'code',
  scope: 'openid offline_access read:invoices write:invoices',
  code_challenge: pkce().code_challenge,
  ...more,
})

const ask = async (browser: TestBrowser, more?: Record<string, string>): Promise<TestResponse> =>
  browser.get(authorizeUrl(request(more)))

test('access and ID tokens name the organization and the member’s roles in it', async () => {
  const { access, id, scope } = await tokensOf(running, 'ann', 'acme')
  assert.deepEqual([access.org_id, access.org_roles], ['acme', ['editor']])
  assert.deepEqual([id.org_id, id.org_roles], ['acme', ['editor']])
  assert.equal(scope, 'openid offline_access read:invoices write:invoices')
})

test('the scopes of a token are limited to the permissions of the roles in its organization', async () => {
  const { access, scope } = await tokensOf(running, 'ann', 'beta')
  assert.deepEqual([access.org_id, access.org_roles], ['beta', ['viewer']])
  assert.equal(scope, 'openid offline_access read:invoices')
})

test('a token for one organization has no trace of another', async () => {
  const { accessToken, id, access } = await tokensOf(running, 'ann', 'acme')
  assert.doesNotMatch(JSON.stringify([access, id, await introspect(running, accessToken)]), /beta|viewer/i)
})

test('introspection names the organization, for JWTs, opaque and refresh tokens', async () => {
  const { accessToken, refreshToken } = await tokensOf(running, 'ann', 'acme')
  const secret = { client_id: 'opaque', client_secret: portalSecret.client_secret }
  const extra = { organization: 'acme' }
  const opaque = await getTokens(running, { client: 'opaque', secret, user: ['ann', password], extra })
  assert.match(opaque.access_token ?? '', /^at_/)
  const seen = await Promise.all([
    introspect(running, accessToken),
    introspect(running, refreshToken),
    running.post('/introspect', { token: opaque.access_token ?? '', ...secret }).then(({ body }) => body),
  ])
  for (const one of seen) assert.deepEqual([one.org_id, one.org_roles], ['acme', ['editor']])
})

test('a token for a resource of its own carries the organization and its permissions', async () => {
  const extra = { organization: 'beta', resource: invoices }
  const options = { client: 'portal', secret: portalSecret, scope: 'read:invoices write:invoices', extra }
  const tokens = await getTokens(running, { ...options, user: ['ann', password] })
  const { aud, scope, org_id } = decodeJwt(tokens.access_token ?? '')
  assert.deepEqual([aud, scope, org_id], [invoices, 'read:invoices', 'beta'])
})

test('an organization of which the user is no member, or that is unknown, is access_denied', async () => {
  const browser = await signedIn(running, 'sam')
  for (const organization of ['acme', 'nowhere']) {
    const { error, error_description } = redirectParameters(await ask(browser, { organization }))
    assert.deepEqual([error, error_description], ['access_denied', 'the user is not a member of the organization'])
  }
  const silent = redirectParameters(await ask(browser, { organization: 'acme', prompt: 'none' }))
  assert.equal(silent.error, 'access_denied')
})

test('an organization that is no id is rejected at authorize and at PAR', async () => {
  const browser = await signedIn(running, 'ann')
  const { error } = redirectParameters(await ask(browser, { organization: 'a/b' }))
  assert.equal(error, 'invalid_request')
  const pushed = await running.post('/par', { ...request({ organization: '../x' }), ...portalSecret })
  assert.deepEqual([pushed.status, pushed.body.error], [400, 'invalid_request'])
})

test('a pushed request names the organization', async () => {
  const { code_verifier, code_challenge } = pkce()
  const form = { ...request({ organization: 'beta' }), code_challenge, ...portalSecret }
  const { body } = await running.post('/par', form)
  const browser = await signedIn(running, 'ann')
  const url = authorizeUrl({ client_id: 'portal', request_uri: String(body.request_uri) })
  const { code = '' } = redirectParameters(await browser.get(url))
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...portalSecret }
  const tokens = await running.post('/token', exchange)
  assert.equal(decodeJwt(String(tokens.body.access_token)).org_id, 'beta')
  const stranger = await signedIn(running, 'sam')
  const again = await running.post('/par', form)
  const refused = await stranger.get(authorizeUrl({ client_id: 'portal', request_uri: String(again.body.request_uri) }))
  assert.equal(redirectParameters(refused).error, 'access_denied')
})

test('a member of several organizations chooses one, and prompt=none reports that', async () => {
  const browser = await signedIn(running, 'ann')
  assert.equal(redirectParameters(await ask(browser, { prompt: 'none' })).error, 'interaction_required')
  const { code_verifier, code_challenge } = pkce()
  const page = await ask(browser, { code_challenge, organization: '' })
  assert.match(page.text, /Choose an organization/)
  assert.match(page.text, /Acme Ltd[\s\S]*Beta Inc/)
  const { code = '' } = redirectParameters(await browser.follow(await browser.submit(page, { organization: 'beta' })))
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...portalSecret }
  const { body } = await running.post('/token', exchange)
  assert.equal(decodeJwt(String(body.access_token)).org_id, 'beta')
})

test('the choice of a foreign organization is denied, and the page works in its session only', async () => {
  const browser = await signedIn(running, 'ann')
  const page = await ask(browser)
  const chosen = await browser.follow(await browser.submit(page, { organization: 'nowhere' }))
  assert.equal(redirectParameters(chosen).error, 'access_denied')
  const other = await signedIn(running, 'ann')
  assert.equal((await other.submit(page, { organization: 'acme' })).status, 403)
  const named = await ask(browser, { organization: 'acme', prompt: 'consent' })
  const { form_token = '', continuation = '' } = hiddenFields(named)
  const swapped = await browser.post('/organization', { form_token, continuation, organization: 'beta' })
  assert.equal(swapped.status, 400, 'what the client named is not a choice')
})

test('prompt=none switches the organization when the request names it', async () => {
  const browser = await signedIn(running, 'ann')
  for (const organization of ['acme', 'beta', 'acme']) {
    const { code_verifier, code_challenge } = pkce()
    const answer = redirectParameters(await ask(browser, { organization, prompt: 'none', code_challenge }))
    const exchange = { grant_type: 'authorization_code', code: answer.code ?? '', code_verifier, ...portalSecret }
    const { body } = await running.post('/token', exchange)
    assert.equal(decodeJwt(String(body.access_token)).org_id, organization)
  }
})

test('a member of a single organization is asked nothing', async () => {
  const { access } = await tokensOf(running, 'vera')
  assert.deepEqual([access.org_id, access.org_roles], ['acme', []])
})

test('a user without a membership gets no trace of organizations in tokens (CVE-2026-9791)', async () => {
  const { access, id, accessToken, scope } = await tokensOf(running, 'sam', undefined, 'openid read:users')
  assert.equal(scope, 'openid read:users')
  const known = await introspect(running, accessToken)
  for (const one of [access, id, known]) {
    assert.deepEqual(
      Object.keys(one).filter((name) => name.startsWith('org')),
      [],
    )
  }
})

test('a permission of a role is granted to nobody without an organization', async () => {
  const { scope } = await tokensOf(running, 'sam', undefined, 'openid read:users read:invoices write:members')
  assert.equal(scope, 'openid read:users')
})

test('a client that is not for organizations gets none, and may not name one', async () => {
  const secret = { client_id: 'single', client_secret: portalSecret.client_secret }
  const tokens = await getTokens(running, { client: 'single', secret, scope: 'openid', user: ['ann', password] })
  assert.equal(decodeJwt(tokens.access_token ?? '').org_id, undefined)
  const browser = await signedIn(running, 'ann')
  const named = redirectParameters(await ask(browser, { client_id: 'single', organization: 'acme' }))
  assert.equal(named.error, 'invalid_request')
})

test('a client that requires an organization rejects users who are members of none', async () => {
  const browser = await signedIn(running, 'sam')
  assert.equal(redirectParameters(await ask(browser, { client_id: 'business' })).error, 'access_denied')
})

test('refreshing keeps the organization and reads the roles again', async () => {
  const { refreshToken } = await tokensOf(running, 'ann', 'acme')
  const first = await refresh(running, refreshToken)
  const claims = decodeJwt(String(first.body.access_token))
  assert.deepEqual([claims.org_id, claims.org_roles], ['acme', ['editor']])
  await setRoles('acme', 'ann', ['viewer'])
  const second = await refresh(running, String(first.body.refresh_token))
  const changed = decodeJwt(String(second.body.access_token))
  assert.deepEqual([changed.org_roles, changed.scope], [['viewer'], 'openid offline_access read:invoices'])
  await setRoles('acme', 'ann', ['editor'])
})

test('a change of a template reaches the members of all organizations', async () => {
  const [acme, beta] = [await tokensOf(running, 'ann', 'acme'), await tokensOf(running, 'ann', 'beta')]
  await putTemplate('editor', ['write:invoices'])
  await putTemplate('viewer', [])
  const scopes = []
  for (const { refreshToken } of [acme, beta]) scopes.push((await refresh(running, refreshToken)).body.scope)
  assert.deepEqual(scopes, ['openid offline_access write:invoices', 'openid offline_access'])
  await putTemplate('editor', ['read:invoices', 'write:invoices'])
  await putTemplate('viewer', ['read:invoices'])
})

test('a role of one organization is invisible in another', async () => {
  const owner = await management()
  const path = '/admin/v1/organizations/acme/roles/auditor'
  assert.equal((await send(running, owner, 'PUT', path, { permissions: ['read:invoices'] })).status, 204)
  const keys = async (organization: string) => {
    const { body } = await send(running, owner, 'GET', `/admin/v1/organizations/${organization}/roles`)
    return (body.items as { key: string }[]).map(({ key }) => key)
  }
  assert.ok((await keys('acme')).includes('auditor'))
  assert.ok(!(await keys('beta')).includes('auditor'))
  const granted = await send(running, owner, 'PUT', '/admin/v1/organizations/beta/members/ann', { roles: ['auditor'] })
  assert.equal(granted.status, 422, granted.text)
})

test('removing a member ends refreshing, introspection and userinfo at once', async () => {
  await setRoles('acme', 'sam', ['editor'])
  const inAcme = await tokensOf(running, 'sam', 'acme')
  const other = await tokensOf(running, 'ann', 'beta')
  assert.equal((await introspect(running, inAcme.accessToken)).active, true)
  const owner = await management()
  const removed = await send(running, owner, 'DELETE', '/admin/v1/organizations/acme/members/sam')
  assert.equal(removed.status, 204, removed.text)
  assert.equal((await refresh(running, inAcme.refreshToken)).body.error, 'invalid_grant')
  assert.deepEqual(await introspect(running, inAcme.accessToken), { active: false })
  assert.deepEqual(await introspect(running, inAcme.refreshToken), { active: false })
  assert.equal((await send(running, inAcme.accessToken, 'GET', '/userinfo')).status, 401)
  const { revocations } = await running.identity.revocations(undefined)
  assert.ok(revocations.some((one) => 'grant' in one && one.grant === inAcme.access.grant_id))
  assert.equal((await introspect(running, other.accessToken)).active, true)
  assert.equal((await refresh(running, other.refreshToken)).status, 200)
})

test('a code that was issued before the membership ended is worth nothing', async () => {
  await setRoles('acme', 'sam', ['editor'])
  const browser = await signedIn(running, 'sam')
  const { code_verifier, code_challenge } = pkce()
  const { code = '' } = redirectParameters(await ask(browser, { organization: 'acme', code_challenge }))
  await send(running, await management(), 'DELETE', '/admin/v1/organizations/acme/members/sam')
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...portalSecret }
  assert.equal((await running.post('/token', exchange)).body.error, 'invalid_grant')
})

test('a suspended organization ends its tokens, and nobody acts in it until it is resumed', async () => {
  const tokens = await tokensOf(running, 'bob', 'beta')
  const owner = await management()
  const set = (status: string) => send(running, owner, 'PATCH', '/admin/v1/organizations/beta', { status })
  assert.equal((await set('suspended')).status, 200)
  assert.equal((await refresh(running, tokens.refreshToken)).body.error, 'invalid_grant')
  assert.deepEqual(await introspect(running, tokens.accessToken), { active: false })
  const browser = await signedIn(running, 'bob')
  assert.equal(redirectParameters(await ask(browser, { organization: 'beta' })).error, 'access_denied')
  await set('active')
  assert.ok(redirectParameters(await ask(browser, { organization: 'beta' })).code)
})

test('introspecting a grant without an organization asks for none', async () => {
  const plain = await tokensOf(running, 'sam', undefined, 'openid offline_access read:users')
  const grants = await running.database.query('SELECT organization_id FROM identity.grant_record WHERE id = $1', [
    plain.access.grant_id,
  ])
  assert.deepEqual(grants.rows, [{ organization_id: null }])
  await running.database.query('ALTER TABLE identity.membership RENAME TO membership_away')
  try {
    assert.equal((await introspect(running, plain.accessToken)).active, true)
  } finally {
    await running.database.query('ALTER TABLE identity.membership_away RENAME TO membership')
  }
})

test('a consent page names the organization, and the decision is void when it has changed', async () => {
  const consent = { prompt: 'consent', scope: 'openid' }
  const browser = await signedIn(running, 'vera')
  const page = await ask(browser, consent)
  assert.match(page.text, /For the organization Acme Ltd/)
  const owner = await management()
  await send(running, owner, 'DELETE', '/admin/v1/organizations/acme/members/vera')
  await send(running, owner, 'PUT', '/admin/v1/organizations/beta/members/vera', { roles: [] })
  assert.equal((await browser.submit(page, { decision: 'allow' })).status, 400)
  await send(running, owner, 'DELETE', '/admin/v1/organizations/beta/members/vera')
  assert.equal((await browser.submit(page, { decision: 'allow' })).status, 400)
  await setRoles('acme', 'vera', [])
})

let ownerToken: Promise<string> | undefined

/** A token of a caller who may manage organizations. */
function management(): Promise<string> {
  const options = { client: 'console', scope: 'openid admin:organizations', user: ['owner', password] as const }
  ownerToken ??= getTokens(running, options).then(({ access_token }) => access_token ?? assert.fail('no token'))
  return ownerToken
}

async function setRoles(organization: string, user: string, roles: readonly string[]): Promise<void> {
  const path = `/admin/v1/organizations/${organization}/members/${user}`
  const response = await send(running, await management(), 'PUT', path, { roles })
  assert.equal(response.status, 204, response.text)
}

async function putTemplate(role: string, permissions: readonly string[]): Promise<void> {
  const path = `/admin/v1/organization-roles/${role}`
  const response = await send(running, await management(), 'PUT', path, { permissions })
  assert.equal(response.status, 204, response.text)
}
