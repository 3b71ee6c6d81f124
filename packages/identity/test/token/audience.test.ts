/** The audience of an access token: userinfo, one API, or the default API together with userinfo. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { authorizeUrl, callback, clients, pkce, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { issuer, setupOnce } from '../support/setup.ts'

const userinfo = `${issuer}/userinfo`
const [photos, films] = ['https://photos.example', 'https://films.example']
const secretOf = (client_id: string) => ({ client_id, client_secret: `${client_id}-secret-0123456789` })
const application = (client_id: string, more: object = {}) => ({
  ...secretOf(client_id),
  redirect_uris: [callback],
  scopes: ['openid', 'email', 'offline_access', 'read:photos'],
  resources: [photos, films],
  skip_consent: true,
  ...more,
})
const device = 'urn:ietf:params:oauth:grant-type:device_code'
const tool = {
  client_id: 'tool',
  token_endpoint_auth_method: 'none' as const,
  grant_types: [device as 'urn:ietf:params:oauth:grant-type:device_code'],
  scopes: ['openid', 'read:photos'],
  resources: [photos, films],
}

const running = setupOnce({
  declared: {
    clients: [
      ...clients,
      application('app'),
      application('opaque', { access_token_format: 'opaque' }),
      application('user-only', { scopes: ['openid', 'email'], resources: [] }),
      { ...secretOf('job'), resources: [photos, films], scopes: ['read:photos'] },
      { ...secretOf('idle'), scopes: [] },
      { ...secretOf('idle-opaque'), scopes: [], access_token_format: 'opaque' },
      { ...secretOf('watcher'), may_introspect: true },
      tool,
    ],
    users,
  },
})

type Parameters = Record<string, string | string[]>

const queryOf = (parameters: Parameters): string =>
  new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  ).toString()

async function codeFor(client_id: string, parameters: Parameters) {
  const { code_verifier, code_challenge } = pkce()
  const browser = new TestBrowser(running)
  const page = await browser.get(
    `/authorize?${queryOf({ client_id, response_type: 'code', code_challenge, ...parameters })}`,
  )
  const { code = '' } = redirectParameters(await browser.signIn(page))
  return { grant_type: 'authorization_code', code, code_verifier, ...secretOf(client_id) }
}

/** The token response of a new grant for `scope`. */
async function tokens(client_id: string, scope: string, more: Parameters = {}, atToken: Parameters = {}) {
  const exchange = await codeFor(client_id, { scope, ...more })
  const response = await running.post('/token', { ...exchange, ...atToken })
  assert.equal(response.status, 200, response.text)
  return response.body as Record<string, string>
}

async function introspect(token: unknown): Promise<Record<string, unknown>> {
  return (await running.post('/introspect', { token: String(token), ...secretOf('watcher') })).body
}

const statusOfUserinfo = async (token: unknown): Promise<number> =>
  (await running.http.inject({ url: '/userinfo', headers: { authorization: `Bearer ${token}` } })).statusCode

const refresh = (refresh_token: unknown, more: Parameters = {}) =>
  running.post('/token', {
    grant_type: 'refresh_token',
    refresh_token: String(refresh_token),
    ...secretOf('app'),
    ...more,
  })

test('an identity-only grant gets tokens for userinfo only, without roles', async () => {
  for (const client of ['app', 'opaque', 'user-only']) {
    const { access_token } = await tokens(client, 'openid email')
    const { aud, roles, scope } = await introspect(access_token)
    assert.deepEqual([aud, roles, scope], [userinfo, undefined, 'openid email'])
    assert.equal(await statusOfUserinfo(access_token), 200)
  }
})

test('a refresh that keeps no API scope gets a token for userinfo only', async () => {
  const { refresh_token } = await tokens('app', 'openid offline_access read:photos')
  const { body } = await refresh(refresh_token, { scope: 'openid' })
  const claims = decodeJwt(String(body.access_token))
  assert.deepEqual([claims.aud, claims.roles], [userinfo, undefined])
})

test('a device with the scope openid only gets a token for userinfo only', async () => {
  const { body } = await running.post('/device_authorization', { client_id: 'tool', scope: 'openid' })
  const response = await approveAndPoll(String(body.user_code), String(body.device_code))
  const claims = decodeJwt(String(response.body.access_token))
  assert.deepEqual([claims.aud, claims.roles], [userinfo, undefined])
})

async function approveAndPoll(user_code: string, device_code: string, more: Parameters = {}) {
  const browser = new TestBrowser(running)
  const form = await browser.signIn(await browser.get(`/device?user_code=${user_code}`))
  await browser.submit(await browser.submit(form, { user_code }), { decision: 'allow' })
  return running.post('/token', { grant_type: device, device_code, client_id: 'tool', ...more })
}

test('a token for the default API is also for userinfo if openid was granted without a resource', async () => {
  const mixed = await tokens('app', 'openid read:photos')
  assert.deepEqual((await introspect(mixed.access_token)).aud, [issuer, userinfo])
  assert.deepEqual((await introspect(mixed.access_token)).roles, ['support'])
  assert.equal(await statusOfUserinfo(mixed.access_token), 200)
  const without = await tokens('app', 'read:photos')
  assert.equal((await introspect(without.access_token)).aud, issuer)
  assert.equal(await statusOfUserinfo(without.access_token), 401)
})

test('a token for a named resource is accepted there only, not at userinfo', async () => {
  for (const [atAuthorize, atToken] of [
    [{ resource: photos }, {}],
    [{ resource: photos }, { resource: photos }],
  ] as [Parameters, Parameters][]) {
    for (const client of ['app', 'opaque']) {
      const { access_token } = await tokens(client, 'openid read:photos', atAuthorize, atToken)
      assert.equal((await introspect(access_token)).aud, photos)
      assert.equal(await statusOfUserinfo(access_token), 401)
    }
  }
  const { access_token } = await tokens('app', 'openid read:photos', {}, { resource: issuer })
  assert.equal((await introspect(access_token)).aud, issuer)
})

test('a grant with openid gets a token for userinfo by naming it as the resource', async () => {
  const { refresh_token } = await tokens('app', 'openid offline_access read:photos', { resource: photos })
  const { body } = await refresh(refresh_token, { resource: userinfo })
  const { aud, roles, scope } = await introspect(body.access_token)
  assert.deepEqual([aud, roles, scope], [userinfo, undefined, 'openid offline_access'])
  assert.equal(await statusOfUserinfo(body.access_token), 200)
  const anonymous = await codeFor('app', { scope: 'read:photos' })
  const response = await running.post('/token', { ...anonymous, resource: userinfo })
  assert.equal(response.body.error, 'invalid_target')
})

test('a grant with several resources gets one token each, and a rejected request keeps the code', async () => {
  const exchange = await codeFor('app', { scope: 'openid offline_access read:photos', resource: [photos, films] })
  for (const parameters of [{}, { resource: [photos, films] }, { resource: issuer }] as Parameters[]) {
    assert.equal((await running.post('/token', { ...exchange, ...parameters })).body.error, 'invalid_target')
  }
  const first = await running.post('/token', { ...exchange, resource: photos })
  assert.equal((await introspect(first.body.access_token)).aud, photos)
  assert.equal((await refresh(first.body.refresh_token)).body.error, 'invalid_target')
  const second = await refresh(first.body.refresh_token, { resource: films })
  assert.equal((await introspect(second.body.access_token)).aud, films)
})

test('a device names the resource of its token at the token endpoint', async () => {
  const resource = [photos, films]
  const parameters = { client_id: 'tool', scope: 'openid read:photos', resource }
  const { body } = await running.post('/device_authorization', parameters)
  const [user_code, device_code] = [String(body.user_code), String(body.device_code)]
  assert.equal((await approveAndPoll(user_code, device_code)).body.error, 'invalid_target')
  running.clock.advance(5_000)
  const form = { grant_type: device, device_code, client_id: 'tool', resource: films }
  assert.equal((await introspect((await running.post('/token', form)).body.access_token)).aud, films)
})

test('a client acting for itself gets a token for one resource, and none for userinfo', async () => {
  const ask = (resource: string | string[]) =>
    running.post('/token', { grant_type: 'client_credentials', ...secretOf('job'), resource })
  assert.equal(decodeJwt(String((await ask(films)).body.access_token)).aud, films)
  assert.equal(decodeJwt(String((await ask([films, films])).body.access_token)).aud, films)
  for (const resource of [[photos, films], userinfo, 'https://elsewhere.example']) {
    assert.equal((await ask(resource)).body.error, 'invalid_target', String(resource))
  }
})

test('a request for an API with OpenID Connect scopes only is rejected at every endpoint', async () => {
  const request = { response_type: 'code', code_challenge: pkce().code_challenge, scope: 'openid', resource: photos }
  const response = await running.http.inject(authorizeUrl({ client_id: 'app', ...request }))
  assert.equal(new URL(String(response.headers.location)).searchParams.get('error'), 'invalid_target')
  assert.equal((await running.post('/par', { ...secretOf('app'), ...request })).body.error, 'invalid_target')
  const device = await running.post('/device_authorization', { client_id: 'tool', scope: 'openid', resource: photos })
  assert.equal(device.body.error, 'invalid_target')
  const exchange = await codeFor('app', { scope: 'openid' })
  assert.equal((await running.post('/token', { ...exchange, resource: issuer })).body.error, 'invalid_target')
})

test('a consent page names the APIs other than this server’s own', async () => {
  const browser = new TestBrowser(running)
  const request = { client_id: 'web', response_type: 'code', code_challenge: pkce().code_challenge }
  const page = await browser.signIn(
    await browser.get(authorizeUrl({ ...request, scope: 'openid read:users', resource: photos })),
  )
  assert.match(page.text, /For the services at https:\/\/photos\.example\./)
  const own = await browser.get(authorizeUrl({ ...request, scope: 'openid read:users' }))
  assert.doesNotMatch(own.text, /For the services at/)
})

test('a consent for one resource does not cover another', async () => {
  const browser = new TestBrowser(running)
  const request = { client_id: 'web', response_type: 'code', code_challenge: pkce().code_challenge }
  const requestFor = (scope: string, resource?: string) =>
    authorizeUrl({ ...request, scope, ...(resource === undefined ? {} : { resource }) })
  await browser.submit(await browser.signIn(await browser.get(requestFor('openid read:users'))), { decision: 'allow' })
  await browser.submit(await browser.get(requestFor('openid offline_access read:users', photos)), { decision: 'allow' })
  const silent = async (url: string) => redirectParameters(await browser.get(`${url}&prompt=none`))
  assert.ok((await silent(requestFor('openid read:users', photos))).code)
  assert.ok((await silent(requestFor('openid read:users'))).code)
  assert.equal((await silent(requestFor('offline_access read:users'))).error, 'consent_required')
})

test('an empty scope is omitted from responses, tokens and introspection', async () => {
  for (const client of ['idle', 'idle-opaque']) {
    const { body } = await running.post('/token', { grant_type: 'client_credentials', ...secretOf(client) })
    const introspected = await introspect(body.access_token)
    assert.equal(introspected.active, true)
    for (const one of [body, introspected]) assert.ok(!('scope' in one), JSON.stringify(one))
    if (client === 'idle') assert.ok(!('scope' in decodeJwt(String(body.access_token))))
  }
  const unscoped = await tokens('user-only', '')
  assert.deepEqual([(await introspect(unscoped.access_token)).aud, unscoped.scope], [userinfo, undefined])
  assert.equal(await statusOfUserinfo(unscoped.access_token), 403)
})

test('introspection says when and how the user signed in, if one did', async () => {
  for (const client of ['app', 'opaque']) {
    const { access_token, id_token } = await tokens(client, 'openid')
    const { auth_time, acr } = decodeJwt(String(id_token))
    const facts = await introspect(access_token)
    assert.deepEqual([facts.auth_time, facts.acr], [auth_time, acr], client)
  }
  const own = await running.post('/token', { grant_type: 'client_credentials', ...secretOf('job') })
  const facts = await introspect(own.body.access_token)
  assert.deepEqual([facts.active, 'auth_time' in facts, 'acr' in facts], [true, false, false])
})
