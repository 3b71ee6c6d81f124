import assert from 'node:assert/strict'
import { test } from 'node:test'
import { features } from '../../../src/compose/identity/identity.ts'

test('back-channel logout calls clients on this machine while the issuer is local too', () => {
  for (const issuer of ['http://localhost:8080', 'https://127.0.0.1:8443', 'http://[::1]:8080'])
    assert.equal(features(issuer).loopbackCalls, true, issuer)
  for (const issuer of ['https://auth.example.com', 'https://localhost.example.com', 'http://10.0.0.1:8080'])
    assert.equal(features(issuer).loopbackCalls, false, issuer)
})
