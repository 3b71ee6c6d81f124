import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeJwt } from 'jose'
import {
  authorizeUrl,
  callback,
  clients,
  getTokens,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
} from '../support/journey.ts'
import { type Running, service, setup, type TestResponse } from '../support/setup.ts'

const secretOf = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret-0123456789` })
const application = (client_id: string, more: object = {}) => ({
  ...secretOf(client_id),
  redirect_uris: [callback],
  scopes: ['openid', 'profile', 'read:photos'],
  resources: ['https://photos.example'],
  ...more,
})
const photos = {
  id: 'https://photos.example',
  scopes: ['read:photos'],
  access_token_format: 'opaque' as const,
  access_token_lifetime_seconds: 600,
}

let running: Running
before(async () => {
  const declared = {
    clients: [
      ...clients,
      service,
      application('old', { require_pkce: false }),
      application('own', { skip_consent: true }),
      application('opaque', { access_token_format: 'opaque' }),
      application('plain'),
      { ...secretOf('watcher'), may_introspect: true },
      { ...secretOf('stranger') },
    ],
    users,
    resources: [photos],
  }
  running = await setup({ declared })
})
after(() => running.close())

const request = (client_id: string, more: Record<string, string> = {}) =>
  authorizeUrl({ client_id, response_type: 'code', scope: 'openid', ...more })
const exchange = (client: string, code: string | undefined, more: Record<string, string> = {}) =>
  running.post('/token', { grant_type: 'authorization_code', code: code ?? '', ...secretOf(client), ...more })

/** Goes through login and consent where they are needed. */
async function authorize(browser: TestBrowser, url: string): Promise<Record<string, string>> {
  let page = await browser.get(url)
  if (page.text.includes('action="/login"')) page = await browser.signIn(page)
  if (page.text.includes('action="/consent"')) page = await browser.submit(page, { decision: 'allow' })
  return redirectParameters(page)
}

const introspect = async (client: string, token: unknown): Promise<TestResponse['body']> =>
  (await running.post('/introspect', { token: String(token), ...secretOf(client) })).body

test('a client with require_pkce false may omit PKCE, but must complete it once started', async () => {
  const browser = new TestBrowser(running)
  const plain = await authorize(browser, request('old'))
  assert.equal((await exchange('old', plain.code)).status, 200)
  const { code_verifier, code_challenge } = pkce()
  const without = await authorize(browser, request('old', { code_challenge }))
  assert.equal((await exchange('old', without.code)).body.error, 'invalid_grant', 'the code_verifier is missing')
  const withIt = await authorize(browser, request('old', { code_challenge }))
  assert.equal((await exchange('old', withIt.code, { code_verifier })).status, 200)
  const downgraded = await authorize(browser, request('old'))
  assert.equal((await exchange('old', downgraded.code, { code_verifier })).body.error, 'invalid_grant')
  assert.equal((await authorize(browser, request('plain'))).error, 'invalid_request', 'other clients need it')
})

test('a client with skip_consent asks for consent only with prompt=consent', async () => {
  const browser = new TestBrowser(running)
  const { code_challenge } = pkce()
  const response = await browser.signIn(await browser.get(request('own', { code_challenge })))
  assert.ok(redirectParameters(response).code)
  const page = await browser.get(request('own', { code_challenge, prompt: 'consent' }))
  assert.match(page.text, /action="\/consent"/)
  const other = await browser.get(request('plain', { code_challenge }))
  assert.match(other.text, /action="\/consent"/)
})

test('a public client cannot skip PKCE or consent, or introspect', async () => {
  const open = { client_id: 'open', token_endpoint_auth_method: 'none' as const, redirect_uris: [callback] }
  for (const more of [{ require_pkce: false }, { skip_consent: true }, { may_introspect: true }]) {
    const [member = ''] = Object.keys(more)
    await assert.rejects(
      running.identity.management.createClient({ ...open, ...more }),
      new RegExp(`/${member} must be`),
    )
  }
})

test('only a client with may_introspect reads tokens of others', async () => {
  const { access_token } = await getTokens(running, { scope: 'openid' })
  const introspected = await introspect('watcher', access_token)
  assert.deepEqual(
    [introspected.active, introspected.sub, introspected.client_id, introspected.scope],
    [true, 'alice', 'web', 'openid'],
  )
  assert.deepEqual(await introspect('stranger', access_token), { active: false })
})

test('an opaque access token works at userinfo and introspection until it is revoked', async () => {
  const { code_verifier, code_challenge } = pkce()
  const { code } = await authorize(
    new TestBrowser(running),
    request('opaque', { code_challenge, scope: 'openid profile' }),
  )
  const { body } = await exchange('opaque', code, { code_verifier })
  const token = String(body.access_token)
  assert.match(token, /^at_[\w-]{43}$/)
  assert.ok(decodeJwt(String(body.id_token)).sub, 'the ID token stays a JWT')
  const userinfo = async () => running.http.inject({ url: '/userinfo', headers: { authorization: `Bearer ${token}` } })
  assert.equal((await userinfo()).json().name, 'Alice Adams')
  const introspected = await introspect('watcher', token)
  assert.deepEqual(
    [introspected.active, introspected.sub, introspected.token_type, introspected.scope],
    [true, 'alice', 'Bearer', 'openid profile'],
  )
  const { rows } = await running.database.query('SELECT * FROM identity.access_token')
  assert.ok(!JSON.stringify(rows).includes(token), 'the token is stored as a hash')
  await running.post('/revoke', { token, ...secretOf('opaque') })
  assert.deepEqual([await introspect('watcher', token), (await userinfo()).statusCode], [{ active: false }, 401])
})

test('an opaque access token expires', async () => {
  const { code_verifier, code_challenge } = pkce()
  const { code } = await authorize(new TestBrowser(running), request('opaque', { code_challenge }))
  const { access_token, expires_in } = (await exchange('opaque', code, { code_verifier })).body
  running.clock.advance(Number(expires_in) * 1000 - 1)
  assert.equal((await introspect('watcher', access_token)).active, true)
  running.clock.advance(1)
  assert.equal((await introspect('watcher', access_token)).active, false)
})

test('a resource sets the format, lifetime and scopes of its tokens', async () => {
  const { code_verifier, code_challenge } = pkce()
  const both = { code_challenge, scope: 'openid read:photos', resource: photos.id }
  const { code } = await authorize(new TestBrowser(running), request('plain', both))
  const { body } = await exchange('plain', code, { code_verifier })
  assert.match(String(body.access_token), /^at_/)
  assert.deepEqual([body.expires_in, body.scope], [600, 'read:photos'])
  const introspected = await introspect('watcher', body.access_token)
  assert.deepEqual([introspected.aud, introspected.scope], [photos.id, 'read:photos'])
})

test('acr_values, claims_locales and display are accepted as hints without effect', async () => {
  const { code_verifier, code_challenge } = pkce()
  const wishes = { acr_values: 'urn:example:gold', claims_locales: 'fr de', display: 'popup', code_challenge }
  const { code } = await authorize(new TestBrowser(running), request('plain', wishes))
  const { id_token } = (await exchange('plain', code, { code_verifier })).body
  const metadata = await running.http.inject('/.well-known/openid-configuration')
  assert.deepEqual(metadata.json().acr_values_supported, [decodeJwt(String(id_token)).acr])
  assert.deepEqual(metadata.json().display_values_supported, ['page'])
})

test('an essential acr that cannot be met fails the request (OpenID Connect Core 5.5.1.1)', async () => {
  const browser = new TestBrowser(running)
  const { code_challenge } = pkce()
  const withAcr = (acr: object) => request('own', { code_challenge, claims: JSON.stringify({ id_token: { acr } }) })
  const password = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport'
  for (const acr of [
    { essential: true, value: 'gold' },
    { essential: true, values: ['gold', 'silver'] },
  ]) {
    assert.equal((await authorize(browser, withAcr(acr))).error, 'unmet_authentication_requirements')
  }
  for (const acr of [{ value: 'gold' }, { essential: true }, { essential: true, values: ['gold', password] }]) {
    assert.ok((await authorize(browser, withAcr(acr))).code, JSON.stringify(acr))
  }
})
