import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { KeyRing, manualClock, Secret } from '@gatehouse/kit'
import type { Caller } from '../../src/model/caller.ts'
import { createContextTokens } from '../../src/proxy/context-tokens.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const caller: Caller = { subject: 'u1', kind: 'user', clientId: 'web', scopes: new Set(['a', 'b']), roles: ['editor'] }
const request = { upstream: 'orders', method: 'GET', target: '/orders/7?x=1' }
const decoded = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())

function read(token: string, jwk: object) {
  const [header, body, signature] = token.split('.')
  const key = createPublicKey({ key: jwk as never, format: 'jwk' })
  const valid = verify(null, Buffer.from(`${header}.${body}`), key, Buffer.from(signature ?? '', 'base64url'))
  return { header: decoded(header), claims: decoded(body), valid }
}

test('a context token names the caller for one upstream, method and path, for a minute', () => {
  const clock = manualClock()
  const tokens = createContextTokens('https://gateway.example', clock)
  const now = clock.now() / 1000
  const { header, claims, valid } = read(tokens.issue(caller, request), tokens.keys()[0] ?? {})
  assert.ok(valid)
  assert.deepEqual({ ...header, kid: '' }, { alg: 'EdDSA', typ: 'gatehouse-context+jwt', kid: '' })
  assert.equal(header.kid, tokens.keys()[0]?.kid)
  assert.deepEqual(claims, {
    iss: 'https://gateway.example',
    aud: 'orders',
    sub: 'u1',
    kind: 'user',
    client_id: 'web',
    scope: 'a b',
    roles: ['editor'],
    req: createHash('sha256').update('GET /orders/7?x=1').digest('base64url'),
    iat: now,
    exp: now + 60,
  })
})

test("a context token never outlives the caller's credential", () => {
  const clock = manualClock()
  const tokens = createContextTokens('gateway', clock)
  const token = tokens.issue({ ...caller, expiresAt: clock.now() + 5_000 }, request)
  assert.equal(read(token, tokens.keys()[0] ?? {}).claims.exp, clock.now() / 1000 + 5)
})

test('a context token is reused for repeated requests, not for another path or after 20 s', () => {
  const clock = manualClock()
  const tokens = createContextTokens('gateway', clock)
  const first = tokens.issue(caller, request)
  assert.equal(tokens.issue(caller, request), first)
  assert.notEqual(tokens.issue(caller, { ...request, target: '/orders/8' }), first)
  assert.notEqual(tokens.issue(caller, { ...request, method: 'POST' }), first)
  assert.notEqual(tokens.issue(caller, { ...request, upstream: 'invoices' }), first)
  clock.advance(20_000)
  assert.notEqual(tokens.issue(caller, request), first)
})

test('gateways with one secret sign with one key, others with their own', () => {
  const key = (secret?: string) =>
    createContextTokens('gateway', manualClock(), secret ? new Secret(secret) : undefined).keys()[0]?.x
  assert.equal(key('s'), key('s'))
  assert.notEqual(key('s'), key('t'))
  assert.notEqual(key(), key())
})

test('an upstream receives the caller in headers and a context token, and fetches the key', async (context) => {
  const upstream = await startUpstream(context, (req, res) => res.end(JSON.stringify(req.headers)))
  const made = await setup({
    routes: [{ path: '/orders/*', upstream: 'orders' }],
    upstreams: { orders: { url: upstream.url } },
  })
  const url = await listen(context, made)
  const headers = made.bearer({ sub: 'ü 1', scope: 'a b', roles: ['x', 'y,z'] })
  const received = (await (await fetch(`${url}/orders/7?x=1`, { headers })).json()) as Record<string, string>
  assert.equal(received['x-gatehouse-kind'], 'user')
  assert.equal(received['x-gatehouse-user'], '%C3%BC%201')
  assert.equal(received['x-gatehouse-client'], 'web')
  assert.equal(received['x-gatehouse-scope'], 'a b')
  assert.equal(received['x-gatehouse-roles'], 'x,y%2Cz')
  assert.equal(received.authorization, undefined)
  const jwks = (await (await fetch(`${url}/.well-known/gatehouse-context.json`)).json()) as { keys: object[] }
  const { claims, valid } = read(received['x-gatehouse-context'] ?? '', jwks.keys[0] ?? {})
  assert.ok(valid)
  assert.equal(claims.sub, 'ü 1')
  assert.equal(claims.req, createHash('sha256').update('GET /orders/7?x=1').digest('base64url'))
})

test("the caller's token is forwarded only where that is configured", async (context) => {
  const upstream = await startUpstream(context, (req, res) => res.end(req.headers.authorization ?? ''))
  const made = await setup({
    routes: [{ path: '/orders/*', upstream: 'orders' }],
    upstreams: { orders: { url: upstream.url, forward_token: true } },
  })
  const url = await listen(context, made)
  const headers = made.bearer()
  assert.equal(await (await fetch(`${url}/orders/1`, { headers })).text(), headers.authorization)
})

test('gateways that have the same secrets in different orders publish both keys', () => {
  const [old, next] = [new Secret('old secret 0123456789abcdef0123'), new Secret('new secret 0123456789abcdef0123')]
  const kids = (...secrets: Secret[]) =>
    createContextTokens('gateway', manualClock(), new KeyRing(secrets))
      .keys()
      .map(({ kid }) => kid)
  assert.deepEqual(kids(old, next), kids(next, old).reverse())
  assert.equal(new Set(kids(old, next)).size, 2)
})

test('a caller never receives the token of another, and a clock that is set back ends reuse', () => {
  const clock = manualClock()
  const tokens = createContextTokens('gateway', clock)
  const subjectOf = (token: string) => read(token, tokens.keys()[0] ?? {}).claims.sub
  const other = { ...caller, subject: 'u2' }
  for (let turn = 0; turn < 2; turn++)
    assert.deepEqual(
      [caller, other].map((one) => subjectOf(tokens.issue(one, request))),
      ['u1', 'u2'],
    )
  clock.advance(-3_600_000)
  assert.equal(read(tokens.issue(caller, request), tokens.keys()[0] ?? {}).claims.iat, clock.now() / 1000)
})

for (const [length, count] of [
  [15_000, 200],
  [1_000, 400],
] as const)
  test(`tokens for targets of ${length} characters retain bounded memory, whoever calls`, () => {
    const tokens = createContextTokens('gateway', manualClock())
    const callers = Array.from({ length: count }, (_, n): Caller => ({ ...caller, subject: `u${n}` }))
    const before = usedMemory()
    for (const [n, one] of callers.entries())
      for (let k = 0; k < 64; k++) tokens.issue(one, { ...request, target: `/${'x'.repeat(length)}?${n * 64 + k}` })
    const retained = usedMemory() - before
    assert.ok(retained < 24 * 1024 * 1024, `${retained} bytes for ${callers.length} callers`)
  })

/** Bytes of the heap that are in use after a collection. */
function usedMemory(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
