import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { isBlockedAddress, safeFetch } from '../src/http/safe-fetch.ts'
import { issuer, type Running, setup } from './setup.ts'

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

/** What Authlib puts into an assertion: the endpoint as audience, and an hour to live. */
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

test('a client proves itself with its private key', async () => {
  assert.equal((await send()).status, 200)
})

test('an assertion is for this issuer alone, as a single string (checklist 11)', async () => {
  for (const aud of [
    `${issuer}/token`,
    [issuer],
    [issuer, 'https://other.example'],
    'https://other.example',
    `${issuer}/`,
  ]) {
    const answer = await send({ aud })
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], String(aud))
  }
})

test('an assertion works once, lives five minutes at most, and names its client twice (checklist 11)', async () => {
  assert.equal((await send({ jti: 'same' })).status, 200)
  assert.equal((await send({ jti: 'same' })).status, 401)
  const now = Math.floor(running.clock.now() / 1000)
  for (const claims of [{ exp: now + 600 }, { exp: now - 60 }, { iss: 'other' }, { jti: undefined as never }]) {
    assert.equal((await send(claims)).status, 401)
  }
})

test('neither none nor a shared secret made of the public key signs an assertion (checklist 17)', async () => {
  const secret = new TextEncoder().encode(JSON.stringify(publicJwk))
  assert.equal((await send({}, 'HS256', secret)).status, 401)
  const now = Math.floor(running.clock.now() / 1000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'signer', sub: 'signer', aud: issuer, exp: now + 60, jti: 'none' }
  assert.equal((await present(`${part({ alg: 'none' })}.${part(claims)}.`)).status, 401)
})

test('a client registered for the endpoint as audience gets in with the defaults of Authlib and Spring', async () => {
  const form = { grant_type: 'client_credentials' }
  assert.equal((await running.post('/token', { ...form, ...asClient(await sign(authlib('/token'))) })).status, 200)
  const spring = { ...authlib('/token'), exp: nowSeconds() + 60, jti: '0b8ce2a0-52a3-4ab3-9f4c-0c9d0c3c6e31' }
  const assertion = await sign(spring, { kid: 'one', alg: 'ES256' })
  assert.equal((await running.post('/token', { ...form, ...asClient(assertion) })).status, 200)
  const modern = { ...authlib('/token'), aud: issuer, exp: nowSeconds() + 60 }
  assert.equal((await running.post('/token', { ...form, ...asClient(await sign(modern)) })).status, 200)
})

test('the other endpoints take their own address as audience, or that of the token endpoint', async () => {
  const request = { response_type: 'code', code_challenge: 'a'.repeat(43), token: 'none' }
  for (const [endpoint, status] of [
    ['/par', 201],
    ['/introspect', 200],
    ['/revoke', 200],
  ] as const) {
    for (const aud of [endpoint, '/token']) {
      const answer = await running.post(endpoint, { ...request, ...asClient(await sign(authlib(aud))) })
      assert.equal(answer.status, status, `${aud} at ${endpoint}: ${answer.text}`)
    }
    const elsewhere = await sign(authlib(endpoint))
    const token = await running.post('/token', { grant_type: 'client_credentials', ...asClient(elsewhere) })
    assert.equal(token.body.error, 'invalid_client', 'what another endpoint was sent is none for tokens')
  }
})

test('an assertion with the endpoint as audience is good for five minutes, whatever its exp says', async () => {
  const assertion = await sign(authlib('/token'))
  const again = await sign({ ...authlib('/token'), iat: nowSeconds() - 200 })
  running.clock.advance(120_000)
  const form = { grant_type: 'client_credentials' }
  assert.equal((await running.post('/token', { ...form, ...asClient(assertion) })).status, 200)
  assert.equal((await running.post('/token', { ...form, ...asClient(assertion) })).status, 401, 'it was used')
  assert.equal((await running.post('/token', { ...form, ...asClient(again) })).status, 401, 'it is too old')
  const { iat: _, ...undated } = authlib('/token')
  const future = { ...authlib('/token'), iat: nowSeconds() + 60 }
  for (const claims of [undated, future]) {
    assert.equal((await running.post('/token', { ...form, ...asClient(await sign(claims)) })).status, 401)
  }
})

test('the endpoint as audience is for clients that sign, and only that endpoint of this issuer', async () => {
  await assert.rejects(
    running.identity.management.updateClient('secretive', { assertion_audience: 'endpoint' }),
    /assertion_audience endpoint is for clients with token_endpoint_auth_method private_key_jwt/,
  )
  for (const aud of [[`${issuer}/token`], `${issuer}/token/`, 'https://other.example/token', `${issuer}/par`]) {
    const assertion = await sign({ ...authlib('/token'), aud })
    const answer = await running.post('/token', { grant_type: 'client_credentials', ...asClient(assertion) })
    assert.equal(answer.body.error, 'invalid_client', String(aud))
  }
})

test('what others choose is never called in our own networks, redirected, or read without end (checklist 16)', async () => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.1.1',
    '::1',
    '::ffff:10.0.0.1',
    'fd00::1',
    'fe80::1',
    '0.0.0.0',
    '::',
  ]) {
    assert.ok(isBlockedAddress(address), address)
  }
  assert.ok(!isBlockedAddress('93.184.216.34') && !isBlockedAddress('2606:2800:220:1:248:1893:25c8:1946'))
  for (const address of [
    'http://example.com/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'https://0x7f000001/',
    'file:///etc/passwd',
  ]) {
    await assert.rejects(safeFetch(address), address)
  }
  const server = createServer((request, response) => {
    if (request.url === '/big') response.end('x'.repeat(200_000))
    else response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  assert.equal((await safeFetch(`${base}/`, { loopback: true })).status, 302)
  await assert.rejects(safeFetch(`${base}/big`, { loopback: true }), /larger/)
  server.close()
})
