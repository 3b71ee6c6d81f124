import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { GatewayOptions, RouteRule } from '../../src/index.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const mfa = 'urn:gatehouse:acr:mfa'
const start = 'Bearer realm="gatehouse", error="insufficient_user_authentication", error_description='

const routes: RouteRule[] = [
  { path: '/app/strong', upstream: 'app', requireAcr: mfa },
  { path: '/app/recent', upstream: 'app', maxAgeSeconds: 300 },
  { path: '/app/both', upstream: 'app', scope: 'pay', requireAcr: 'phr', maxAgeSeconds: 60 },
  { path: '/app/*', upstream: 'app' },
  { path: '/open', maxAgeSeconds: 300 },
]

async function requiring(context: TestContext, options: Partial<GatewayOptions> = {}) {
  const seen: string[] = []
  const upstream = await startUpstream(context, (req, res) => {
    seen.push(`${req.url}`)
    res.end('served')
  })
  upstream.server.on('upgrade', (req: IncomingMessage, socket) => {
    seen.push(`upgrade ${req.url}`)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
  })
  const made = await setup({ routes, upstreams: { app: { url: upstream.url } }, ...options })
  return { ...made, seen, url: await listen(context, made) }
}

async function withSibling(context: TestContext) {
  const seen: string[] = []
  const sibling = 'identity'
  const upstream = await startUpstream(context, (req, res) => {
    seen.push(`${sibling} ${req.url}`)
    res.end('served')
  })
  const made = await setup({
    routes: [{ path: '/pages', maxAgeSeconds: 300 }],
    ownRoutes: [{ path: '/pages', public: true, upstream: sibling }],
    siblings: { [sibling]: { url: upstream.url } },
  })
  return { ...made, seen, sibling, url: await listen(context, made) }
}

test('a route that requires a class challenges weaker sign-ins and serves stronger ones', async (context) => {
  const { url, bearer, seen } = await requiring(context)
  const get = (claims: object) => fetch(`${url}/app/strong`, { headers: bearer({ ...claims }) })
  const refused = await get({ acr: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport' })
  assert.equal(refused.status, 401)
  assert.equal(
    refused.headers.get('www-authenticate'),
    `${start}"The user must sign in with a stronger method", acr_values="${mfa}"`,
  )
  assert.match(String(refused.headers.get('content-type')), /^application\/problem\+json/)
  assert.equal((await get({})).status, 401)
  assert.deepEqual(seen, [])
  for (const acr of [mfa, 'phr', 'phrh']) assert.equal((await get({ acr })).status, 200, acr)
})

test('the age of the sign-in is compared at each request, though the token is cached', async (context) => {
  const { url, bearer, clock } = await requiring(context)
  const headers = bearer({ auth_time: clock.now() / 1000 - 240 })
  const status = async (path: string) => (await fetch(url + path, { headers })).status
  assert.equal(await status('/app/recent'), 200)
  clock.advance(90_000)
  assert.equal(await status('/app/recent'), 200, 'within the clock skew')
  clock.advance(1_000)
  assert.equal(await status('/app/recent'), 401)
  assert.equal(await status('/app/other'), 200, 'the token is still valid elsewhere')
})

test('scope is required before the sign-in, and the challenge names class and age', async (context) => {
  const { url, bearer, clock } = await requiring(context)
  const get = (claims: object) => fetch(`${url}/app/both`, { headers: bearer({ ...claims }) })
  assert.equal((await get({})).status, 403)
  const challenge = (await get({ scope: 'pay', acr: mfa })).headers.get('www-authenticate')
  assert.match(String(challenge), /, acr_values="phr", max_age="60"$/)
  assert.equal((await get({ scope: 'pay', acr: 'phr', auth_time: clock.now() / 1000 })).status, 200)
})

test("an API key and a client's own token are refused where a sign-in is required", async (context) => {
  const { url, bearer, seen } = await requiring(context, {
    resolveApiKey: async (id) => ({ id, owner: 'u1', kind: 'user', scopes: ['pay'], plan: 'free' }),
  })
  const own = bearer({ sub: 'web', client_id: 'web', acr: 'phrh', auth_time: 1 })
  for (const headers of [{ 'x-api-key': 'key' }, own])
    for (const path of ['/app/strong', '/app/recent']) {
      const response = await fetch(url + path, { headers: { ...headers } })
      assert.equal(response.status, 401, path)
      assert.match(String(response.headers.get('www-authenticate')), /insufficient_user_authentication/)
    }
  assert.deepEqual(seen, [])
})

test('a route of an own service requires the sign-in that the file adds', async () => {
  const { http, bearer, clock } = await setup({ routes: [{ path: '/open', maxAgeSeconds: 300 }] })
  assert.equal((await http.inject('/open')).statusCode, 401)
  const old = bearer({ auth_time: clock.now() / 1000 - 331 })
  const refused = await http.inject({ url: '/open', headers: old })
  assert.equal(refused.statusCode, 401)
  assert.match(String(refused.headers['www-authenticate']), /max_age="300"$/)
  assert.equal(
    (await http.inject({ url: '/open', headers: bearer({ auth_time: clock.now() / 1000 }) })).statusCode,
    200,
  )
})

test('a path that a sibling serves requires the sign-in that the file adds, also a public one', async (context) => {
  const { url, bearer, clock, seen, sibling } = await withSibling(context)
  assert.equal((await fetch(`${url}/pages`)).status, 401)
  assert.equal((await fetch(`${url}/pages`, { headers: bearer({ auth_time: clock.now() / 1000 - 331 }) })).status, 401)
  assert.deepEqual(seen, [])
  assert.equal((await fetch(`${url}/pages`, { headers: bearer({ auth_time: clock.now() / 1000 }) })).status, 200)
  assert.deepEqual(seen, [`${sibling} /pages`])
})

test('a WebSocket upgrade is challenged like any request', async (context) => {
  const { url, bearer, clock, seen } = await requiring(context)
  const upgrade = (authTime: number) => {
    const { host, hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const { authorization } = bearer({ auth_time: authTime })
    const lines = [`host: ${host}`, 'connection: Upgrade', 'upgrade: websocket', `authorization: ${authorization}`]
    socket.write(`GET /app/recent HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    return text(socket)
  }
  const now = clock.now() / 1000
  const refused = await upgrade(now - 331)
  assert.match(refused, /^HTTP\/1\.1 401 /)
  assert.match(refused, /www-authenticate: Bearer .*error="insufficient_user_authentication".*max_age="300"\r\n/i)
  assert.deepEqual(seen, [])
  assert.match(await upgrade(now - 300), /^HTTP\/1\.1 101 /)
})

test('a rule that requires a sign-in is checked at start', async () => {
  const refusals: [rule: RouteRule, message: RegExp][] = [
    [{ path: '/a', public: true, requireAcr: 'phr' }, /^route \/a can require no sign-in/],
    [{ path: '/a', public: true, maxAgeSeconds: 300 }, /^route \/a can require no sign-in/],
    [{ path: '/a', maxAgeSeconds: 0 }, /^route \/a must have a max_age_seconds of at least 1/],
    [{ path: '/a', requireAcr: 'a b' }, /^route \/a must have one acr value/],
  ]
  for (const [rule, message] of refusals)
    await assert.rejects(setup({ routes: [rule] }), { name: 'RangeError', message })
})
