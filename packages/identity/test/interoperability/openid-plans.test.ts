/** What the OpenID Foundation's config, basic and form-post plans require of a provider. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLocalJWKSet, decodeJwt, jwtVerify, UnsecuredJWT } from 'jose'
import { authorizeUrl, callback, hiddenFields, redirectParameters, TestBrowser } from '../support/journey.ts'
import {
  basicHeader,
  ConsentingBrowser,
  everyClaim,
  openidParties,
  plain,
  post,
  type Request,
} from '../support/openid-parties.ts'
import { issuer } from '../support/setup.ts'

const { ask, exchange, running, tokens, userinfo } = openidParties()

describe('config', () => {
  test('the metadata names issuer, endpoints and algorithms, and the JWK Set is public', async () => {
    const response = await running.http.inject('/.well-known/openid-configuration')
    assert.match(String(response.headers['content-type']), /^application\/json/)
    const metadata = response.json()
    assert.equal(metadata.issuer, issuer)
    for (const name of ['authorization', 'token', 'userinfo', 'end_session', 'revocation', 'introspection']) {
      assert.ok(String(metadata[`${name}_endpoint`]).startsWith(`${issuer}/`), name)
    }
    for (const [name, value] of [
      ['scopes_supported', 'openid'],
      ['response_types_supported', 'code'],
      ['subject_types_supported', 'public'],
      ['id_token_signing_alg_values_supported', 'RS256'],
      ['claims_supported', 'sub'],
      ['response_modes_supported', 'form_post'],
      ['grant_types_supported', 'refresh_token'],
    ] as const) {
      assert.ok(metadata[name].includes(value), name)
    }
    const { keys } = (await running.http.inject(metadata.jwks_uri.slice(issuer.length))).json()
    assert.equal(new Set(keys.map(({ kid }: { kid: string }) => kid)).size, keys.length)
    for (const key of keys) {
      assert.ok(key.kid && key.use === 'sig' && key.alg)
      assert.ok(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].every((member) => !(member in key)))
    }
  })
})

describe('basic', () => {
  test('an exempt client without PKCE and nonce gets a complete RS256 ID token', async () => {
    const { id_token = '', token_type, expires_in } = await tokens()
    const keys = createLocalJWKSet(running.identity.keys() as never)
    const currentDate = new Date(running.clock.now())
    const { payload, protectedHeader } = await jwtVerify(id_token, keys, { issuer, audience: 'basic', currentDate })
    assert.deepEqual(
      [protectedHeader.alg, payload.sub, token_type, typeof expires_in],
      ['RS256', 'eve', 'Bearer', 'number'],
    )
    assert.ok(!('nonce' in payload) && payload.iat && payload.exp && payload.auth_time)
    assert.equal(decodeJwt((await tokens({ nonce: 'n' })).id_token ?? '').nonce, 'n')
  })

  test('client_secret_post works only where it is registered', async () => {
    const { code = '' } = redirectParameters(await ask({ client_id: 'post' }))
    const form = { grant_type: 'authorization_code', code, redirect_uri: callback }
    const { client_id, client_secret } = post
    const header = { authorization: `Basic ${Buffer.from(`post:${client_secret}`).toString('base64')}` }
    assert.equal((await running.post('/token', form, header)).body.error, 'invalid_client')
    assert.equal((await running.post('/token', { ...form, client_id, client_secret })).status, 200)
  })

  test('userinfo returns the subject by GET, by POST with a header and by form', async () => {
    const { access_token = '', id_token = '' } = await tokens()
    const responses = [
      (await userinfo(`Bearer ${access_token}`)).json(),
      (await userinfo(`Bearer ${access_token}`, 'POST')).json(),
      (await running.post('/userinfo', { access_token })).body,
    ]
    assert.ok(responses.every(({ sub }) => sub === decodeJwt(id_token).sub))
  })

  test('each scope adds all of its claims to userinfo and none to the ID token', async () => {
    const { updated_at: _, ...claims } = await claimsFor('openid profile email address phone')
    assert.deepEqual(claims, { sub: 'eve', email: 'eve@example.com', email_verified: true, ...everyClaim })
    for (const [scope, claims] of [
      ['email', ['email', 'email_verified']],
      ['address', ['address']],
      ['phone', ['phone_number', 'phone_number_verified']],
    ] as const) {
      assert.deepEqual(Object.keys(await claimsFor(`openid ${scope}`)).sort(), [...claims, 'sub'].sort())
    }
    const { id_token = '' } = await tokens({ scope: 'openid profile email address phone' })
    assert.ok(['name', 'email', 'address', 'phone_number'].every((claim) => !(claim in decodeJwt(id_token))))
  })

  async function claimsFor(scope: string): Promise<Record<string, unknown>> {
    const { access_token } = await tokens({ scope })
    return (await userinfo(`Bearer ${access_token}`)).json()
  }

  test('an essential claim requested by name is returned', async () => {
    const { access_token } = await tokens({ claims: JSON.stringify({ userinfo: { name: { essential: true } } }) })
    assert.equal((await userinfo(`Bearer ${access_token}`)).json().name, 'Eve Evans')
  })

  test('display, locales, acr_values, login_hint and unknown parameters cause no error', async () => {
    for (const hint of [
      { display: 'page' },
      { display: 'popup' },
      { ui_locales: 'se' },
      { claims_locales: 'se' },
      { acr_values: '1 2' },
      { login_hint: 'eve@example.com' },
      { extra: 'foobar' },
    ] as Request[]) {
      assert.ok(redirectParameters(await ask(hint)).code, JSON.stringify(hint))
    }
    const page = await new TestBrowser(running).get(authorizeUrl({ ...plain, login_hint: 'eve@example.com' }))
    assert.match(page.text, /id="username"[^>]*value="eve@example\.com"/)
  })

  test('prompt=none gets login_required when signed out and a code of the same session otherwise', async () => {
    assert.equal(redirectParameters(await ask({ prompt: 'none' })).error, 'login_required')
    const browser = new TestBrowser(running)
    const first = decodeJwt((await tokens({}, browser)).id_token ?? '')
    running.clock.advance(1_000)
    const second = decodeJwt((await tokens({ prompt: 'none' }, browser)).id_token ?? '')
    assert.deepEqual([second.sub, second.auth_time, second.sid], [first.sub, first.auth_time, first.sid])
  })

  test('prompt=login and max_age=1 require a new login with a later auth_time', async () => {
    const browser = new TestBrowser(running)
    const authTime = async (request: Request) =>
      Number(decodeJwt((await tokens(request, browser)).id_token ?? '').auth_time)
    const first = await authTime({})
    running.clock.advance(2_000)
    assert.equal(await authTime({ max_age: '10000' }), first)
    const second = await authTime({ prompt: 'login' })
    running.clock.advance(2_000)
    const third = await authTime({ max_age: '1' })
    assert.ok(first < second && second < third)
  })

  test('an id_token_hint of the signed-in user passes prompt=none, and another one fails', async () => {
    const browser = new TestBrowser(running)
    const { id_token = '' } = await tokens({}, browser)
    const silent = { prompt: 'none', id_token_hint: id_token }
    assert.ok(redirectParameters(await ask(silent, browser)).code)
    const other = new TestBrowser(running)
    await other.signIn(await other.get('/account'))
    assert.equal(redirectParameters(await ask(silent, other)).error, 'login_required')
  })

  test('a reused code is rejected and revokes the tokens of its first use', async () => {
    for (const pauseMs of [0, 30_000]) {
      const { code } = redirectParameters(await ask())
      const first = await exchange(code)
      running.clock.advance(pauseMs)
      assert.equal((await exchange(code)).body.error, 'invalid_grant')
      assert.equal((await userinfo(`Bearer ${first.body.access_token}`)).statusCode, 401)
    }
  })

  test('unsupported requests are rejected by redirect with state and iss', async () => {
    const { response_type: _, ...untyped } = plain
    for (const [request, error] of [
      [untyped, 'invalid_request'],
      [{ ...plain, response_type: 'token' }, 'unsupported_response_type'],
      [{ ...plain, request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
      [{ ...plain, request_uri: 'https://app.example/request.jwt' }, 'request_uri_not_supported'],
    ] as const) {
      const response = redirectParameters(await new TestBrowser(running).get(authorizeUrl(request)))
      assert.deepEqual([response.error, response.state, response.iss], [error, 's', issuer])
    }
  })

  test('a request object is rejected in the response mode it names, and otherwise ignored', async () => {
    const object = (payload: object) => new UnsecuredJWT({ ...payload }).encode()
    const { state: _, ...stateless } = plain
    const wanted = { state: 'within', response_mode: 'form_post', redirect_uri: 'https://elsewhere.example/' }
    const page = await new TestBrowser(running).get(authorizeUrl({ ...stateless, request: object(wanted) }))
    assert.match(page.text, new RegExp(`<form method="post" action="${callback}">`))
    const posted = hiddenFields(page)
    assert.deepEqual([posted.error, posted.state], ['request_not_supported', 'within'])
    for (const payload of [{}, { state: 7, response_mode: 'fragment' }, { state: 'x'.repeat(3_000) }]) {
      const response = redirectParameters(
        await new TestBrowser(running).get(authorizeUrl({ ...stateless, request: object(payload) })),
      )
      assert.deepEqual([response.error, response.state], ['request_not_supported', undefined])
    }
    const both = { ...plain, response_mode: 'query', request: object(wanted) }
    const { state } = redirectParameters(await new TestBrowser(running).get(authorizeUrl(both)))
    assert.equal(state, 's')
  })

  test('a refresh token works for its own client only and keeps its subject', async () => {
    const { refresh_token = '' } = await tokens(
      { scope: 'openid offline_access', prompt: 'consent' },
      new ConsentingBrowser(running),
    )
    const form = { grant_type: 'refresh_token', refresh_token }
    const { client_id, client_secret } = post
    assert.equal((await running.post('/token', { ...form, client_id, client_secret })).body.error, 'invalid_grant')
    const refreshed = await running.post('/token', form, basicHeader)
    assert.equal(decodeJwt(String(refreshed.body.id_token)).sub, 'eve')
  })
})

describe('form-post', () => {
  test('codes and errors are posted to the redirect_uri by a form that needs no script', async () => {
    const page = await ask({ response_mode: 'form_post' })
    assert.match(page.text, new RegExp(`<form method="post" action="${callback}">`))
    assert.equal((await exchange(hiddenFields(page).code)).status, 200)
    const refused = await new TestBrowser(running).get(
      authorizeUrl({ ...plain, response_mode: 'form_post', prompt: 'none' }),
    )
    const { error, state, iss } = hiddenFields(refused)
    assert.deepEqual([error, state, iss], ['login_required', 's', issuer])
  })
})
