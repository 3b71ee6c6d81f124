import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupOnce } from '../support/setup.ts'

const running = setupOnce()

for (const url of [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/jwks.json',
]) {
  test(`${url} answers a CORS preflight and rejects other methods with Allow`, async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
    const preflight = await running.http.inject({ method: 'OPTIONS', url, headers })
    assert.deepEqual(
      [
        preflight.statusCode,
        preflight.headers['access-control-allow-origin'],
        preflight.headers['access-control-allow-methods'],
      ],
      [204, '*', 'GET, HEAD'],
    )
    const refused = await running.http.inject({ method: 'POST', url })
    assert.deepEqual([refused.statusCode, refused.headers.allow], [405, 'GET, HEAD, OPTIONS'])
  })
}
