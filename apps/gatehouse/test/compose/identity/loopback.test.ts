import assert from 'node:assert/strict'
import { test } from 'node:test'
import { features } from '../../../src/compose/identity/identity.ts'

test('clients on this machine are called while the issuer is on it too, so that back-channel logout can be tried', () => {
  for (const issuer of ['http://localhost:8080', 'https://127.0.0.1:8443', 'http://[::1]:8080'])
    assert.equal(features(issuer).loopbackCalls, true, issuer)
  for (const issuer of ['https://auth.example.com', 'https://localhost.example.com', 'http://10.0.0.1:8080'])
    assert.equal(features(issuer).loopbackCalls, false, issuer)
})
