import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type BearerOptions, createBearer } from '../../src/index.ts'
import {
  audience,
  type FakeResponse,
  goodClaims,
  issuer,
  manualClock,
  type ReceivedRequest,
  sign,
  signingKey,
  startServer,
} from '../support/issuer.ts'

/** An issuer whose keys are fetched from a real HTTP server, which can be told to answer anything. */
async function setup(t: TestContext, options: Partial<BearerOptions> = {}) {
  const key = await signingKey()
  const state: { answer: FakeResponse | ((received: ReceivedRequest) => FakeResponse) } = {
    answer: { body: { keys: [key.jwk] } },
  }
  const server = await startServer((received) =>
    typeof state.answer === 'function' ? state.answer(received) : state.answer,
  )
  t.after(server.close)
  const clock = manualClock()
  const failures: (number | undefined)[] = []
  const observer = { keysFailed: (failed: { staleMs: number | undefined }) => failures.push(failed.staleMs) }
  const bearer = createBearer({ issuer, audience, jwksUri: `${server.origin}/jwks`, clock, observer, ...options })
  const claims = () => ({ ...goodClaims(clock.now()), exp: clock.now() / 1000 + 900 })
  const header = async (signer = key) => `Bearer ${await sign(signer, claims())}`
  const down = () => {
    state.answer = { status: 503, body: {} }
  }
  return { key, state, server, clock, failures, bearer, header, down }
}

const unavailable = { code: 'unavailable', status: 503, reason: 'keys', retryAfterSeconds: 1 }
const unknownKey = { code: 'invalid_token', status: 401, reason: 'unknown_key' }
const minute = 60_000

test('waiting requests share one fetch of the keys', async (t) => {
  const { bearer, header, server } = await setup(t)
  const headers = await Promise.all(Array.from({ length: 20 }, () => header()))
  await Promise.all(headers.map((one) => bearer.authenticate(one)))
  assert.equal(server.requests.length, 1)
})

test('prefetched keys verify the first request at once', async (t) => {
  const { bearer, header } = await setup(t)
  assert.equal(await bearer.prefetch(), true)
  assert.ok(!(bearer.authenticate(await header()) instanceof Promise))
})

test('keys that were never fetched cause 503, and retries with backoff', async (t) => {
  const { bearer, header, server, clock, state, key, down } = await setup(t)
  down()
  const token = await header()
  await assert.rejects(async () => bearer.authenticate(token), unavailable)
  for (let n = 0; n < 50; n++) await assert.rejects(async () => bearer.authenticate(token), unavailable)
  assert.equal(server.requests.length, 1)
  clock.advance(1_000)
  await assert.rejects(async () => bearer.authenticate(token), { ...unavailable, retryAfterSeconds: 2 })
  clock.advance(1_999)
  await assert.rejects(async () => bearer.authenticate(token), unavailable)
  assert.equal(server.requests.length, 2)
  state.answer = { body: { keys: [key.jwk] } }
  clock.advance(1)
  assert.equal((await bearer.authenticate(token)).subject, 'alice')
})

test('known keys are used for a day while the issuer is down, and their age is reported', async (t) => {
  const { bearer, header, clock, failures, down } = await setup(t)
  await bearer.prefetch()
  down()
  for (let passed = 0; passed < 23 * 60; passed += 10) {
    clock.advance(10 * minute)
    assert.equal((await bearer.authenticate(await header())).subject, 'alice')
    await bearer.prefetch()
  }
  assert.ok(failures.includes(60 * minute))
  clock.advance(61 * minute)
  await assert.rejects(async () => bearer.authenticate(await header()), { code: 'unavailable' })
})

test("keys are refreshed in the background before the issuer's max-age ends", async (t) => {
  const { bearer, header, server, clock, state, key } = await setup(t)
  state.answer = { headers: { 'cache-control': 'public, max-age=1000' }, body: { keys: [key.jwk] } }
  await bearer.prefetch()
  clock.advance(749_999)
  await bearer.authenticate(await header())
  assert.equal(server.requests.length, 1)
  clock.advance(1)
  assert.ok(!(bearer.authenticate(await header()) instanceof Promise), 'nobody waits')
  await bearer.prefetch()
  assert.equal(server.requests.length, 2)
})

test('keys that expired unused are fetched before use, so a withdrawn one is not used', async (t) => {
  const { bearer, header, clock, state } = await setup(t)
  const token = await header()
  await bearer.authenticate(token)
  state.answer = { body: { keys: [(await signingKey('ES256', 'next')).jwk] } }
  clock.advance(11 * minute)
  await assert.rejects(async () => bearer.authenticate(await header()), unknownKey)
})

test('an unchanged key set is recognized by its ETag', async (t) => {
  const { bearer, header, server, state, key } = await setup(t)
  state.answer = { headers: { etag: '"one"' }, body: { keys: [key.jwk] } }
  await bearer.prefetch()
  state.answer = { status: 304 }
  await bearer.refreshKeys()
  assert.equal(server.requests[1]?.headers['if-none-match'], '"one"')
  await bearer.authenticate(await header())
})

test('the ETag of a set without a usable key is not kept; the old keys end with their time', async (t) => {
  const { bearer, header, server, clock, failures, state, key } = await setup(t)
  state.answer = { headers: { etag: '"a"' }, body: { keys: [key.jwk] } }
  await bearer.prefetch()
  state.answer = ({ headers }) =>
    headers['if-none-match'] === '"b"' ? { status: 304 } : { headers: { etag: '"b"' }, body: { keys: [] } }
  await bearer.refreshKeys()
  await bearer.refreshKeys()
  assert.deepEqual(
    server.requests.map(({ headers }) => headers['if-none-match']),
    [undefined, '"a"', '"a"'],
  )
  for (let passed = 0; passed < 24 * 60; passed += 60) {
    assert.equal((await bearer.authenticate(await header())).subject, 'alice')
    clock.advance(60 * minute)
    await bearer.refreshKeys()
  }
  assert.equal(failures.at(-1), 24 * 60 * minute)
  await assert.rejects(async () => bearer.authenticate(await header()), { code: 'unavailable' })
})

test('304 to a request without an ETag is no success', async (t) => {
  const { bearer, header, clock, failures, state } = await setup(t)
  await bearer.prefetch()
  state.answer = { status: 304 }
  clock.advance(24 * 60 * minute)
  await bearer.refreshKeys()
  assert.deepEqual(failures, [24 * 60 * minute])
  await assert.rejects(async () => bearer.authenticate(await header()), { code: 'unavailable' })
})

test('the first token of a new key triggers one fetch for all such tokens', async (t) => {
  const { bearer, header, server, state, key } = await setup(t)
  await bearer.prefetch()
  const next = await signingKey('ES256', 'next')
  state.answer = { body: { keys: [key.jwk, next.jwk] } }
  const headers = await Promise.all(Array.from({ length: 20 }, () => header(next)))
  await Promise.all(headers.map((one) => bearer.authenticate(one)))
  assert.equal(server.requests.length, 2)
  await bearer.authenticate(await header(key))
})

test('a flood of unknown key ids costs one fetch in thirty seconds', async (t) => {
  const { bearer, server, clock, key } = await setup(t)
  await bearer.prefetch()
  async function flood() {
    for (let n = 0; n < 100; n++) {
      const header = `Bearer ${await sign(key, goodClaims(clock.now()), { kid: `unknown-${clock.now()}-${n}` })}`
      await assert.rejects(async () => bearer.authenticate(header), unknownKey)
    }
  }
  await flood()
  assert.equal(server.requests.length, 2)
  clock.advance(29_999)
  await flood()
  assert.equal(server.requests.length, 2)
  clock.advance(1)
  await flood()
  assert.equal(server.requests.length, 3)
})

test('a new key is found within thirty seconds of a flood of unknown key ids', async (t) => {
  const { bearer, header, clock, key, state } = await setup(t)
  await bearer.prefetch()
  const forged = async (kid: string) => `Bearer ${await sign(key, goodClaims(clock.now()), { kid })}`
  await assert.rejects(async () => bearer.authenticate(await forged('one')), unknownKey)
  const next = await signingKey('ES256', 'next')
  state.answer = { body: { keys: [key.jwk, next.jwk] } }
  await assert.rejects(async () => bearer.authenticate(await header(next)), unknownKey)
  clock.advance(30_000)
  await assert.rejects(async () => bearer.authenticate(await forged('two')), unknownKey)
  assert.equal((await bearer.authenticate(await header(next))).subject, 'alice')
})

test('an issuer that never answers has one pending request at a time', async (t) => {
  const pending = Promise.withResolvers<FakeResponse>()
  const server = await startServer(() => pending.promise)
  t.after(server.close)
  const { bearer, header } = await setup(t, { jwksUri: `${server.origin}/jwks` })
  const waiting = await Promise.all(Array.from({ length: 50 }, () => header()))
  const refused = waiting.map((one) => assert.rejects(async () => bearer.authenticate(one), unavailable))
  pending.resolve({ status: 503 })
  await Promise.all(refused)
  assert.equal(server.requests.length, 1)
})

test('a flood of unknown key ids while the issuer is down costs few fetches', async (t) => {
  const { bearer, header, server, clock, key, down } = await setup(t)
  await bearer.prefetch()
  down()
  for (let n = 0; n < 200; n++) {
    const token = await sign(key, goodClaims(clock.now()), { kid: `unknown-${n}` })
    await assert.rejects(async () => bearer.authenticate(`Bearer ${token}`), unknownKey)
    clock.advance(10)
  }
  assert.equal((await bearer.authenticate(await header())).subject, 'alice')
  assert.ok(server.requests.length <= 3, `${server.requests.length} fetches`)
})

test('an unknown key id is cached for a while and not fetched again', async (t) => {
  const { bearer, server, clock, key } = await setup(t)
  await bearer.prefetch()
  const token = `Bearer ${await sign(key, goodClaims(clock.now()), { kid: 'unknown' })}`
  await assert.rejects(async () => bearer.authenticate(token), unknownKey)
  clock.advance(29_999)
  await assert.rejects(async () => bearer.authenticate(token), unknownKey)
  assert.equal(server.requests.length, 2)
})

const useless: [what: string, answer: FakeResponse][] = [
  ['an empty set', { body: { keys: [] } }],
  ['a set without a usable key', { body: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }, null, 7] } }],
  ['no set at all', { body: { jwks: [] } }],
  ['no JSON', { body: '<html>' }],
  ['an empty answer', {}],
  ['an error', { status: 500, body: { keys: [] } }],
  ['more than it may', { body: `{"keys":[],"x":"${'x'.repeat(300_000)}"}` }],
  ['more keys than it may', { body: { keys: Array.from({ length: 65 }, () => ({})) } }],
]
for (const [what, answer] of useless) {
  test(`an issuer that answers ${what} does not replace the keys`, async (t) => {
    const { bearer, header, state, failures } = await setup(t)
    await bearer.prefetch()
    state.answer = answer
    await bearer.refreshKeys()
    assert.equal(failures.length, 1)
    assert.equal((await bearer.authenticate(await header())).subject, 'alice')
  })
}

test('CVE-2026-1180: keys come from the configured URL only; redirects are refused', async (t) => {
  const evil = await signingKey('ES256', 'evil')
  const elsewhere = await startServer(() => ({ body: { keys: [evil.jwk] } }))
  t.after(elsewhere.close)
  const { bearer, header, state } = await setup(t)
  state.answer = { status: 302, headers: { location: `${elsewhere.origin}/jwks` } }
  await assert.rejects(async () => bearer.authenticate(await header(evil)), unavailable)
  assert.equal(elsewhere.requests.length, 0)
})

test('the size limit applies to the decompressed response', async (t) => {
  const { gzipSync } = await import('node:zlib')
  const bomb = gzipSync(`{"keys":[]${' '.repeat(20_000_000)}}`)
  const { createServer } = await import('node:http')
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    response.end(bomb)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const causes: unknown[] = []
  const { bearer } = await setup(t, {
    jwksUri: `http://127.0.0.1:${address.port}/jwks`,
    observer: { keysFailed: ({ cause }) => causes.push(cause) },
  })
  assert.equal(await bearer.prefetch(), false)
  assert.match(String(causes[0]), /longer than 262144 bytes/)
})

test('beforeVerify can refuse an uncached token before a signature check or a fetch', async (t) => {
  const { bearer, header, server } = await setup(t)
  const known = await header()
  await bearer.authenticate(known)
  const refusal = new Error('too many')
  const refuse = () => {
    throw refusal
  }
  const stranger = await header(await signingKey('ES256', 'stranger'))
  assert.throws(() => bearer.authenticate(stranger, { beforeVerify: refuse }), refusal)
  assert.equal(server.requests.length, 1)
  assert.equal((await bearer.authenticate(known, { beforeVerify: refuse })).subject, 'alice')
})

test('keys that were never fetched are fetched again after the clock was set back', async (t) => {
  const { bearer, header, clock, state, key, down } = await setup(t)
  down()
  await assert.rejects(async () => bearer.authenticate(await header()), unavailable)
  clock.advance(-60 * minute)
  await assert.rejects(async () => bearer.authenticate(await header()), { ...unavailable, retryAfterSeconds: 2 })
  clock.advance(-500)
  state.answer = { body: { keys: [key.jwk] } }
  assert.equal((await bearer.authenticate(await header())).subject, 'alice')
})

test('known keys are refreshed after the clock was set back, and used for a day from then', async (t) => {
  const { bearer, header, server, clock, down } = await setup(t)
  await bearer.authenticate(await header())
  down()
  clock.advance(-48 * 60 * minute)
  assert.equal((await bearer.authenticate(await header())).subject, 'alice')
  await bearer.prefetch()
  assert.equal(server.requests.length, 2)
  clock.advance(2 * minute)
  assert.equal((await bearer.authenticate(await header())).subject, 'alice')
  await bearer.prefetch()
  assert.equal(server.requests.length, 3, 'a failed refresh is tried again')
  clock.advance(24 * 60 * minute)
  await assert.rejects(async () => bearer.authenticate(await header()), { code: 'unavailable' })
})

test('an unknown key id is fetched again within a minute after the clock was set back', async (t) => {
  const { bearer, header, clock, key, state } = await setup(t)
  await bearer.prefetch()
  const next = await signingKey('ES256', 'next')
  await assert.rejects(async () => bearer.authenticate(await header(next)), unknownKey)
  clock.advance(-60 * minute)
  for (let n = 0; n < 2; n++) {
    await assert.rejects(async () => bearer.authenticate(await header(next)), unknownKey)
    clock.advance(30_000)
  }
  state.answer = { body: { keys: [key.jwk, next.jwk] } }
  assert.equal((await bearer.authenticate(await header(next))).subject, 'alice')
})
