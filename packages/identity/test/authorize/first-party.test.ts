import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findClientFaults, parseMetadata } from '../../src/clients/registration.ts'
import { hasVerifiedHost } from '../../src/oauth/redirect-uri.ts'
import {
  authorizeUrl,
  clients,
  getCode,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
} from '../support/journey.ts'
import { responseOf, service, serviceToken, setupOnce, type TestResponse } from '../support/setup.ts'

const web = 'https://own.example/callback'
const own = {
  client_id: 'own',
  client_name: 'Our App',
  first_party: true,
  token_endpoint_auth_method: 'none' as const,
  grant_types: [
    'authorization_code' as const,
    'refresh_token' as const,
    'urn:ietf:params:oauth:grant-type:device_code' as const,
  ],
  redirect_uris: [
    web,
    'com.example.own:/callback',
    'http://127.0.0.1/callback',
    'http://[::1]/callback',
    'http://localhost/callback',
    'https://localhost/callback',
    'https://127.0.0.1/callback',
  ],
  scopes: ['openid', 'offline_access', 'read:users'],
}
const running = setupOnce({ declared: { clients: [...clients, own, service], users } })

const request = (redirect_uri: string, more: Record<string, string> = {}) => ({
  client_id: 'own',
  response_type: 'code',
  scope: 'openid read:users',
  code_challenge: pkce().code_challenge,
  code_challenge_method: 'S256',
  redirect_uri,
  ...more,
})

async function signedIn(): Promise<TestBrowser> {
  const browser = new TestBrowser(running)
  await getCode(running, { browser, scope: 'openid' })
  return browser
}

const isConsent = (page: TestResponse) => page.status === 200 && page.text.includes('action="/consent"')

test('a first-party client gets its code without consent at an https redirect URI', async () => {
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get(authorizeUrl(request(web))))
  assert.ok(page.headers.location?.startsWith(`${web}?`), page.text)
  assert.ok(redirectParameters(page).code)
  assert.ok(redirectParameters(await browser.get(authorizeUrl(request(web, { prompt: 'none' })))).code)
})

test('its custom schemes and loopback addresses ask for consent every time', async () => {
  const browser = await signedIn()
  for (const redirectUri of [...own.redirect_uris.slice(1), 'http://127.0.0.1:51004/callback'])
    for (const attempt of ['first', 'second']) {
      const page = await browser.get(authorizeUrl(request(redirectUri)))
      assert.ok(isConsent(page), `${redirectUri}, ${attempt} time`)
      assert.ok((await browser.submit(page, { decision: 'allow' })).headers.location?.startsWith(redirectUri))
      const silent = redirectParameters(await browser.get(authorizeUrl(request(redirectUri, { prompt: 'none' }))))
      assert.equal(silent.error, 'consent_required')
    }
})

test('a pushed request with a custom scheme asks for consent too', async () => {
  const browser = await signedIn()
  const pushed = await running.post('/par', request('com.example.own:/callback'))
  const { request_uri = '' } = pushed.body as Record<string, string>
  const page = await browser.get(authorizeUrl({ client_id: 'own', request_uri, redirect_uri: web }))
  assert.ok(isConsent(page), page.text)
  assert.ok((await browser.submit(page, { decision: 'allow' })).headers.location?.startsWith('com.example.own:'))
})

test('prompt=consent and the device flow ask whoever the client is', async () => {
  const browser = await signedIn()
  assert.ok(isConsent(await browser.get(authorizeUrl(request(web, { prompt: 'consent' })))))
  const device = await running.post('/device_authorization', { client_id: 'own', scope: 'openid' })
  const page = await browser.get(`/device?user_code=${device.body.user_code}`)
  assert.ok(!page.headers.location)
  const confirm = await browser.submit(page, { user_code: String(device.body.user_code) })
  assert.match(confirm.text, /action="\/device\/decision"/)
})

test('every other public client still asks each time, also at https', async () => {
  const browser = await signedIn()
  const spa = request('https://spa.example/callback', { client_id: 'spa', first_party: 'true' })
  for (let attempt = 0; attempt < 2; attempt++) {
    const page = await browser.get(authorizeUrl(spa))
    assert.ok(isConsent(page))
    await browser.submit(page, { decision: 'allow' })
  }
})

test("another client's redirect URI never gets the code of a first-party client", async () => {
  const browser = await signedIn()
  for (const redirectUri of [
    'https://spa.example/callback',
    'https://evil.example/callback',
    'https://own.example/callback/',
    'https://own.example.evil.example/callback',
    'https://own.example@evil.example/callback',
    'https://own.example/callback?next=https://evil.example',
    'HTTPS://own.example/callback',
    'com.example.own:/callback2',
    'com.evil.own:/callback',
  ]) {
    const page = await browser.get(authorizeUrl(request(redirectUri)))
    assert.deepEqual([page.status, page.headers.location], [400, undefined], redirectUri)
  }
  const asSpa = await browser.get(authorizeUrl(request(web, { client_id: 'spa' })))
  assert.deepEqual([asSpa.status, asSpa.headers.location], [400, undefined])
})

test('its code is of no use to another client, or without the verifier', async () => {
  const browser = await signedIn()
  const { code, code_verifier } = await getCode(running, { browser, client: 'own', extra: { redirect_uri: web } })
  const grant = { grant_type: 'authorization_code', code, redirect_uri: web }
  const other = await running.post('/token', { ...grant, code_verifier, client_id: 'spa' })
  assert.deepEqual([other.status, other.body.error], [400, 'invalid_grant'])
  const redeemed = await running.post('/token', { ...grant, code_verifier, client_id: 'own' })
  assert.equal(redeemed.status, 200, redeemed.text)
  const missing = request(web)
  const { code_challenge: _, code_challenge_method: _m, ...plain } = missing
  assert.equal(redirectParameters(await browser.get(authorizeUrl(plain))).error, 'invalid_request')
})

test("a page sealed for another client's request does not become the first-party client's", async () => {
  const browser = await signedIn()
  const page = await browser.get(
    authorizeUrl(request('https://spa.example/callback', { client_id: 'spa', scope: 'openid' })),
  )
  assert.ok(isConsent(page))
  const response = await browser.post('/consent', {
    ...hiddenFields(page),
    client_id: 'own',
    redirect_uri: web,
    decision: 'deny',
  })
  assert.ok(response.headers.location?.startsWith('https://spa.example/callback?'))
  assert.equal(redirectParameters(response).error, 'access_denied')
})

test('only the operator sets the mark, on public clients alone', async () => {
  const token = await serviceToken(running)
  const headers = { authorization: `Bearer ${token}` }
  const payload = { first_party: true }
  const refused = responseOf(
    await running.http.inject({ method: 'PATCH', url: '/admin/v1/clients/spa', headers, payload }),
  )
  assert.equal(refused.status, 403)
  const confidential = parseMetadata('web', { redirect_uris: [web], first_party: true })
  assert.deepEqual(
    findClientFaults(confidential).map(({ pointer }) => pointer),
    ['/first_party'],
  )
  const { client_id, ...members } = own
  assert.deepEqual(findClientFaults(parseMetadata(client_id, members)), [])
})

test('a host is verified by https alone, and never on this device', () => {
  for (const uri of [web, 'https://a.example:8443/x?y=1']) assert.ok(hasVerifiedHost(uri), uri)
  for (const uri of [...own.redirect_uris.slice(1), 'http://a.example/', 'httpsx://a.example/', 'https:', ''])
    assert.ok(!hasVerifiedHost(uri), uri)
})
