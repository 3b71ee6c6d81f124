import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { findClientFaults, parseMetadata } from '../../src/clients/registration.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const withKey = (jwk: object) =>
  parseMetadata('service', {
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ kid: 'one', ...jwk }] },
  })

test('a client registers public keys', () => {
  assert.deepEqual(findClientFaults(withKey(publicKey.export({ format: 'jwk' }))), [])
})

for (const [kind, jwk] of [
  ['private', privateKey.export({ format: 'jwk' })],
  ['symmetric', { kty: 'oct', k: 'c2VjcmV0' }],
] as const)
  test(`a client with a ${kind} key in its jwks is rejected`, () => {
    const faults = findClientFaults(withKey(jwk))
    assert.deepEqual(
      faults.map(({ pointer }) => pointer),
      ['/jwks'],
    )
  })

test('a scope that no request can name is rejected, and said which', () => {
  const faults = findClientFaults(parseMetadata('service', { scopes: ['orders:read', 'orders: read', 'a"b'] }))
  assert.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/scopes/1', '/scopes/2'],
  )
})
