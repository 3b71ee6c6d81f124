import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { apiKey, bearer, call, clientCredentials, connect, refreshing, type UserTokens } from '../../src/index.ts'
import { json, problem, type Reaction, ScriptedServer, type SeenRequest } from '../support/scripted-server.ts'

const issuer = 'https://auth.example.com'
const read = { method: 'GET', path: '/v1/things' }
const invalidToken = () => problem(401, {}, { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' })

/** An issuer that numbers its tokens, and an API that reacts to them. */
class Issuer {
  issued = 0
  lifetimeSeconds = 900
  /** What the token endpoint answers instead. */
  failure: (() => Reaction) | undefined
  /** How long it takes for a token. */
  delayMs = 0
  readonly tokenRequests: SeenRequest[] = []
  readonly server: ScriptedServer

  constructor(api: (token: string | null) => Reaction = () => json(1)) {
    this.server = new ScriptedServer(async (request) => {
      const { pathname, host } = request.url
      if (host !== 'auth.example.com') return api(request.headers.get('authorization'))
      if (pathname === '/.well-known/openid-configuration') return json({ issuer, token_endpoint: `${issuer}/token` })
      this.tokenRequests.push(request)
      if (this.failure) return this.failure()
      const nth = ++this.issued
      if (this.delayMs > 0) await new Promise<void>((resolve) => this.server.clock.after(this.delayMs, resolve))
      const token = { access_token: `t${nth}`, token_type: 'Bearer', expires_in: this.lifetimeSeconds }
      return json({ ...token, refresh_token: `r${nth}` })
    })
  }
}

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

describe('the tokens of a user', () => {
  const now = Date.UTC(2026, 10, 22)
  /** A store with one lock, as pages of one browser share it. */
  function storeOf(tokens: UserTokens | undefined) {
    let last: Promise<unknown> = Promise.resolve()
    const store = {
      tokens,
      saves: 0,
      load: () => store.tokens,
      save(next: UserTokens) {
        store.tokens = next
        store.saves++
      },
      exclusively<Result>(refresh: () => Promise<Result>): Promise<Result> {
        const next = last.then(refresh, refresh)
        last = next.catch(() => {})
        return next
      },
    }
    return store
  }
  const expired: UserTokens = { accessToken: 't0', refreshToken: 'r0', expiresAt: now + 30_000 }

  test('are refreshed once by two pages that share a store, and saved before they are used', async () => {
    const { server, tokenRequests } = new Issuer()
    const store = storeOf(expired)
    const pages = [1, 2].map(() =>
      connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) })),
    )
    await Promise.all(pages.flatMap((page) => [call(page, read), call(page, read)]))
    assert.deepEqual(
      tokenRequests.map(({ body }) => body),
      ['grant_type=refresh_token&refresh_token=r0&client_id=web'],
    )
    assert.deepEqual(store.tokens, { accessToken: 't1', refreshToken: 'r1', expiresAt: now + 900_000 })
    const used = server.requests.filter(({ url }) => url.host === 'api.example.com')
    assert.deepEqual([...new Set(used.map(({ headers }) => headers.get('authorization')))], ['Bearer t1'])
  })

  test('that are fresh are used as they are, and refreshed when the API refuses them', async () => {
    const { server, tokenRequests } = new Issuer((token) => (token === 'Bearer t0' ? invalidToken() : json(1)))
    const store = storeOf({ ...expired, expiresAt: now + 600_000 })
    await call(connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) })), read)
    assert.deepEqual([tokenRequests.length, store.saves], [1, 1])
  })

  test('whose new ones were lost on their way are asked for again within the grace of the issuer', async () => {
    const graceMs = 10_000
    for (const expiresAt of [now - 1, now + 600_000]) {
      const issuing = new Issuer()
      const { server, tokenRequests } = issuing
      const store = storeOf({ ...expired, expiresAt })
      const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
      let lost = 0
      issuing.failure = () => {
        issuing.failure = lost++ === 0 ? issuing.failure : undefined
        return 'silent'
      }
      if (expiresAt > now) {
        await call(connection, read)
        await server.clock.advance(560_000)
      }
      // One call, and no other that would ask again.
      assert.equal(await server.clock.settle(call(connection, read)), 1)
      await server.clock.advance(graceMs)
      const [first, ...repeats] = tokenRequests
      assert.ok(repeats.length > 0)
      for (const { at, body } of repeats) {
        assert.ok(at - (first?.at ?? 0) < graceMs, `${at - (first?.at ?? 0)} ms`)
        assert.equal(body, first?.body)
      }
    }
  })

  test('whose new ones come late are saved as they come, from whichever request', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    issuing.delayMs = 6_000
    const store = storeOf({ ...expired, expiresAt: now - 1 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.deepEqual([store.saves, store.tokens?.accessToken, server.clock.now() - now], [1, 't1', 6_000])
    await server.clock.advance(20_000)
    assert.deepEqual(
      tokenRequests.map(({ at }) => at - now),
      [0, 4_000],
    )
    assert.equal(store.saves, 1)
  })

  test('whose new ones were lost behind a proxy are asked for again at once, unless it says when', async () => {
    for (const [headers, count] of [
      [{}, 2],
      [{ 'retry-after': '5' }, 1],
    ] as const) {
      const issuing = new Issuer()
      const { server, tokenRequests } = issuing
      issuing.failure = () => {
        issuing.failure = undefined
        return problem(502, {}, headers)
      }
      const store = storeOf({ ...expired, expiresAt: now - 1 })
      const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
      const called = call(connection, read)
      await server.clock.advance(0)
      assert.equal(tokenRequests.length, count)
      assert.equal(await server.clock.settle(called), 1)
    }
  })

  test('that are due are renewed and saved before a call is over, which waits for 1 s at most', async () => {
    const issuing = new Issuer()
    const { server } = issuing
    const store = storeOf({ ...expired, expiresAt: now + 600_000 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    await call(connection, read)
    await server.clock.advance(560_000)
    issuing.delayMs = 900
    assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.deepEqual([store.saves, server.requests.at(-1)?.headers.get('authorization')], [1, 'Bearer t1'])
    issuing.failure = () => 'silent'
    await server.clock.advance(845_000)
    const at = server.clock.now()
    assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.equal(server.clock.now() - at, 1_000)
  })

  test('that were stored after a refusal are used at once, whatever Retry-After says', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    const store = storeOf({ ...expired, expiresAt: now - 1 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    issuing.failure = () => problem(429, {}, { 'retry-after': '60' })
    await assert.rejects(call(connection, read), { code: 'rate_limited' })
    store.tokens = { accessToken: 'new', refreshToken: 'r9', expiresAt: now + 900_000 }
    await call(connection, read)
    assert.equal(server.requests.at(-1)?.headers.get('authorization'), 'Bearer new')
    assert.equal(tokenRequests.length, 1)
  })

  test('that are not there, or whose family has ended, say so', async () => {
    const issuing = new Issuer()
    const connection = (tokens: UserTokens | undefined) =>
      connect(issuing.server.options({ credentials: refreshing(storeOf(tokens), { issuer, clientId: 'web' }) }))
    await assert.rejects(call(connection(undefined), read), { code: 'oauth_failed', error: 'login_required' })
    issuing.failure = () => json({ error: 'invalid_grant' }, { status: 400 })
    await assert.rejects(call(connection(expired), read), { code: 'oauth_failed', error: 'invalid_grant' })
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
