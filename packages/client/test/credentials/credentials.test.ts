import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apiKey, bearer, call, clientCredentials, connect } from '../../src/index.ts'
import { Issuer, invalidToken, issuer, read } from '../support/issuer.ts'
import { json, problem, type Reaction, ScriptedServer } from '../support/scripted-server.ts'

/** A client whose token is due for renewal, and valid for 50 s yet. */
async function dueForRenewal(api?: (token: string | null) => Reaction) {
  const issuing = new Issuer(api)
  const { server } = issuing
  const connection = connect(
    server.options({ credentials: clientCredentials({ issuer, clientId: 'a', clientSecret: 'b' }) }),
  )
  await call(connection, read)
  await server.clock.advance(850_000)
  return { issuing, server, connection }
}

describe('client credentials', () => {
  test('are requested once for many calls, and again a minute before they expire', async () => {
    const { server, tokenRequests } = new Issuer()
    const secret = { clientId: 'a:b', clientSecret: 'c d+e' }
    const credentials = clientCredentials({ issuer, ...secret, scope: ['write:notifications', 'read:users'] })
    const connection = connect(server.options({ credentials }))
    await Promise.all(Array.from({ length: 20 }, () => call(connection, read)))
    assert.equal(tokenRequests.length, 1)
    const [first] = tokenRequests
    assert.equal(first?.body, 'grant_type=client_credentials&scope=write%3Anotifications+read%3Ausers')
    assert.equal(first?.headers.get('authorization'), `Basic ${btoa('a%3Ab:c+d%2Be')}`)
    // Half of the jitter of 15 s comes on top of the minute.
    await server.clock.advance((900 - 68) * 1_000)
    await call(connection, read)
    assert.equal(tokenRequests.length, 1)
    await server.clock.advance(1_000)
    await call(connection, read)
    // The call does not wait for the new one; the next has it.
    await server.clock.advance(0)
    assert.equal(tokenRequests.length, 2)
    await call(connection, read)
    assert.equal(tokenRequests.length, 2)
    assert.equal(server.requests.at(-1)?.headers.get('authorization'), 'Bearer t2')
  })

  test('that are due are renewed beside the calls: a silent token endpoint holds up none', async () => {
    const { issuing, connection, server } = await dueForRenewal()
    issuing.failure = () => 'silent'
    const at = server.clock.now()
    for (let n = 0; n < 20; n++) assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.equal(server.clock.now(), at)
    assert.equal(issuing.tokenRequests.length, 2)
    // The pause counts from the failure, not from the beginning of what failed.
    await server.clock.advance(10_999)
    await call(connection, read)
    assert.equal(issuing.tokenRequests.length, 2)
    await server.clock.advance(1)
    await call(connection, read)
    await server.clock.advance(0)
    assert.equal(issuing.tokenRequests.length, 3)
  })

  test('that expire within seconds are waited for: they would expire on their way', async () => {
    const { issuing, connection, server } = await dueForRenewal()
    await server.clock.advance(46_000)
    await call(connection, read)
    assert.equal(server.requests.at(-1)?.headers.get('authorization'), 'Bearer t2')
    assert.equal(issuing.tokenRequests.length, 2)
  })

  test('are not asked for again before Retry-After, however many calls there are', async () => {
    const refusal = () => problem(429, {}, { 'retry-after': '30' })
    const { issuing, connection, server } = await dueForRenewal()
    issuing.failure = refusal
    for (let n = 0; n < 100; n++) {
      assert.equal(await call(connection, read), 1)
      await server.clock.advance(10)
    }
    assert.equal(issuing.tokenRequests.length, 2)
    await server.clock.advance(29_100)
    await call(connection, read)
    await server.clock.advance(0)
    assert.equal(issuing.tokenRequests.length, 3)
    const none = new Issuer()
    none.failure = refusal
    const other = connect(
      none.server.options({ credentials: clientCredentials({ issuer, clientId: 'a', clientSecret: 'b' }) }),
    )
    for (let n = 0; n < 100; n++) await assert.rejects(call(other, read), { code: 'rate_limited' })
    assert.equal(none.tokenRequests.length, 1)
  })

  test('that are refused by the API are renewed at once, also in the pause after a failed renewal', async () => {
    let revoked = ''
    const { issuing, connection, server } = await dueForRenewal((token) =>
      token === revoked ? invalidToken() : json(1),
    )
    issuing.failure = () => problem(503, {}, { 'retry-after': '30' })
    await call(connection, read)
    await server.clock.advance(0)
    issuing.failure = undefined
    revoked = 'Bearer t1'
    assert.equal(await call(connection, read), 1)
    assert.equal(server.requests.at(-1)?.headers.get('authorization'), 'Bearer t2')
  })

  test('use a valid token on while a new one can not be had', async () => {
    const issuing = new Issuer()
    const { server } = issuing
    const connection = connect(
      server.options({ credentials: clientCredentials({ issuer, clientId: 'a', clientSecret: 'b' }) }),
    )
    await call(connection, read)
    issuing.failure = () => 'broken'
    await server.clock.advance(850_000)
    assert.equal(await call(connection, read), 1)
    await server.clock.advance(60_000)
    await assert.rejects(server.clock.settle(call(connection, read)), { code: 'connection_failed' })
  })

  test('are renewed once after invalid_token, for all calls together, and the call is repeated', async () => {
    const { server, tokenRequests } = new Issuer((token) => (token === 'Bearer t1' ? invalidToken() : json(1)))
    const connection = connect(
      server.options({ credentials: clientCredentials({ issuer, clientId: 'a', clientSecret: 'b' }) }),
    )
    const write = { ...read, method: 'POST', body: {} }
    assert.deepEqual(await Promise.all(Array.from({ length: 5 }, () => call(connection, write))), [1, 1, 1, 1, 1])
    assert.equal(tokenRequests.length, 2)
  })

  test('are not renewed twice for a call, nor after 403, nor for what else a 401 may say', async () => {
    for (const [refusal, tokens, requests] of [
      [invalidToken, 2, 2],
      [() => problem(403, {}, { 'www-authenticate': 'Bearer error="insufficient_scope"' }), 1, 1],
      [() => problem(401, {}, { 'www-authenticate': 'Bearer error="insufficient_user_authentication"' }), 1, 1],
    ] as const) {
      const { server, tokenRequests } = new Issuer(refusal)
      const connection = connect(
        server.options({ credentials: clientCredentials({ issuer, clientId: 'a', clientSecret: 'b' }) }),
      )
      await assert.rejects(call(connection, read))
      assert.equal(tokenRequests.length, tokens)
      assert.equal(server.requests.filter(({ url }) => url.host === 'api.example.com').length, requests)
    }
  })

  test('that are refused end the call; a token endpoint that does not answer is asked again', async () => {
    const issuing = new Issuer()
    const { server } = issuing
    const connection = connect(
      server.options({ credentials: clientCredentials({ issuer, clientId: 'a', clientSecret: 'b' }) }),
    )
    issuing.failure = () => json({ error: 'invalid_client', error_description: 'no such client' }, { status: 401 })
    await assert.rejects(call(connection, read), { name: 'OAuthError', error: 'invalid_client', retryable: false })
    const failures: Reaction[] = ['broken', problem(503, {}, { 'retry-after': '3' })]
    issuing.failure = () => {
      const failure = failures.shift()
      if (failures.length === 0) issuing.failure = undefined
      return failure ?? 'broken'
    }
    // Nothing was sent to the API before, so a POST is no exception.
    assert.equal(await server.clock.settle(call(connection, { ...read, method: 'POST', body: {} })), 1)
    assert.equal(server.requests.filter(({ url }) => url.host === 'api.example.com').length, 1)
  })

  test('go to no metadata of another issuer, to no redirect, and never in the clear', async () => {
    const elsewhere = new ScriptedServer(({ url }) =>
      url.pathname === '/token'
        ? json({})
        : json({ issuer: 'https://other.example', token_endpoint: 'https://other.example/token' }),
    )
    const options = { issuer, clientId: 'a', clientSecret: 'b' }
    const connection = connect(elsewhere.options({ credentials: clientCredentials(options) }))
    await assert.rejects(call(connection, read), { code: 'invalid_response' })
    assert.ok(elsewhere.requests.every(({ headers }) => !headers.has('authorization')))
    const redirecting = new Issuer()
    redirecting.failure = () => new Response(null, { status: 308, headers: { location: 'https://other.example' } })
    const other = connect(redirecting.server.options({ credentials: clientCredentials(options) }))
    await assert.rejects(call(other, read), { code: 'redirected' })
    assert.throws(() => clientCredentials({ ...options, issuer: 'http://auth.example.com' }), TypeError)
    assert.throws(() => clientCredentials({ ...options, tokenEndpoint: 'http://auth.example.com/token' }), TypeError)
  })

  test('by a private key are a signed assertion for the issuer, new each time', async () => {
    for (const [algorithm, parameters] of [
      ['ES256', { name: 'ECDSA', namedCurve: 'P-256' }],
      ['EdDSA', { name: 'Ed25519' }],
    ] as const) {
      const pair = (await crypto.subtle.generateKey(parameters as EcKeyGenParams, true, [
        'sign',
        'verify',
      ])) as CryptoKeyPair
      const key = await crypto.subtle.exportKey('jwk', pair.privateKey)
      const privateKey = { key, keyId: 'k1', algorithm }
      const issuing = new Issuer((token) => (token === 'Bearer t1' ? invalidToken() : json(1)))
      const credentials = clientCredentials({ issuer, clientId: 'a', privateKey })
      await call(connect(issuing.server.options({ credentials })), read)
      const assertions = issuing.tokenRequests.map(
        ({ body }) => new URLSearchParams(body).get('client_assertion') ?? '',
      )
      assert.equal(new Set(assertions).size, 2)
      const [header = '', claims = '', signature = ''] = assertions[0]?.split('.') ?? []
      const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
      assert.deepEqual(parse(header), { alg: algorithm, typ: 'JWT', kid: 'k1' })
      const { iss, sub, aud, exp, iat } = parse(claims)
      assert.deepEqual([iss, sub, aud, exp - iat], ['a', 'a', issuer, 60])
      const signed = Buffer.from(`${header}.${claims}`)
      const verify = algorithm === 'ES256' ? { name: 'ECDSA', hash: 'SHA-256' } : parameters
      assert.ok(await crypto.subtle.verify(verify, pair.publicKey, Buffer.from(signature, 'base64url'), signed))
    }
  })
})

test('a bearer function is called with true once for all calls that one token was refused in', async () => {
  let token = 'old'
  const renewals: boolean[] = []
  const get = async (renew: boolean) => {
    renewals.push(renew)
    if (renew) token = 'new'
    return token
  }
  const server = new ScriptedServer(({ headers }) =>
    headers.get('authorization') === 'Bearer old' ? invalidToken() : json(1),
  )
  const connection = connect(server.options({ credentials: bearer(get) }))
  await Promise.all([call(connection, read), call(connection, read), call(connection, read)])
  assert.deepEqual(renewals.filter(Boolean), [true])
  await call(connection, read)
  assert.equal(server.requests.length, 7)
})

test('an API key is sent as X-API-Key, and not repeated when it is refused', async () => {
  const server = new ScriptedServer(invalidToken)
  await assert.rejects(call(connect(server.options({ credentials: apiKey('gk_1') })), read), {
    code: 'unauthenticated',
  })
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.get('x-api-key')),
    ['gk_1'],
  )
})

test('an open operation is called without credentials', async () => {
  const server = new ScriptedServer(() => json(1))
  const fail = bearer(() => assert.fail('no token is needed'))
  await call(connect(server.options({ credentials: fail })), { ...read, open: true })
  assert.equal(server.requests[0]?.headers.get('authorization'), null)
})
