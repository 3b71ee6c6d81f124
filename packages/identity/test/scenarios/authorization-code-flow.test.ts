import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import {
  authorizeUrl,
  callback,
  clients,
  getCode,
  getTokens,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  users,
  webSecret,
} from '../support/journey.ts'
import { issuer, service, setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients: [...clients, service], users } })

test('a user signs in and consents, and the client gets its tokens', async () => {
  const scope = 'openid offline_access read:users'
  const extra = { state: 'x'.repeat(128), nonce: 'n-1' }
  const { code, code_verifier, response } = await getCode(running, { scope, extra })
  assert.equal(response.state, 'x'.repeat(128))
  assert.equal(response.iss, issuer)
  const exchange = { grant_type: 'authorization_code', code, code_verifier, redirect_uri: callback, ...webSecret }
  const { status, body, headers } = await running.post('/token', exchange)
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(String(body.refresh_token), /^rt_/)
  const keys = createLocalJWKSet(running.identity.keys() as never)
  const currentDate = new Date(running.clock.now())
  const { payload, protectedHeader } = await jwtVerify(String(body.id_token), keys, {
    currentDate,
    issuer,
    audience: 'web',
  })
  assert.equal(protectedHeader.alg, 'RS256')
  assert.deepEqual([payload.sub, payload.nonce, payload.amr], ['alice', 'n-1', ['pwd']])
  assert.ok(payload.sid && payload.auth_time && payload.acr && !('name' in payload))
  const access = decodeJwt(String(body.access_token))
  assert.deepEqual([access.sub, access.client_id, access.roles], ['alice', 'web', ['support']])
  assert.deepEqual(access.aud, [issuer, `${issuer}/userinfo`])
})

test('the minimal requests of the specification succeed as written', async () => {
  const { code_verifier, code_challenge } = pkce()
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get(authorizeUrl({ client_id: 'spa', code_challenge })))
  const { code } = redirectParameters(await browser.submit(page, { decision: 'allow' }))
  const response = await running.post('/token', { code: code ?? '', code_verifier, client_id: 'spa' })
  assert.equal(response.status, 200)
  assert.deepEqual(
    [response.body.scope, 'id_token' in response.body, 'refresh_token' in response.body],
    ['read:users', false, false],
  )
})

test('a code works once, and its replay by its own client ends the grant', async () => {
  const { code, code_verifier } = await getCode(running)
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...webSecret }
  const first = await running.post('/token', exchange)
  assert.equal(first.status, 200)
  const stranger = await running.post('/token', { ...exchange, client_id: 'spa', client_secret: '' })
  assert.equal(stranger.body.error, 'invalid_grant')
  const refresh = { grant_type: 'refresh_token', ...webSecret }
  const alive = await running.post('/token', { ...refresh, refresh_token: String(first.body.refresh_token) })
  assert.equal(alive.status, 200, "another client's attempt changes nothing")
  assert.equal((await running.post('/token', exchange)).body.error, 'invalid_grant')
  const dead = await running.post('/token', { ...refresh, refresh_token: String(alive.body.refresh_token) })
  assert.equal(dead.body.error, 'invalid_grant')
})

test('a wrong code_verifier invalidates the code', async () => {
  for (const code_verifier of ['', 'short', 'a'.repeat(43)]) {
    const { code, code_verifier: right } = await getCode(running)
    const exchange = { grant_type: 'authorization_code', code, ...webSecret }
    assert.equal((await running.post('/token', { ...exchange, code_verifier })).body.error, 'invalid_grant')
    assert.equal((await running.post('/token', { ...exchange, code_verifier: right })).body.error, 'invalid_grant')
  }
})

test('a code expires after a minute', async () => {
  const { code, code_verifier } = await getCode(running)
  running.clock.advance(61_000)
  const response = await running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })
  assert.equal(response.body.error, 'invalid_grant')
})

test('a code is bound to its redirect_uri and its client', async () => {
  const { code, code_verifier } = await getCode(running)
  const exchange = {
    grant_type: 'authorization_code',
    code,
    code_verifier,
    redirect_uri: 'https://evil.example/',
    ...webSecret,
  }
  assert.equal((await running.post('/token', exchange)).body.error, 'invalid_grant')
  const other = await getCode(running)
  const theirs = {
    grant_type: 'authorization_code',
    code: other.code,
    code_verifier: other.code_verifier,
    client_id: 'spa',
  }
  assert.equal((await running.post('/token', theirs)).body.error, 'invalid_grant')
})

test('an unregistered redirect_uri gets an error page, never a redirect', async () => {
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }
  for (const redirect_uri of [
    'https://evil.example/callback',
    `${callback}/`,
    `${callback}?x=1`,
    'https://app.example/CALLBACK',
    'https://app.example@evil.example/callback',
    'https://app.example/a/../callback',
    'javascript:alert(1)',
  ]) {
    const response = await running.http.inject(authorizeUrl({ ...request, redirect_uri }))
    assert.equal(response.statusCode, 400, redirect_uri)
    assert.equal(response.headers.location, undefined)
    assert.match(response.payload, /redirect_uri is not registered/)
  }
})

test('repeated parameters get an error page', async () => {
  const url = `${authorizeUrl({ client_id: 'web', scope: 'openid', response_type: 'code', ...pkce() })}&scope=profile`
  const response = await running.http.inject(url)
  assert.deepEqual([response.statusCode, response.headers.location], [400, undefined])
})

test('PKCE is required: plain is rejected with a reason, and the method defaults to S256', async () => {
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', state: 's' }
  const errorOf = async (more: Record<string, string>) => {
    const response = await running.http.inject(authorizeUrl({ ...request, ...more }))
    return redirectParameters({
      status: response.statusCode,
      headers: response.headers as never,
      body: {},
      text: response.payload,
    })
  }
  const missing = await errorOf({})
  assert.deepEqual([missing.error, missing.state, missing.iss], ['invalid_request', 's', issuer])
  const plain = await errorOf({ code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' })
  assert.match(plain.error_description ?? '', /S256/)
})

test('unsupported parameters are rejected by redirect with the registered error code', async () => {
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge: pkce().code_challenge }
  const errorOf = async (more: Record<string, string>) => {
    const response = await running.http.inject(authorizeUrl({ ...request, ...more }))
    return new URL(String(response.headers.location)).searchParams.get('error')
  }
  assert.equal(await errorOf({ response_type: 'token' }), 'unsupported_response_type')
  assert.equal(await errorOf({ response_type: '' }), 'invalid_request')
  assert.equal(await errorOf({ request: 'x.y.z' }), 'request_not_supported')
  assert.equal(await errorOf({ request_uri: 'https://evil.example/r' }), 'request_uri_not_supported')
  assert.equal(await errorOf({ scope: 'openid admin:all' }), 'invalid_scope')
  assert.equal(await errorOf({ resource: 'https://elsewhere.example' }), 'invalid_target')
  assert.equal(await errorOf({ prompt: 'none' }), 'login_required')
  assert.equal(await errorOf({ prompt: 'none login' }), 'invalid_request')
  assert.equal(await errorOf({ max_age: '-1' }), 'invalid_request')
  assert.equal(await errorOf({ claims: 'no' }), 'invalid_request')
})

test('prompt and max_age force a new login or consent, and prompt=none shows no page', async () => {
  const { browser } = await getCode(running)
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge: pkce().code_challenge }
  const silent = await browser.get(authorizeUrl({ ...request, prompt: 'none' }))
  assert.ok(redirectParameters(silent).code)
  assert.match((await browser.get(authorizeUrl({ ...request, prompt: 'login' }))).text, /action="\/login"/)
  assert.match((await browser.get(authorizeUrl({ ...request, prompt: 'consent' }))).text, /action="\/consent"/)
  running.clock.advance(5_000)
  const old = await browser.get(authorizeUrl({ ...request, max_age: '1' }))
  assert.match(old.text, /action="\/login"/)
  assert.ok(redirectParameters(await browser.signIn(old)).code)
  assert.ok(redirectParameters(await browser.get(authorizeUrl({ ...request, max_age: '10000' }))).code)
  const wider = await browser.get(authorizeUrl({ ...request, scope: 'openid email read:users', prompt: 'none' }))
  assert.equal(redirectParameters(wider).error, 'consent_required')
})

test('a public client is never granted access without consent', async () => {
  const { browser } = await getCode(running, { client: 'spa', scope: 'openid' })
  const request = { client_id: 'spa', response_type: 'code', scope: 'openid', code_challenge: pkce().code_challenge }
  assert.match((await browser.get(authorizeUrl(request))).text, /action="\/consent"/)
  const silent = redirectParameters(await browser.get(authorizeUrl({ ...request, prompt: 'none' })))
  assert.equal(silent.error, 'consent_required')
})

test('a denied consent is reported to the client', async () => {
  const browser = new TestBrowser(running)
  const request = {
    client_id: 'web',
    response_type: 'code',
    scope: 'openid profile',
    code_challenge: pkce().code_challenge,
  }
  const page = await browser.signIn(await browser.get(authorizeUrl(request)), 'bob', 'battery staple')
  assert.equal(redirectParameters(await browser.submit(page, { decision: 'deny' })).error, 'access_denied')
})

test('an authorization response may be a form_post, and a request may be a POST', async () => {
  const { browser } = await getCode(running)
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', code_challenge: pkce().code_challenge }
  const page = await browser.post('/authorize', { ...request, response_mode: 'form_post', state: '"><script>' })
  assert.equal(page.status, 200)
  assert.match(page.text, new RegExp(`action="${callback}"`))
  assert.equal(hiddenFields(page).state, '"><script>')
  assert.ok(hiddenFields(page).code && hiddenFields(page).iss)
  assert.ok(!page.text.includes('"><script>'))
})

test('userinfo returns the claims of the granted scopes and those requested one by one', async () => {
  const claims = JSON.stringify({ userinfo: { name: { essential: true } }, id_token: { email: null } })
  const tokens = await getTokens(running, { scope: 'openid address phone', extra: { claims } })
  const authorization = `Bearer ${tokens.access_token}`
  const userinfo = await running.http.inject({ url: '/userinfo', headers: { authorization } })
  assert.deepEqual(userinfo.json(), {
    sub: 'alice',
    name: 'Alice Adams',
    address: { formatted: '1 High Street\nLondon' },
    phone_number: '+441234567890',
  })
  assert.equal(decodeJwt(tokens.id_token ?? '').email, 'alice@example.com')
  const posted = await running.post('/userinfo', { access_token: tokens.access_token ?? '' })
  assert.deepEqual(posted.body, userinfo.json())
  assert.equal((await running.http.inject('/userinfo')).statusCode, 401)
  const idToken = await running.http.inject({
    url: '/userinfo',
    headers: { authorization: `Bearer ${tokens.id_token}` },
  })
  assert.equal(idToken.statusCode, 401, 'an ID token is not a bearer token')
})

test('a pushed request is used once, by its own client only', async () => {
  const { code_challenge } = pkce()
  const pushed = await running.post('/par', {
    ...webSecret,
    response_type: 'code',
    scope: 'openid',
    code_challenge,
    state: 'p',
  })
  assert.equal(pushed.status, 201, pushed.text)
  const { request_uri, expires_in } = pushed.body as { request_uri: string; expires_in: number }
  assert.ok(expires_in <= 90)
  const stranger = await running.http.inject(authorizeUrl({ client_id: 'spa', request_uri }))
  assert.equal(stranger.statusCode, 400)
  const { browser } = await getCode(running)
  const response = await browser.get(authorizeUrl({ client_id: 'web', request_uri }))
  assert.equal(redirectParameters(response).state, 'p')
  assert.equal((await browser.get(authorizeUrl({ client_id: 'web', request_uri }))).status, 400)
  const bad = await running.post('/par', { ...webSecret, response_type: 'code', scope: 'openid' })
  assert.equal(bad.body.error, 'invalid_request')
})
