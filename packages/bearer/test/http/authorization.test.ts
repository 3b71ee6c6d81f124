import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BearerError, bearerToken, type ChallengeOptions, wwwAuthenticate } from '../../src/index.ts'

test('bearerToken reads the header in every form that a server provides', () => {
  assert.equal(bearerToken('Bearer abc'), 'abc')
  assert.equal(bearerToken('bEARER   abc'), 'abc')
  assert.equal(bearerToken(['Bearer abc']), 'abc')
  assert.equal(bearerToken({ authorization: 'Bearer abc' }), 'abc')
  assert.equal(bearerToken({ authorization: ['Bearer abc'] }), 'abc')
  assert.equal(bearerToken(new Headers({ Authorization: 'Bearer abc' })), 'abc')
})

test('missing credentials and other schemes are refused with 401 and no error', () => {
  for (const none of [undefined, null, '', [], {}, new Headers(), 'Basic YTpi', 'Bearerabc', 'DPoP abc']) {
    assert.throws(
      () => bearerToken(none),
      (error: unknown) => {
        assert.ok(error instanceof BearerError)
        assert.equal(error.code, 'missing_token')
        assert.equal(error.status, 401)
        assert.equal(wwwAuthenticate(error, { realm: 'api' }), 'Bearer realm="api"')
        return true
      },
    )
  }
})

test('a header that is not exactly one token is an invalid request', () => {
  const several = new Headers([
    ['authorization', 'Bearer abc'],
    ['authorization', 'Bearer def'],
  ])
  for (const wrong of ['Bearer', 'Bearer ', 'Bearer a b', 'Bearer abc, Bearer def', 'Bearer\tabc', several]) {
    assert.throws(() => bearerToken(wrong), { code: 'invalid_request', status: 400, reason: 'syntax' })
  }
  const twice = { authorization: ['Bearer abc', 'Bearer def'] }
  assert.throws(() => bearerToken(twice), { code: 'invalid_request', status: 400, reason: 'repeated' })
})

const challenges: [error: BearerError, options: ChallengeOptions, header: string | undefined][] = [
  [
    new BearerError('invalid_token', 'expired'),
    { realm: 'api' },
    'Bearer realm="api", error="invalid_token", error_description="The access token expired"',
  ],
  [
    new BearerError('insufficient_scope', 'scope', { requiredScope: 'read:users' }),
    { realm: 'api', resourceMetadata: 'https://api.example/.well-known/oauth-protected-resource' },
    'Bearer realm="api", error="insufficient_scope", error_description="The access token does not have a required scope: read:users", ' +
      'scope="read:users", resource_metadata="https://api.example/.well-known/oauth-protected-resource"',
  ],
  [new BearerError('missing_token', 'missing'), { realm: 'a"\\\r\nb' }, 'Bearer realm="a\\"\\\\b"'],
  [new BearerError('unavailable', 'keys', { retryAfterSeconds: 1 }), { realm: 'api' }, undefined],
]
for (const [error, options, header] of challenges) {
  test(`the challenge for ${error.code} is ${header ?? 'none'}`, () => {
    assert.equal(wwwAuthenticate(error, options), header)
    if (header) new Headers().set('www-authenticate', header)
  })
}

test('the challenge for a malformed header quotes within RFC 6750', () => {
  const header = wwwAuthenticate(new BearerError('invalid_request', 'syntax'), { realm: 'api' })
  assert.match(header ?? '', /error="invalid_request", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/)
})
