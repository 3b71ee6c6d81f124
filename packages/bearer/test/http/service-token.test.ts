import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createServiceToken, type ServiceTokenOptions } from '../../src/index.ts'
import { type FakeResponse, manualClock, startServer } from '../support/issuer.ts'

async function setup(t: TestContext, options: Partial<ServiceTokenOptions> = {}) {
  const state: { answer: FakeResponse | undefined } = { answer: undefined }
  let issued = 0
  const server = await startServer(() => {
    issued += 1
    return state.answer ?? { body: { access_token: `token-${issued}`, token_type: 'Bearer', expires_in: 600 } }
  })
  t.after(server.close)
  const clock = manualClock()
  const token = createServiceToken({
    tokenEndpoint: `${server.origin}/token`,
    clientId: 'gateway',
    clientSecret: 'se:cr et',
    clock,
    ...options,
  })
  return { server, state, clock, token }
}

test('concurrent callers share one request, and a token is renewed a minute before expiry', async (t) => {
  const { server, clock, token } = await setup(t)
  const tokens = await Promise.all(Array.from({ length: 20 }, () => token.current()))
  assert.deepEqual(new Set(tokens), new Set(['token-1']))
  clock.advance(539_999)
  assert.equal(await token.current(), 'token-1')
  clock.advance(1)
  // The caller does not wait for the new one.
  assert.equal(await token.current(), 'token-1')
  while ((await token.current()) !== 'token-2') await turn()
  assert.equal(server.requests.length, 2)
})

/** A token of 600 s that is due for renewal, and what the token endpoint answers to each of the requests from then on. */
async function dueForRenewal() {
  const clock = manualClock()
  const requests: PromiseWithResolvers<Response>[] = []
  const token = createServiceToken({
    tokenEndpoint: 'https://auth.example/token',
    clientId: 'gateway',
    clientSecret: 'secret',
    clock,
    fetch: () => {
      const request = Promise.withResolvers<Response>()
      requests.push(request)
      return request.promise
    },
  })
  /** Answers the last request and lets the answer be read. */
  const answer = async (response: Response) => {
    requests.at(-1)?.resolve(response)
    await settle()
  }
  const issue = (name: string) =>
    answer(Response.json({ access_token: name, token_type: 'Bearer', expires_in: 600 }, { status: 200 }))
  const first = token.current()
  await issue('token-1')
  assert.equal(await first, 'token-1')
  clock.advance(550_000)
  return { clock, requests, token, answer, issue }
}

async function settle(): Promise<void> {
  for (let n = 0; n < 5; n++) await turn()
}

test('a silent token endpoint holds up nobody with a valid token, and is retried after 1 s', async () => {
  const { clock, requests, token } = await dueForRenewal()
  for (let n = 0; n < 20; n++) assert.equal(await Promise.race([token.current(), settle()]), 'token-1')
  assert.equal(requests.length, 2)
  clock.advance(5_000)
  requests.at(-1)?.reject(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
  await settle()
  clock.advance(999)
  assert.equal(await token.current(), 'token-1')
  assert.equal(requests.length, 2)
  clock.advance(1)
  assert.equal(await token.current(), 'token-1')
  assert.equal(requests.length, 3)
})

test('the token endpoint is not asked before Retry-After, with a valid token and without one', async () => {
  const { clock, requests, token, answer } = await dueForRenewal()
  // Also of a proxy, whose page is for people.
  const refusal = () => new Response('<h1>Too much</h1>', { status: 429, headers: { 'retry-after': '30' } })
  assert.equal(await Promise.race([token.current(), settle()]), 'token-1')
  await answer(refusal())
  for (let n = 0; n < 100; n++) assert.equal(await token.current(), 'token-1')
  clock.advance(29_999)
  assert.equal(await token.current(), 'token-1')
  assert.equal(requests.length, 2)
  clock.advance(1)
  assert.equal(await token.current(), 'token-1')
  assert.equal(requests.length, 3)
  await answer(refusal())
  clock.advance(25_000)
  for (let n = 0; n < 100; n++) await assert.rejects(token.current(), /answered 429/)
  assert.equal(requests.length, 3)
})

test('a token that was refused is replaced at once, also in the pause after a failed renewal', async () => {
  const { token, answer, issue } = await dueForRenewal()
  assert.equal(await Promise.race([token.current(), settle()]), 'token-1')
  await answer(Response.json({}, { status: 503, headers: { 'retry-after': '30' } }))
  token.discard('token-1')
  const renewed = token.current()
  await issue('token-2')
  assert.equal(await renewed, 'token-2')
})

test('the request is a form with client_id, client_secret, grant_type, scope and resource', async (t) => {
  const { server, token } = await setup(t, { scope: 'read:users', resource: 'https://api.example' })
  await token.current()
  assert.deepEqual(Object.fromEntries(new URLSearchParams(server.requests[0]?.body)), {
    grant_type: 'client_credentials',
    client_id: 'gateway',
    client_secret: 'se:cr et',
    scope: 'read:users',
    resource: 'https://api.example',
  })
  assert.equal(server.requests[0]?.headers['content-type'], 'application/x-www-form-urlencoded;charset=UTF-8')
})

test('client_secret_basic form-encodes id and secret', async (t) => {
  const { server, token } = await setup(t, { authentication: 'client_secret_basic', clientSecret: () => 'a:b %' })
  await token.current()
  const [scheme, encoded] = String(server.requests[0]?.headers.authorization).split(' ')
  assert.equal(scheme, 'Basic')
  assert.equal(Buffer.from(encoded ?? '', 'base64').toString(), 'gateway:a%3Ab+%25')
  assert.equal(server.requests[0]?.body, 'grant_type=client_credentials')
})

test('a failing token endpoint is retried once a second, and the cached token used to its end', async (t) => {
  const { server, state, clock, token } = await setup(t)
  await token.current()
  state.answer = { status: 503, body: {} }
  clock.advance(596_000)
  assert.equal(await token.current(), 'token-1')
  assert.equal(await token.current(), 'token-1')
  assert.equal(server.requests.length, 2)
  clock.advance(4_000)
  await assert.rejects(token.current(), /answered 503/)
  await assert.rejects(token.current(), /answered 503/)
  assert.equal(server.requests.length, 3)
})

test('a discarded token is replaced by a new one', async (t) => {
  const { token } = await setup(t)
  token.discard(await token.current())
  assert.equal(await token.current(), 'token-2')
  token.discard('token-1')
  assert.equal(await token.current(), 'token-2')
})

const refused: [what: string, answer: FakeResponse, message: RegExp][] = [
  ['an OAuth error', { status: 401, body: { error: 'invalid_client' } }, /answered 401 invalid_client, 200/],
  ['a redirect', { status: 307, headers: { location: 'https://evil.example/' } }, /fetch failed/],
  ['another token type', { body: { access_token: 'a', token_type: 'DPoP' } }, /token_type Bearer/],
  ['no token', { body: { token_type: 'Bearer' } }, /must answer with an access_token/],
  ['too much', { body: ' '.repeat(300_000) }, /longer than/],
]
for (const [what, answer, message] of refused) {
  test(`an answer ${what} of the token endpoint rejects without revealing the secret`, async (t) => {
    const { state, token } = await setup(t)
    state.answer = answer
    await assert.rejects(token.current(), (error: Error) => {
      assert.match(error.message, message)
      assert.ok(!`${error.stack}${error.cause}`.includes('se:cr'))
      return true
    })
  })
}

test('CVE-2026-104850: credentials go only to the configured endpoint, and only over TLS', () => {
  const options = { clientId: 'a', clientSecret: 'b' }
  assert.throws(() => createServiceToken({ ...options, tokenEndpoint: 'http://auth.example/token' }), /must be https/)
  assert.throws(() => createServiceToken({ ...options, tokenEndpoint: 'ftp://auth.example/token' }), /must be https/)
})

test('a clock that is set back delays neither the renewal of a token nor the retry of a failure', async (t) => {
  const { server, state, clock, token } = await setup(t)
  state.answer = { status: 503, body: {} }
  await assert.rejects(token.current(), /answered 503/)
  state.answer = undefined
  clock.advance(-3_600_000)
  assert.equal(await token.current(), 'token-2')
  clock.advance(-3_600_000)
  assert.equal(await token.current(), 'token-3')
  assert.equal(await token.current(), 'token-3')
  assert.equal(server.requests.length, 3)
})
