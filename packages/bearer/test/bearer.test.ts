import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BearerError, type BearerErrorReason, type BearerOptions, createBearer, hasScope } from '../src/index.ts'
import { audience, goodClaims, issuer, setup, sign, signingKey } from './support/issuer.ts'

/** True for a refusal with this code, status and reason. */
function refusal(code: string, status: number, reason: BearerErrorReason) {
  return (error: unknown) => {
    assert.ok(error instanceof BearerError)
    assert.deepEqual(
      { code: error.code, status: error.status, reason: error.reason },
      { code, status, reason },
      `${error.stack}`,
    )
    return true
  }
}

const unauthorized = (reason: BearerErrorReason) => refusal('invalid_token', 401, reason)

test('authenticate returns the caller of a valid access token', async () => {
  const { bearer, token, clock } = await setup()
  const caller = await bearer.authenticate(`Bearer ${await token({ roles: ['editor'], plan: 'pro' })}`)
  const { claims, ...rest } = caller
  assert.deepEqual(rest, {
    subject: 'alice',
    kind: 'user',
    clientId: 'shop',
    scopes: ['read:users', 'write:notifications'],
    roles: ['editor'],
    plan: 'pro',
    grantId: 'grant-1',
    tokenId: 'token-1',
    acr: undefined,
    authTime: undefined,
    issuedAt: clock.now(),
    expiresAt: clock.now() + 900_000,
  })
  assert.equal(claims.iss, issuer)
})

test('a token whose subject is its client_id has a client as its caller', async () => {
  const { bearer, token } = await setup()
  assert.equal((await bearer.authenticate(`Bearer ${await token({ sub: 'shop' })}`)).kind, 'client')
})

test('a caller is deeply frozen, since requests share it', async () => {
  const { bearer, token } = await setup()
  const caller = await bearer.authenticate(`Bearer ${await token({ act: { sub: 'x', list: [{}] } })}`)
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))
  assert.ok(frozen(caller))
})

test('authenticate returns at once when the keys are at hand, for new and cached tokens', async () => {
  const { bearer, token } = await setup()
  assert.equal(await bearer.prefetch(), true)
  const header = `Bearer ${await token()}`
  const first = bearer.authenticate(header)
  assert.ok(!(first instanceof Promise))
  assert.equal(bearer.authenticate(header), first)
})

for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const) {
  test(`${alg} signatures of jose are verified, and other signatures refused`, async () => {
    const { bearer, token } = await setup({ algorithms: [alg] }, alg)
    const good = await token()
    assert.equal((await bearer.authenticate(`Bearer ${good}`)).subject, 'alice')
    const other = await token({ sub: 'bob' })
    const forged = good.slice(0, good.lastIndexOf('.')) + other.slice(other.lastIndexOf('.'))
    assert.throws(() => bearer.authenticate(`Bearer ${forged}`), unauthorized('signature'))
  })
}

const refusedClaims: [what: string, claims: object, reason: BearerErrorReason][] = [
  ['of another issuer', { iss: 'https://other.example' }, 'issuer'],
  ['of an issuer that differs by a slash', { iss: `${issuer}/` }, 'issuer'],
  ['of a list of issuers', { iss: [issuer] }, 'issuer'],
  ['without issuer', { iss: undefined }, 'issuer'],
  ['for another service', { aud: 'https://other.example' }, 'audience'],
  ['for nobody', { aud: [] }, 'audience'],
  ['without audience', { aud: undefined }, 'audience'],
  ['without expiry', { exp: undefined }, 'claims'],
  ['whose expiry is text', { exp: '9999999999' }, 'claims'],
  ['whose nbf is text', { nbf: '0' }, 'claims'],
  ['without subject', { sub: undefined }, 'claims'],
  ['with an empty subject', { sub: '' }, 'claims'],
  ['whose subject is a number', { sub: 1 }, 'claims'],
  ['whose scope is a list', { scope: ['read:users'] }, 'claims'],
  ['whose roles are text', { roles: 'admin' }, 'claims'],
  ['whose roles hold a number', { roles: ['admin', 1] }, 'claims'],
  ['bound to a key', { cnf: { jkt: 'abc' } }, 'sender_constrained'],
]
for (const [what, claims, reason] of refusedClaims) {
  test(`a token ${what} is refused`, async () => {
    const { bearer, key, clock } = await setup()
    const header = `Bearer ${await sign(key, { ...goodClaims(clock.now()), ...claims })}`
    await assert.rejects(async () => bearer.authenticate(header), unauthorized(reason))
    await assert.rejects(async () => bearer.authenticate(header), unauthorized(reason), 'refused again')
  })
}

test('a token for several audiences is accepted when this one is among them', async () => {
  const { bearer, token } = await setup()
  await bearer.authenticate(`Bearer ${await token({ aud: ['https://other.example', audience] })}`)
})

test('a cached token expires on the millisecond, clock skew included', async () => {
  const { bearer, token, clock } = await setup({ clockSkewSeconds: 10 })
  const header = `Bearer ${await token()}`
  await bearer.authenticate(header)
  clock.advance(909_999)
  await bearer.authenticate(header)
  clock.advance(1)
  assert.throws(() => bearer.authenticate(header), unauthorized('expired'))
})

test('CVE-2026-107719: a cached token with exp and without iat expires', async () => {
  const { bearer, token, clock } = await setup({ clockSkewSeconds: 0 })
  const header = `Bearer ${await token({ iat: undefined, exp: clock.now() / 1000 + 30 })}`
  await bearer.authenticate(header)
  clock.advance(30_000)
  assert.throws(() => bearer.authenticate(header), unauthorized('expired'))
})

test('a token is not valid before its nbf, clock skew included', async () => {
  const { bearer, token, clock } = await setup({ clockSkewSeconds: 10 })
  const header = `Bearer ${await token({ nbf: clock.now() / 1000 + 11 })}`
  await assert.rejects(async () => bearer.authenticate(header), unauthorized('not_yet_valid'))
  clock.advance(1_000)
  await bearer.authenticate(header)
})

test('every required scope must be present, and the error names them all', async () => {
  const { bearer, token } = await setup()
  const header = `Bearer ${await token()}`
  const caller = await bearer.authenticate(header, { scope: 'write:notifications read:users' })
  assert.ok(hasScope(caller, 'read:users'))
  assert.ok(!hasScope(caller, 'read'))
  assert.throws(
    () => bearer.authenticate(header, { scope: 'read:users admin:users' }),
    (error: unknown) =>
      refusal('insufficient_scope', 403, 'scope')(error) &&
      error instanceof BearerError &&
      error.requiredScope === 'read:users admin:users',
  )
})

const refusedHeaders: [what: string, header: object, reason: BearerErrorReason][] = [
  ['an ID token', { typ: 'JWT' }, 'type'],
  ['a token without type', { typ: undefined }, 'type'],
  ['a logout token', { typ: 'logout+jwt' }, 'type'],
  ['a token with its own key (jwk)', { jwk: { kty: 'RSA' } }, 'header'],
  ['a token with the URL of its key (jku)', { jku: 'https://evil.example/jwks' }, 'header'],
  ['a token with the URL of its certificate (x5u)', { x5u: 'https://evil.example/x' }, 'header'],
  ['a token with its own certificate (x5c)', { x5c: ['MIIB'] }, 'header'],
  ['a key id that is a path', { kid: '../../../../dev/null' }, 'unknown_key'],
  ['a key id that is SQL', { kid: "x' UNION SELECT 'secret" }, 'unknown_key'],
  ['a key id that is a member of every object', { kid: '__proto__' }, 'unknown_key'],
  ['a key id longer than any', { kid: 'k'.repeat(257) }, 'malformed'],
]
for (const [what, header, reason] of refusedHeaders) {
  test(`authenticate refuses ${what}`, async () => {
    const { bearer, token } = await setup()
    await assert.rejects(async () => bearer.authenticate(`Bearer ${await token({}, header)}`), unauthorized(reason))
  })
}

test('the type may be a full media type, in any case', async () => {
  const { bearer, token } = await setup()
  for (const typ of ['application/at+jwt', 'AT+JWT']) {
    await bearer.authenticate(`Bearer ${await token({}, { typ })}`)
  }
})

test('a token without a key id is verified only where one key has its algorithm', async () => {
  const { bearer, token, published } = await setup()
  const header = `Bearer ${await token({}, { kid: undefined })}`
  await bearer.authenticate(header)
  published.push((await signingKey('ES256', 'second')).jwk)
  await bearer.refreshKeys()
  assert.throws(() => bearer.authenticate(header), unauthorized('unknown_key'))
})

test('private, symmetric, encryption, weak and other-algorithm keys are not used', async () => {
  const { clock, key, published, bearer, token } = await setup()
  const unusable = [
    { ...key.jwk, d: 'AAAA' },
    { ...key.jwk, use: 'enc' },
    { ...key.jwk, key_ops: ['encrypt'] },
    { ...key.jwk, alg: 'ES384' },
    { ...key.jwk, x: 'AAAA' },
    { kty: 'oct', k: 'c2VjcmV0', kid: key.kid, alg: 'HS256' },
    { kty: 'RSA', n: 'sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri', e: 'AQAB', kid: key.kid, alg: 'RS256' },
  ]
  for (const jwk of unusable) {
    published.splice(0, published.length, jwk)
    const fresh = createBearer({ issuer, audience, keys: () => [...published], clock })
    assert.equal(await fresh.prefetch(), false, JSON.stringify(jwk))
    await assert.rejects(async () => fresh.authenticate(`Bearer ${await token()}`), refusal('unavailable', 503, 'keys'))
  }
  await assert.rejects(async () => bearer.authenticate(`Bearer ${await token()}`), refusal('unavailable', 503, 'keys'))
})

test('tokens of a withdrawn key are refused from the next fetch on, cached or not', async () => {
  const { bearer, token, published } = await setup()
  const header = `Bearer ${await token()}`
  await bearer.authenticate(header)
  published.splice(0, 1, (await signingKey('ES256', 'next')).jwk)
  await bearer.refreshKeys()
  await assert.rejects(async () => bearer.authenticate(header), unauthorized('unknown_key'))
})

test('the first token of a new key triggers a fetch; cached tokens of the old key stay valid', async () => {
  const { bearer, token, published, clock } = await setup()
  const old = `Bearer ${await token()}`
  await bearer.authenticate(old)
  const next = await signingKey('ES256', 'next')
  published.push(next.jwk)
  await bearer.authenticate(`Bearer ${await sign(next, goodClaims(clock.now()))}`)
  await bearer.authenticate(old)
})

test('in-process keys are read again within a minute, in the background', async () => {
  const { bearer, token, published, clock } = await setup()
  const header = `Bearer ${await token()}`
  await bearer.authenticate(header)
  published.splice(0, 1, (await signingKey('ES256', 'next')).jwk)
  clock.advance(50_000)
  assert.ok(!(bearer.authenticate(header) instanceof Promise), 'the reading happens in the background')
  await bearer.prefetch()
  await assert.rejects(async () => bearer.authenticate(header), unauthorized('unknown_key'))
})

test('revocations are checked at every use of a cached token', async () => {
  const revoked = new Set<string>()
  const { bearer, token } = await setup({ revocations: { covers: (caller) => revoked.has(caller.grantId ?? '') } })
  const header = `Bearer ${await token()}`
  await bearer.authenticate(header)
  revoked.add('grant-1')
  assert.throws(() => bearer.authenticate(header), unauthorized('revoked'))
})

test('the token cache is bounded, and authenticate works when it is full', async () => {
  const { bearer, token } = await setup({ cacheEntries: 4 })
  const headers = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => `Bearer ${await token({ jti: `${n}` })}`),
  )
  for (const header of [...headers, ...headers]) await bearer.authenticate(header)
})

const goodOptions: BearerOptions = { issuer, audience, jwksUri: 'https://auth.example/jwks' }
const faults: [what: string, options: object, message: RegExp][] = [
  ['no issuer', { issuer: '' }, /issuer must be a non-empty string/],
  ['no audience', { audience: [] }, /audience must not be an empty list/],
  ['an empty audience', { audience: [''] }, /audience must be a non-empty string/],
  ['keys and an address of keys', { keys: () => [] }, /keys and jwksUri exclude each other/],
  ['neither keys nor an issuer to ask', { jwksUri: undefined, issuer: 'auth' }, /issuer must be an absolute URL/],
  ['a plain http address', { jwksUri: 'http://auth.example/jwks' }, /must be https/],
  ['an address with credentials', { jwksUri: 'https://a:b@auth.example/jwks' }, /neither credentials/],
  ['a relative address', { jwksUri: '/jwks' }, /absolute URL/],
  ['a file', { jwksUri: 'file:///etc/passwd' }, /must be https/],
  ['a skew of two minutes', { clockSkewSeconds: 120 }, /clockSkewSeconds must be a number of seconds from 0 to 60/],
  ['a symmetric algorithm', { algorithms: ['HS256'] }, /algorithms must be some of RS256/],
  ['no algorithm', { algorithms: [] }, /algorithms must be some of RS256/],
  ['a memory of one token', { cacheEntries: 1 }, /cacheEntries must be a whole number/],
]
for (const [what, options, message] of faults) {
  test(`createBearer rejects ${what}`, () => {
    assert.throws(() => createBearer({ ...goodOptions, ...options } as BearerOptions), message)
  })
}

test('http is allowed on loopback, or with allowInsecureHttp', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    createBearer({ ...goodOptions, jwksUri: `http://${host}/jwks` })
  createBearer({ ...goodOptions, jwksUri: 'http://auth.internal/jwks', allowInsecureHttp: true })
})
