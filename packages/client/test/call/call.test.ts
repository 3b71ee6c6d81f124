import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  apiKey,
  call,
  connect,
  GatehouseError,
  isGatehouseError,
  RateLimitError,
  TimeoutError,
} from '../../src/index.ts'
import { inTurn, json, problem } from '../support/scripted-server.ts'

const read = { method: 'GET', path: '/v1/things/{id}', params: { id: 'a' } }
const write = { method: 'POST', path: '/v1/things', body: { a: 1 } }

describe('a call', () => {
  test('sends parameters, query, body and credentials, and answers what JSON says', async () => {
    const server = inTurn(() => json({ done: true }, { headers: { etag: '"1"', 'x-request-id': 'r1' } }))
    const connection = connect(server.options({ baseUrl: 'https://example.com/api/', credentials: apiKey('gk_1') }))
    const params = { id: 'a/b?ü' }
    const query = { q: 'x y', tag: ['a', 'b'], none: undefined, limit: 2, all: true }
    const facts: unknown[] = []
    const value = await call(
      connection,
      { method: 'PUT', path: '/v1/things/{id}', params, query, body: { a: 1 } },
      { ifMatch: '"0"', onAnswer: ({ status, etag, requestId }) => facts.push(status, etag, requestId) },
    )
    assert.deepEqual(value, { done: true })
    assert.deepEqual(facts, [200, '"1"', 'r1'])
    const [request] = server.requests
    assert.equal(
      request?.url.href,
      'https://example.com/api/v1/things/a%2Fb%3F%C3%BC?q=x+y&tag=a&tag=b&limit=2&all=true',
    )
    const { 'x-api-key': key, 'if-match': match, 'content-type': type } = Object.fromEntries(request?.headers ?? [])
    assert.deepEqual([key, match, type, request?.body], ['gk_1', '"0"', 'application/json', '{"a":1}'])
    assert.equal(server.clock.pending, 0)
  })

  test('answers undefined for nothing, a text for what is no JSON, and refuses JSON that is none', async () => {
    const connection = connect(
      inTurn(
        204,
        new Response('a\nb'),
        new Response('{', { headers: { 'content-type': 'application/json' } }),
      ).options(),
    )
    assert.equal(await call(connection, read), undefined)
    assert.equal(await call(connection, read), 'a\nb')
    await assert.rejects(call(connection, read), { code: 'invalid_response', retryable: false })
  })

  test('refuses path parameters that would name another path', async () => {
    const server = inTurn(204)
    for (const id of ['', '.', '..', undefined])
      await assert.rejects(call(connect(server.options()), { ...read, params: { id } as never }), TypeError)
    assert.equal(server.requests.length, 0)
  })

  test('refuses to send anything in the clear, but for loopback and by explicit choice', () => {
    for (const baseUrl of [
      'http://api.example.com',
      'http://127.0.0.1.example.com',
      'ftp://localhost',
      'https://a:b@c',
    ])
      assert.throws(() => connect({ baseUrl }), TypeError, baseUrl)
    for (const baseUrl of ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1', 'https://api.example.com'])
      connect({ baseUrl })
    connect({ baseUrl: 'http://identity.internal', allowInsecureHttp: true })
  })

  test('follows no redirect, and so takes its credentials nowhere', async () => {
    const headers = { location: 'https://elsewhere.example.com' }
    const server = inTurn(new Response(null, { status: 307, headers }))
    const connection = connect(server.options({ credentials: apiKey('gk_1') }))
    await assert.rejects(call(connection, read), { code: 'redirected', retryable: false })
    assert.equal(server.requests.length, 1)
  })
})

describe('another attempt', () => {
  test('comes after a broken connection and the statuses that pass, with full jitter', async () => {
    for (const reaction of ['broken', 408, 429, 502, 503, 504] as const) {
      const server = inTurn(reaction, reaction, reaction, () => json(1))
      assert.equal(await server.clock.settle(call(connect(server.options()), read)), 1, String(reaction))
      const [first = 0, ...rest] = server.requests.map(({ at }) => at)
      assert.deepEqual(
        rest.map((at) => at - first),
        [100, 300, 700],
      )
    }
  })

  test('comes four times at most, and not after other statuses', async () => {
    const server = inTurn(503)
    await assert.rejects(server.clock.settle(call(connect(server.options()), read)), {
      code: 'unavailable',
      status: 503,
    })
    assert.equal(server.requests.length, 4)
    for (const status of [400, 401, 403, 404, 409, 412, 422, 500, 501]) {
      const once = inTurn(status)
      await assert.rejects(call(connect(once.options()), read), { status })
      assert.equal(once.requests.length, 1, String(status))
    }
  })

  test('is not made for a POST, unless it is marked idempotent; then with the same body', async () => {
    const server = inTurn('broken', () => json(1))
    await assert.rejects(call(connect(server.options()), write), { code: 'connection_failed', retryable: true })
    assert.equal(server.requests.length, 1)
    const again = inTurn('broken', () => json(1))
    await again.clock.settle(call(connect(again.options()), { ...write, idempotent: true }))
    assert.deepEqual(
      again.requests.map(({ body }) => body),
      ['{"a":1}', '{"a":1}'],
    )
  })

  test('is not made with If-Match: the first attempt may have changed the version', async () => {
    const server = inTurn('broken', () => json(1))
    const put = { method: 'PUT', path: '/v1/things/a', body: {} }
    await assert.rejects(call(connect(server.options()), put, { ifMatch: '"1"' }), { code: 'connection_failed' })
    assert.equal(server.requests.length, 1)
  })

  test('waits exactly as long as Retry-After says, in seconds or as a date', async () => {
    const date = { 'retry-after': 'Sun, 22 Nov 2026 12:00:07 GMT', date: 'Sun, 22 Nov 2026 12:00:00 GMT' }
    for (const headers of [{ 'retry-after': '7' }, date]) {
      const server = inTurn(problem(429, {}, headers), () => json(1))
      await server.clock.settle(call(connect(server.options()), read))
      const [first, second] = server.requests
      assert.equal((second?.at ?? 0) - (first?.at ?? 0), 7_000)
    }
  })

  test('waits up to a tenth longer than Retry-After when other calls wait too', async () => {
    const server = inTurn(problem(429, {}, { 'retry-after': '10' }), problem(429, {}, { 'retry-after': '10' }), () =>
      json(1),
    )
    const connection = connect(server.options())
    const both = [call(connection, read), call(connection, read)]
    const begin = server.clock.now()
    await server.clock.settle(Promise.all(both))
    assert.deepEqual(
      server.requests.map(({ at }) => at - begin),
      [0, 0, 10_000, 10_500],
    )
  })

  test('is not waited for beyond the timeout of the call', async () => {
    const server = inTurn(problem(429, { 'violated-policies': ['day'] }, { 'retry-after': '86400' }))
    const connection = connect(server.options())
    await assert.rejects(call(connection, read), (error) => {
      assert.ok(error instanceof RateLimitError)
      assert.deepEqual([error.retryAfterSeconds, error.policies, error.retryable], [86_400, ['day'], true])
      return true
    })
    assert.deepEqual([server.requests.length, server.clock.pending], [1, 0])
  })
})

describe('a call that is not answered', () => {
  test('is ended after ten seconds an attempt and thirty in all', async () => {
    const server = inTurn('silent')
    const begin = server.clock.now()
    await assert.rejects(server.clock.settle(call(connect(server.options()), read)), TimeoutError)
    assert.equal(server.clock.now() - begin, 30_000)
    assert.equal(server.requests.length, 3)
    const post = inTurn('silent')
    await assert.rejects(post.clock.settle(call(connect(post.options()), write)), { code: 'timeout' })
    assert.deepEqual([post.requests.length, post.clock.pending], [1, 0])
  })

  test('has as much more time as the server may wait, unless it says how long it takes', async () => {
    const waiting = { ...read, query: { wait: 30 } }
    const slow = inTurn('silent')
    const begin = slow.clock.now()
    await assert.rejects(slow.clock.settle(call(connect(slow.options()), waiting)), TimeoutError)
    assert.deepEqual([slow.clock.now() - begin, slow.requests.length], [60_000, 2])
    const quick = inTurn('silent')
    const started = quick.clock.now()
    const options = { timeoutMs: 5_000, attemptTimeoutMs: 5_000 }
    await assert.rejects(quick.clock.settle(call(connect(quick.options()), waiting, options)), TimeoutError)
    assert.equal(quick.clock.now() - started, 5_000)
  })

  test('is ended when its body never ends, or by a fetch that ignores its signal', async () => {
    const endless = () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }))
    const server = inTurn(endless)
    await assert.rejects(server.clock.settle(call(connect(server.options()), read, { timeoutMs: 5_000 })), TimeoutError)
    const deaf = connect(server.options({ fetch: () => new Promise(() => {}) }))
    await assert.rejects(server.clock.settle(call(deaf, read, { timeoutMs: 5_000 })), TimeoutError)
  })

  test('rejects with the reason of a signal that is aborted: before, within and between attempts', async () => {
    const reason = new Error('left')
    const early = inTurn(204)
    await assert.rejects(call(connect(early.options()), read, { signal: AbortSignal.abort(reason) }), reason)
    assert.equal(early.requests.length, 0)
    for (const reaction of ['silent', problem(503, {}, { 'retry-after': '9' })] as const) {
      const server = inTurn(reaction)
      const controller = new AbortController()
      const pending = call(connect(server.options()), read, { signal: controller.signal })
      server.clock.after(1_000, () => controller.abort(reason))
      await assert.rejects(server.clock.settle(pending), reason)
      assert.deepEqual([server.requests.length, server.clock.pending], [1, 0])
    }
  })
})

describe('hooks', () => {
  test('see every attempt, and neither a token nor what the path was filled with', async () => {
    const server = inTurn(problem(503, {}, { 'retry-after': '2', 'x-request-id': 'r1' }), () => json(1))
    const seen: unknown[] = []
    const hooks = {
      onRequest: (event: unknown) => void seen.push(['request', event]),
      onResponse: (event: unknown) => void seen.push(['response', event]),
      onRetry: (event: unknown) => void seen.push(['retry', event]),
    }
    const connection = connect(server.options({ hooks, credentials: apiKey('gk_secret') }))
    await server.clock.settle(
      call(connection, { ...read, operation: 'things.get', params: { id: 'alice@example.com' } }),
    )
    const event = { operation: 'things.get', method: 'GET', path: '/v1/things/{id}' }
    assert.deepEqual(seen, [
      ['request', { ...event, attempt: 1 }],
      ['response', { ...event, attempt: 1, status: 503, durationMs: 0, requestId: 'r1' }],
      ['retry', { ...event, attempt: 1, code: 'unavailable', waitMs: 2_000 }],
      ['request', { ...event, attempt: 2 }],
      ['response', { ...event, attempt: 2, status: 200, durationMs: 0, requestId: undefined }],
    ])
    assert.doesNotMatch(JSON.stringify(seen), /gk_secret|alice/)
  })

  test('that throw change nothing', async () => {
    const fail = () => {
      throw new Error('a metric failed')
    }
    const connection = connect(inTurn(() => json(1)).options({ hooks: { onRequest: fail, onResponse: fail } }))
    assert.equal(await call(connection, read), 1)
  })
})

test('errors have a class and a code by status, the detail of the problem, and the request id', async () => {
  const table = [
    [400, 'ValidationError', 'validation_failed'],
    [401, 'AuthenticationError', 'unauthenticated'],
    [403, 'PermissionError', 'permission_denied'],
    [404, 'NotFoundError', 'not_found'],
    [409, 'ConflictError', 'conflict'],
    [410, 'NotFoundError', 'not_found'],
    [412, 'PreconditionFailedError', 'precondition_failed'],
    [418, 'ApiError', 'request_failed'],
    [422, 'ValidationError', 'validation_failed'],
    [429, 'RateLimitError', 'rate_limited'],
    [500, 'ApiError', 'server_failed'],
    [503, 'ServiceUnavailableError', 'unavailable'],
  ] as const
  for (const [status, name, code] of table) {
    const answer = problem(status, { errors: [{ pointer: '/a', detail: 'a number' }] }, { 'x-request-id': 'r1' })
    const pending = call(connect(inTurn(answer).options()), read, { maxAttempts: 1 })
    const error = await pending.catch((error: GatehouseError) => error)
    assert.ok(error instanceof GatehouseError)
    assert.deepEqual([error.name, error.code, error.message, error.requestId], [name, code, 'It went wrong.', 'r1'])
    assert.ok(isGatehouseError(error, code) && !isGatehouseError(error, 'timeout'))
    if (isGatehouseError(error, 'validation_failed'))
      assert.deepEqual(error.faults, [{ pointer: '/a', detail: 'a number' }])
  }
})

test('a challenge says which scope is missing, or how recent the sign-in has to be', async () => {
  const scope = { 'www-authenticate': 'Bearer realm="api", error="insufficient_scope", scope="read:users admin:users"' }
  const stepUp = {
    'www-authenticate': 'Bearer error="insufficient_user_authentication", max_age=600, acr_values="mfa phr"',
  }
  const connection = connect(inTurn(problem(403, {}, scope), problem(401, {}, stepUp)).options())
  await assert.rejects(call(connection, read), { code: 'permission_denied', scope: 'read:users admin:users' })
  await assert.rejects(call(connection, read), {
    code: 'step_up_required',
    maxAgeSeconds: 600,
    acrValues: ['mfa', 'phr'],
  })
})
