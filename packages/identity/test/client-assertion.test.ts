import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { isBlockedAddress, safeFetch } from '../src/safe-fetch.ts'
import { issuer, type Running, setup } from './setup.ts'

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
    declared: { clients: [{ client_id: 'signer', ...signed, jwks: { keys: [publicJwk] }, scopes: ['read:users'] }] },
  })
})
after(() => running.close())

let serial = 0
async function send(claims: JWTPayload = {}, alg = 'ES256', key: CryptoKey | Uint8Array = privateKey) {
  const now = Math.floor(running.clock.now() / 1000)
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
