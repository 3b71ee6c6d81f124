import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { issuer, type Running, setup } from '../support/setup.ts'

/** A client whose library names the endpoint as audience. */
const older = {
  client_id: 'older',
  assertion_audience: 'endpoint' as const,
  redirect_uris: ['https://app.example/callback'],
  scopes: ['read:users'],
  may_introspect: true,
}
let running: Running
let privateKey: CryptoKey
let publicJwk: Record<string, unknown>
before(async () => {
  const pair = await generateKeyPair('ES256')
  privateKey = pair.privateKey
  publicJwk = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' }
  const signed = {
    token_endpoint_auth_method: 'private_key_jwt' as const,
    grant_types: ['client_credentials' as const],
  }
  running = await setup({
    declared: {
      clients: [
        { client_id: 'signer', ...signed, jwks: { keys: [publicJwk] }, scopes: ['read:users'] },
        {
          ...older,
          ...signed,
          grant_types: [...signed.grant_types, 'authorization_code'],
          jwks: { keys: [publicJwk] },
        },
        { client_id: 'secretive', client_secret: 'a secret of many characters' },
      ],
    },
  })
})
after(() => running.close())

let serial = 0
const nowSeconds = () => Math.floor(running.clock.now() / 1000)

/** The claims of an Authlib assertion: the endpoint as audience, and an expiry in an hour. */
const authlib = (endpoint: string): JWTPayload => ({
  iss: 'older',
  sub: 'older',
  aud: `${issuer}${endpoint}`,
  iat: nowSeconds(),
  exp: nowSeconds() + 3600,
  jti: `j${++serial}`,
})

const sign = (claims: JWTPayload, header: object = { alg: 'ES256' }) =>
  new SignJWT(claims).setProtectedHeader(header as { alg: string }).sign(privateKey)

const asClient = (client_assertion: string) => ({
  client_assertion,
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
})

async function send(claims: JWTPayload = {}, alg = 'ES256', key: CryptoKey | Uint8Array = privateKey) {
  const now = nowSeconds()
  const payload = { iss: 'signer', sub: 'signer', aud: issuer, exp: now + 60, iat: now, jti: `j${++serial}`, ...claims }
  const client_assertion = await new SignJWT(payload).setProtectedHeader({ alg, kid: 'one' }).sign(key)
  return present(client_assertion)
}

function present(client_assertion: string) {
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  return running.post('/token', { grant_type: 'client_credentials', client_assertion_type, client_assertion })
}

test('a client authenticates with its private key', async () => {
  assert.equal((await send()).status, 200)
})

test('an assertion is accepted only with this issuer as its audience, as a single string', async () => {
  for (const aud of [
    `${issuer}/token`,
    [issuer],
    [issuer, 'https://other.example'],
    'https://other.example',
    `${issuer}/`,
  ]) {
    const response = await send({ aud })
    assert.deepEqual([response.status, response.body.error], [401, 'invalid_client'], String(aud))
  }
})

test('an assertion works once, for at most five minutes, with matching iss and sub', async () => {
  assert.equal((await send({ jti: 'same' })).status, 200)
  assert.equal((await send({ jti: 'same' })).status, 401)
  const now = Math.floor(running.clock.now() / 1000)
  for (const claims of [{ exp: now + 600 }, { exp: now - 60 }, { iss: 'other' }, { jti: undefined as never }]) {
    assert.equal((await send(claims)).status, 401)
  }
})

test('an assertion with alg none or signed with the public key as a secret is rejected', async () => {
  const secret = new TextEncoder().encode(JSON.stringify(publicJwk))
  assert.equal((await send({}, 'HS256', secret)).status, 401)
  const now = Math.floor(running.clock.now() / 1000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'signer', sub: 'signer', aud: issuer, exp: now + 60, jti: 'none' }
  assert.equal((await present(`${part({ alg: 'none' })}.${part(claims)}.`)).status, 401)
})

test('a client with assertion_audience endpoint is accepted with Authlib and Spring defaults', async () => {
  const form = { grant_type: 'client_credentials' }
  assert.equal((await running.post('/token', { ...form, ...asClient(await sign(authlib('/token'))) })).status, 200)
  const spring = { ...authlib('/token'), exp: nowSeconds() + 60, jti: '0b8ce2a0-52a3-4ab3-9f4c-0c9d0c3c6e31' }
  const assertion = await sign(spring, { kid: 'one', alg: 'ES256' })
  assert.equal((await running.post('/token', { ...form, ...asClient(assertion) })).status, 200)
  const modern = { ...authlib('/token'), aud: issuer, exp: nowSeconds() + 60 }
  assert.equal((await running.post('/token', { ...form, ...asClient(await sign(modern)) })).status, 200)
})

test('other endpoints accept their own URL or that of the token endpoint as audience', async () => {
  const request = { response_type: 'code', code_challenge: 'a'.repeat(43), token: 'none' }
  for (const [endpoint, status] of [
    ['/par', 201],
    ['/introspect', 200],
    ['/revoke', 200],
  ] as const) {
    for (const aud of [endpoint, '/token']) {
      const response = await running.post(endpoint, { ...request, ...asClient(await sign(authlib(aud))) })
      assert.equal(response.status, status, `${aud} at ${endpoint}: ${response.text}`)
    }
    const elsewhere = await sign(authlib(endpoint))
    const token = await running.post('/token', { grant_type: 'client_credentials', ...asClient(elsewhere) })
    assert.equal(
      token.body.error,
      'invalid_client',
      'an assertion for another endpoint is not valid at the token endpoint',
    )
  }
})

test('an assertion with the endpoint as audience expires after five minutes, whatever its exp', async () => {
  const assertion = await sign(authlib('/token'))
  const again = await sign({ ...authlib('/token'), iat: nowSeconds() - 200 })
  running.clock.advance(120_000)
  const form = { grant_type: 'client_credentials' }
  assert.equal((await running.post('/token', { ...form, ...asClient(assertion) })).status, 200)
  assert.equal(
    (await running.post('/token', { ...form, ...asClient(assertion) })).status,
    401,
    'the assertion was used',
  )
  assert.equal((await running.post('/token', { ...form, ...asClient(again) })).status, 401, 'the assertion is too old')
  const { iat: _, ...undated } = authlib('/token')
  const future = { ...authlib('/token'), iat: nowSeconds() + 60 }
  for (const claims of [undated, future]) {
    assert.equal((await running.post('/token', { ...form, ...asClient(await sign(claims)) })).status, 401)
  }
})

test('assertion_audience endpoint is limited to private_key_jwt and to endpoints of this issuer', async () => {
  await assert.rejects(
    running.identity.management.updateClient('secretive', { assertion_audience: 'endpoint' }),
    /assertion_audience endpoint requires token_endpoint_auth_method private_key_jwt/,
  )
  for (const aud of [[`${issuer}/token`], `${issuer}/token/`, 'https://other.example/token', `${issuer}/par`]) {
    const assertion = await sign({ ...authlib('/token'), aud })
    const response = await running.post('/token', { grant_type: 'client_credentials', ...asClient(assertion) })
    assert.equal(response.body.error, 'invalid_client', String(aud))
  }
})
