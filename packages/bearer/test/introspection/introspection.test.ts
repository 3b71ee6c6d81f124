import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createIntrospection, createRevocations, type IntrospectionOptions } from '../../src/index.ts'
import { type FakeResponse, goodClaims, manualClock, setup as setupIssuer, startServer } from '../support/issuer.ts'

async function setup(t: TestContext, options: Partial<IntrospectionOptions> = {}) {
  const clock = manualClock()
  const active: Record<string, unknown> = { active: true, token_type: 'Bearer', ...goodClaims(clock.now()) }
  const state: { answer: FakeResponse } = { answer: { body: active } }
  const server = await startServer(() => state.answer)
  t.after(server.close)
  const introspection = createIntrospection({
    endpoint: `${server.origin}/introspect`,
    clientId: 'api',
    clientSecret: 'secret',
    clock,
    ...options,
  })
  const revoked: object[] = []
  const revocations = createRevocations({ clock, read: async () => ({ revocations: revoked, next: 'end' }) })
  const { bearer, token } = await setupIssuer({ clock, introspection, revocations })
  const authenticate = async (header = 'Bearer opaque', scope?: string) =>
    bearer.authenticate(header, scope === undefined ? {} : { scope })
  return { server, state, active, bearer, clock, authenticate, token, revoked, revocations }
}

test("an opaque token is introspected once in ten seconds, with the client's credentials", async (t) => {
  const { server, authenticate, clock } = await setup(t)
  const callers = await Promise.all(Array.from({ length: 20 }, () => authenticate()))
  assert.deepEqual(new Set(callers.map((caller) => caller.subject)), new Set(['alice']))
  clock.advance(9_999)
  await authenticate()
  assert.equal(server.requests.length, 1)
  assert.deepEqual(Object.fromEntries(new URLSearchParams(server.requests[0]?.body)), {
    token: 'opaque',
    token_type_hint: 'access_token',
    client_id: 'api',
    client_secret: 'secret',
  })
  clock.advance(1)
  await authenticate()
  assert.equal(server.requests.length, 2)
})

test('an issuer in the same process introspects without HTTP, and responses are cached alike', async () => {
  const clock = manualClock()
  const tokens: string[] = []
  const ask = async (token: string) => {
    tokens.push(token)
    return token === 'good' ? { active: true, token_type: 'Bearer', ...goodClaims(clock.now()) } : { active: false }
  }
  const { bearer } = await setupIssuer({ clock, introspection: createIntrospection({ introspect: ask, clock }) })
  for (let turn = 0; turn < 3; turn++) assert.equal((await bearer.authenticate('Bearer good')).subject, 'alice')
  await assert.rejects(async () => bearer.authenticate('Bearer bad'), { code: 'invalid_token', reason: 'inactive' })
  assert.deepEqual(tokens, ['good', 'bad'])
})

test('beforeVerify is called before a request to the issuer, for uncached tokens only', async (t) => {
  const { server, bearer } = await setup(t)
  await bearer.authenticate('Bearer known')
  const beforeVerify = () => {
    throw new RangeError('too many')
  }
  assert.equal((await bearer.authenticate('Bearer known', { beforeVerify })).subject, 'alice')
  await assert.rejects(async () => bearer.authenticate('Bearer guess', { beforeVerify }), RangeError)
  assert.equal(server.requests.length, 1)
})

test('a JWT is verified locally and not introspected', async (t) => {
  const { server, authenticate, token } = await setup(t)
  await authenticate(`Bearer ${await token()}`)
  assert.equal(server.requests.length, 0)
})

const refusals: [what: string, changes: Record<string, unknown>, error: object][] = [
  ['that is not active', { active: false }, { code: 'invalid_token', reason: 'inactive' }],
  [
    'that is no bearer token, such as a refresh token',
    { token_type: undefined },
    { code: 'invalid_token', reason: 'type' },
  ],
  ['for another service', { aud: 'https://other.example' }, { code: 'invalid_token', reason: 'audience' }],
  ['of another issuer', { iss: 'https://other.example' }, { code: 'invalid_token', reason: 'issuer' }],
  ['that expired', { exp: 1 }, { code: 'invalid_token', reason: 'expired' }],
  ['bound to a key', { cnf: { jkt: 'x' } }, { code: 'invalid_token', reason: 'sender_constrained' }],
]
for (const [what, changes, error] of refusals) {
  test(`an opaque token ${what} is refused, and the response is cached`, async (t) => {
    const { server, authenticate, active } = await setup(t)
    Object.assign(active, changes)
    await assert.rejects(authenticate(), error)
    await assert.rejects(authenticate(), error)
    assert.equal(server.requests.length, 1)
  })
}

test('an opaque token needs the scope too, and is refused once revoked', async (t) => {
  const { authenticate, revoked, revocations } = await setup(t)
  await assert.rejects(authenticate('Bearer opaque', 'admin:users'), { code: 'insufficient_scope' })
  await authenticate()
  revoked.push({ grant: 'grant-1' })
  await revocations.poll()
  await assert.rejects(authenticate(), { code: 'invalid_token', reason: 'revoked' })
})

for (const answer of [{ status: 401, body: {} }, { status: 500 }, { body: {} }, { body: 'no json' }]) {
  test(`the answer ${JSON.stringify(answer)} makes the issuer unavailable: 503, not cached`, async (t) => {
    const { state, authenticate, active } = await setup(t)
    state.answer = answer
    await assert.rejects(authenticate(), { code: 'unavailable', status: 503, reason: 'introspection' })
    state.answer = { body: active }
    assert.equal((await authenticate()).subject, 'alice')
  })
}

test('without introspection an opaque token is refused', async () => {
  const { bearer } = await setupIssuer()
  await assert.rejects(async () => bearer.authenticate('Bearer opaque'), { code: 'invalid_token', reason: 'malformed' })
})

test('createIntrospection rejects an insecure endpoint and a cache time that is too long', () => {
  const options = { endpoint: 'https://auth.example/introspect', clientId: 'a', clientSecret: 'b' }
  assert.throws(() => createIntrospection({ ...options, endpoint: 'http://auth.example/' }), /endpoint must be https/)
  assert.throws(() => createIntrospection({ ...options, cacheForSeconds: 61 }), /cacheForSeconds/)
})

test('a response is not used any longer because the clock was set back', async (t) => {
  const { server, authenticate, clock, state } = await setup(t)
  await authenticate()
  clock.advance(-20_000)
  state.answer = { body: { active: false } }
  await assert.rejects(authenticate(), { code: 'invalid_token', reason: 'inactive' })
  assert.equal(server.requests.length, 2)
})
