import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { callback, clients, users } from '../support/journey.ts'
import { service, setupOnce } from '../support/setup.ts'

const requests = 10_000
const marker = '<script>fuzz</script>'
const addresses = [callback, 'https://spa.example/callback', 'https://app.example/bye']
const rfcErrors = new Set(
  `invalid_request invalid_client invalid_grant unauthorized_client unsupported_grant_type invalid_scope invalid_target
  authorization_pending slow_down expired_token access_denied temporarily_unavailable unsupported_response_type
  request_not_supported`.split(/\s+/),
)

const running = setupOnce({ declared: { clients: [...clients, service], users } })

const names =
  `client_id client_secret grant_type code code_verifier code_challenge code_challenge_method redirect_uri scope
  state nonce prompt max_age claims id_token_hint request request_uri response_type response_mode resource refresh_token
  device_code token token_type_hint client_assertion client_assertion_type user_code username password continuation
  form_token post_logout_redirect_uri decision login_hint ui_locales access_token`.split(/\s+/)

const values = [
  ...[
    'web',
    'spa',
    'tv',
    'service',
    service.client_secret,
    'web-secret-0123456789abc',
    callback,
    'https://evil.example/',
  ],
  ...[
    'authorization_code',
    'refresh_token',
    'client_credentials',
    'urn:ietf:params:oauth:grant-type:device_code',
    'password',
  ],
  ...[
    'openid',
    'openid profile',
    'admin:all',
    'code',
    'token',
    'query',
    'form_post',
    'fragment',
    'S256',
    'plain',
    'none',
  ],
  ...[
    'login',
    'a'.repeat(43),
    'javascript:alert(1)',
    `${callback}/../x`,
    '//evil.example',
    '{"userinfo":{"name":null}}',
    '[',
    '0',
  ],
  ...[
    '-1',
    '1e9',
    'urn:ietf:params:oauth:request_uri:x',
    'e30.e30.e30',
    'e30.e30.',
    marker,
    `"'>${marker}`,
    '%00',
    '\u{1f600}',
    '',
  ],
  ...['allow', 'BBBB-BBBB', "' OR 1=1 --", '__proto__', 'constructor', 'x'.repeat(5_000)],
]

const value = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...values) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)
const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: fc.string() })
const form = fc
  .array(fc.tuple(name, value), { maxLength: 9 })
  .map((pairs) => new URLSearchParams(pairs.map(([n, v]) => [n, v.toWellFormed()])).toString())
const header = fc.option(
  fc.constantFrom(
    `Basic ${btoa(`web:web-secret-0123456789abc`)}`,
    `Basic ${btoa(`service:${service.client_secret}`)}`,
    'Basic !!!',
    'Basic Og==',
    'Bearer e30.e30.e30',
    'Bearer ',
    `Bearer ${'x'.repeat(9_000)}`,
  ),
  { nil: undefined },
)

const endpoints = [
  ...['POST /token', 'POST /revoke', 'POST /introspect', 'POST /par', 'POST /device_authorization', 'POST /userinfo'],
  ...[
    'GET /authorize',
    'POST /authorize',
    'GET /authorize/continue',
    'POST /login',
    'POST /consent',
    'GET /device',
    'POST /device',
  ],
  ...['POST /device/decision', 'GET /end_session', 'POST /end_session/confirm', 'GET /account', 'POST /account/end'],
  ...['POST /password/forgot', 'GET /password/reset', 'POST /email/verify', 'GET /userinfo', 'GET /revocations'],
]

for (const endpoint of endpoints) {
  test(`${endpoint} survives ${requests} malformed requests: no 5xx, reflection or open redirect`, async () => {
    const [method = '', path = ''] = endpoint.split(' ')
    const property = fc.asyncProperty(form, header, async (payload, authorization) => {
      const response = await running.http.inject({
        method: method as 'GET' | 'POST',
        url: method === 'GET' ? `${path}?${payload}` : path,
        ...(method === 'POST' ? { payload } : {}),
        headers: {
          ...(method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded', cookie: 'x=y' } : {}),
          ...(authorization === undefined ? {} : { authorization }),
        },
      })
      assert.ok(response.statusCode < 500, `${response.statusCode} ${response.payload}`)
      if (String(response.headers['content-type']).startsWith('text/html'))
        assert.ok(!response.payload.includes(marker))
      const location = response.headers.location
      if (location !== undefined) {
        const own = String(location).startsWith('/') && !String(location).startsWith('//')
        assert.ok(
          own || addresses.some((one) => String(location).startsWith(`${one}?`) || location === one),
          String(location),
        )
      }
      if (response.statusCode >= 400 && /^\/(token|revoke|introspect|par|device_authorization)$/.test(path)) {
        assert.ok(rfcErrors.has(response.json().error), response.payload)
      }
    })
    await fc.assert(property, { numRuns: requests })
  })
}
