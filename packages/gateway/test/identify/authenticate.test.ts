import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHttp, silentLog } from '@gatehouse/kit'
import { createAuthenticate } from '../../src/index.ts'
import { setup } from '../support/setup.ts'

const challenge = (answer: { headers: Record<string, unknown> }) => String(answer.headers['www-authenticate'])

test('a local service receives the verified caller: user, client or API key', async () => {
  const { http, bearer } = await setup({
    resolveApiKey: async (key) =>
      key === 'good' ? { id: 'key-1', owner: 'u7', kind: 'user', scopes: ['read:notes'] } : undefined,
  })
  const ask = async (headers: Record<string, string>) => (await http.inject({ url: '/whoami', headers })).json()
  const user = await ask(bearer({ scope: 'a b', roles: ['editor'], grant_id: 'g1' }))
  assert.deepEqual(
    {
      kind: user.kind,
      subject: user.subject,
      clientId: user.clientId,
      scopes: user.scopes,
      roles: user.roles,
      grantId: user.grantId,
    },
    { kind: 'user', subject: 'u1', clientId: 'web', scopes: ['a', 'b'], roles: ['editor'], grantId: 'g1' },
  )
  assert.equal((await ask(bearer({ sub: 'web' }))).kind, 'client')
  const key = await ask({ 'x-api-key': 'good' })
  assert.deepEqual(
    [key.kind, key.subject, key.keyId, key.scopes],
    ['user', 'u7', 'key-1', ['read:notes']],
    'a key has the reach of its owner',
  )
})

test('a missing or invalid token is answered 401 (RFC 6750) and counts by address', async () => {
  const { http, bearer, clock } = await setup()
  const missing = await http.inject('/notes')
  assert.equal(missing.statusCode, 401)
  assert.equal(challenge(missing), 'Bearer realm="gatehouse"')
  const expired = bearer({ scope: 'read:notes', exp: Math.floor(clock.now() / 1000) - 3600 })
  const bad = [
    expired,
    bearer({ aud: 'https://other.example' }),
    bearer({ iss: 'https://other.example' }),
    bearer({ nbf: Math.floor(clock.now() / 1000) + 3600 }),
    { authorization: 'Bearer nonsense' },
    { authorization: `${bearer().authorization}x` },
  ]
  for (const headers of bad) {
    const answer = await http.inject({ url: '/notes', headers })
    assert.equal(answer.statusCode, 401, headers.authorization)
    assert.match(challenge(answer), /^Bearer realm="gatehouse", error="invalid_token", error_description="/)
    assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
    assert.equal(answer.headers['x-ratelimit-limit'], '60')
  }
  const unknownKey = await http.inject({ url: '/notes', headers: { 'x-api-key': 'nope' } })
  assert.equal(unknownKey.statusCode, 401)
  assert.match(challenge(unknownKey), /error="invalid_token"/)
})

test('a token without the scope answers 403 and names it', async () => {
  const { http, bearer } = await setup()
  const answer = await http.inject({ url: '/notes', headers: bearer({ scope: 'write:notes' }) })
  assert.equal(answer.statusCode, 403)
  assert.match(challenge(answer), /error="insufficient_scope".*scope="read:notes"/)
  assert.equal((await http.inject({ url: '/notes', headers: bearer({ scope: 'read:notes' }) })).statusCode, 200)
})

test('a rule may ask for scope and roles before a local service does', async () => {
  const { http, bearer } = await setup({
    routes: [{ path: '/users/{id}', methods: ['GET'], scope: 'read:users', roles: ['support', 'admin'] }],
  })
  const ask = async (claims?: Record<string, unknown>) =>
    (await http.inject({ url: '/users/7', headers: claims ? bearer(claims) : {} })).statusCode
  assert.equal(await ask(), 401)
  assert.equal(await ask({ roles: ['admin'] }), 403)
  assert.equal(await ask({ scope: 'read:users', roles: ['guest'] }), 403)
  assert.equal(await ask({ scope: 'read:users', roles: ['admin'] }), 200)
})

test('an invalid token is ignored where none is needed', async () => {
  const { http } = await setup({ routes: [{ path: '/open', public: true }] })
  const answer = await http.inject({ url: '/open', headers: { authorization: 'Bearer nonsense' } })
  assert.equal(answer.statusCode, 200)
})

test('an API key is looked up once in five seconds; a removed one stops working then', async () => {
  let lookups = 0
  let removed = false
  const { http, clock } = await setup({
    async resolveApiKey() {
      lookups++
      return removed ? undefined : { id: '1', owner: 'u1', kind: 'user', scopes: ['read:notes'] }
    },
  })
  const ask = async () => (await http.inject({ url: '/notes', headers: { 'x-api-key': 'k' } })).statusCode
  assert.deepEqual([await ask(), await ask()], [200, 200])
  assert.equal(lookups, 1)
  removed = true
  clock.advance(5_000)
  assert.deepEqual([await ask(), await ask()], [401, 401])
})

test('a removed API key works no longer because the clock was set back', async () => {
  let removed = false
  const { http, clock } = await setup({
    resolveApiKey: async () => (removed ? undefined : { id: '1', owner: 'u1', kind: 'user', scopes: ['read:notes'] }),
  })
  const ask = async () => (await http.inject({ url: '/notes', headers: { 'x-api-key': 'k' } })).statusCode
  assert.equal(await ask(), 200)
  removed = true
  clock.advance(-3_600_000)
  assert.equal(await ask(), 401)
})

test('a failed API key lookup answers 503 only where a caller is needed', async () => {
  const { http } = await setup({ resolveApiKey: () => Promise.reject(new Error('identity is away')) })
  const headers = { 'x-api-key': 'k' }
  assert.equal((await http.inject({ url: '/notes', headers })).statusCode, 503)
  assert.equal((await http.inject({ url: '/open', headers })).statusCode, 200)
})

test('a service without a gateway sends the same refusals', async () => {
  const { http, bearerCheck, bearer } = await setup()
  const alone = createHttp({ log: silentLog })
  const authenticate = createAuthenticate(bearerCheck, 'gatehouse')
  alone.get('/notes', async (request) => ({ subject: (await authenticate(request, 'read:notes')).subject }))
  for (const headers of [{}, bearer(), { authorization: 'Bearer nonsense' }, bearer({ scope: 'read:notes' })]) {
    const [one, other] = [await http.inject({ url: '/notes', headers }), await alone.inject({ url: '/notes', headers })]
    assert.equal(other.statusCode, one.statusCode)
    assert.equal(other.headers['www-authenticate'], one.headers['www-authenticate'])
    assert.equal(other.json().detail, one.json().detail)
  }
})
