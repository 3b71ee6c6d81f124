import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Setup, setup } from '../support/setup.ts'

const attacker = '192.0.2.66'
const policies = { anonymous: { rpm: 100_000 }, 'bad-credentials': { rpm: 5 } }

async function braked() {
  const resolved: string[] = []
  const made = await setup({
    policies,
    trustedProxies: ['127.0.0.1'],
    resolveApiKey: async (key) => {
      resolved.push(key)
      return key === 'good' ? { id: 'key-1', owner: 'u7', kind: 'user', scopes: [] } : undefined
    },
  })
  const ask = async (headers: Record<string, string>, from = attacker) =>
    made.http.inject({ url: '/whoami', headers: { ...headers, 'x-forwarded-for': from } })
  return { ...made, ask, resolved }
}

/** A token as signed, but for its signature. */
function forged({ bearer }: Setup, i: number) {
  const { authorization } = bearer({ jti: `forged-${i}` })
  return { authorization: `${authorization.slice(0, -4)}AAA${'AQgw'[i % 4]}` }
}

test('repeated forged tokens from one address are refused unchecked with 429', async () => {
  const made = await braked()
  const { ask, bearer, clock } = made
  const known = bearer()
  assert.equal((await ask(known)).statusCode, 200)
  for (let i = 0; i < 5; i++) assert.equal((await ask(forged(made, i))).statusCode, 401)
  const stopped = await ask(forged(made, 9))
  assert.equal(stopped.statusCode, 429)
  assert.ok(Number(stopped.headers['retry-after']) > 0)
  assert.deepEqual(stopped.json()['violated-policies'], ['bad-credentials-rpm'])
  assert.equal((await ask(bearer({ jti: 'fresh' }))).statusCode, 429, 'an unknown token is not looked at')
  assert.equal((await ask(known)).statusCode, 200, 'a token known before goes on')
  assert.equal((await ask(bearer({ jti: 'fresh' }), '192.0.2.7')).statusCode, 200, 'others are not touched')
  clock.advance(Number(stopped.headers['retry-after']) * 1000)
  assert.equal((await ask(bearer({ jti: 'fresh' }))).statusCode, 200)
})

test('repeated unknown API keys are refused before they are looked up', async () => {
  const { ask, resolved } = await braked()
  assert.equal((await ask({ 'x-api-key': 'good' })).statusCode, 200)
  for (let i = 0; i < 5; i++) assert.equal((await ask({ 'x-api-key': `guess-${i}` })).statusCode, 401)
  resolved.length = 0
  assert.equal((await ask({ 'x-api-key': 'guess-6' })).statusCode, 429)
  assert.deepEqual(resolved, [])
  assert.equal((await ask({ 'x-api-key': 'good' })).statusCode, 200)
})

test('repeated expired tokens do not count as bad credentials', async () => {
  const { ask, bearer, clock } = await braked()
  for (let i = 0; i < 20; i++) {
    const expired = bearer({ jti: `old-${i}`, exp: Math.floor(clock.now() / 1000) - 3_600 })
    assert.equal((await ask(expired)).statusCode, 401)
  }
  assert.equal((await ask(bearer())).statusCode, 200)
})

test('a route that needs no caller answers whatever the credential', async () => {
  const made = await braked()
  for (let i = 0; i < 9; i++) await made.ask(forged(made, i))
  const answer = await made.http.inject({ url: '/open', headers: { ...forged(made, 1), 'x-forwarded-for': attacker } })
  assert.equal(answer.statusCode, 200)
})
