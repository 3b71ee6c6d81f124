import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { issuer, type Running, service, setup } from '../support/setup.ts'

let running: Running
beforeEach(async () => {
  running = await setup()
})
afterEach(() => running.close())

const { client_id, client_secret } = service
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

test('client credentials get an ES256 access token in the profile of RFC 9068', async () => {
  const response = await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
  assert.equal(response.status, 200)
  assert.equal(response.headers['cache-control'], 'no-store')
  const { access_token, ...rest } = response.body
  assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 900, scope: 'write:notifications read:users' })
  const { alg, typ, kid } = decodeProtectedHeader(String(access_token))
  assert.deepEqual([alg, typ], ['ES256', 'at+jwt'])
  const keys = running.identity.keys()
  assert.ok(keys.keys.some((key) => key.kid === kid))
  const { payload } = await jwtVerify(String(access_token), createLocalJWKSet(keys as never), {
    currentDate: new Date(running.clock.now()),
  })
  const now = running.clock.now() / 1000
  const { jti, grant_id, ...claims } = payload
  assert.deepEqual(claims, {
    iss: issuer,
    sub: client_id,
    aud: issuer,
    exp: now + 900,
    iat: now,
    nbf: now,
    client_id,
    scope: 'write:notifications read:users',
  })
  assert.ok(jti && grant_id)
})

test('a client secret is accepted by HTTP Basic or in the form, but not both at once', async () => {
  const form = { grant_type: 'client_credentials' }
  assert.equal((await running.post('/token', form, basic(client_id, client_secret))).status, 200)
  const both = await running.post('/token', { ...form, client_id, client_secret }, basic(client_id, client_secret))
  assert.deepEqual([both.status, both.body.error], [400, 'invalid_request'])
})

test('a wrong secret and an unknown client get the same response', async () => {
  const form = { grant_type: 'client_credentials' }
  const wrong = await running.post('/token', form, basic(client_id, 'wrong'))
  const unknown = await running.post('/token', form, basic('nobody', client_secret))
  assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
  assert.match(wrong.headers['www-authenticate'] ?? '', /^Basic /)
  assert.deepEqual(unknown.body, wrong.body)
})

test('a body that is not a form is rejected with a helpful description', async () => {
  for (const [type, payload] of [
    ['application/json', '{"grant_type":"client_credentials"}'],
    ['text/plain', 'grant_type=client_credentials'],
  ] as const) {
    const response = await running.http.inject({
      method: 'POST',
      url: '/token',
      payload,
      headers: { 'content-type': type },
    })
    assert.equal(response.statusCode, 400, type)
    assert.equal(response.json().error, 'invalid_request')
    assert.match(response.json().error_description, /x-www-form-urlencoded/)
  }
})

test('a client may narrow its scope, and gets no scope or resource it is not registered for', async () => {
  const form = { grant_type: 'client_credentials', client_id, client_secret }
  const narrowed = await running.post('/token', { ...form, scope: 'read:users' })
  assert.equal(narrowed.body.scope, 'read:users')
  assert.equal((await running.post('/token', { ...form, scope: 'admin:all' })).body.error, 'invalid_scope')
  const elsewhere = { ...form, resource: 'https://elsewhere.example' }
  assert.equal((await running.post('/token', elsewhere)).body.error, 'invalid_target')
})

test('the password and implicit grants are rejected and absent from the metadata', async () => {
  const refused = await running.post('/token', { grant_type: 'password', client_id, client_secret, username: 'alice' })
  assert.equal(refused.body.error, 'unsupported_grant_type')
  const metadata = (await running.http.inject('/.well-known/oauth-authorization-server')).json()
  assert.equal(metadata.issuer, issuer)
  assert.ok(
    !metadata.grant_types_supported.includes('password') && !metadata.grant_types_supported.includes('implicit'),
  )
})

test('duplicate parameters are rejected', async () => {
  const form = { grant_type: ['client_credentials', 'client_credentials'], client_id, client_secret }
  assert.equal((await running.post('/token', form)).body.error, 'invalid_request')
})
