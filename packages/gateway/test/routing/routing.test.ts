import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { GatewayOptions } from '../../src/index.ts'
import { rawRequest, sendRaw, statuses } from '../support/raw-http.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

/** A gateway before an upstream that notes what reaches it; roles are needed wherever the second segment is `admin`. */
async function ordered(context: TestContext, options: Partial<GatewayOptions> = {}) {
  const seen: string[] = []
  const upstream = await startUpstream(context, (req, res) => {
    seen.push(`${req.method} ${req.url}`)
    res.end('served')
  })
  upstream.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
    seen.push(`upgrade ${req.url}`)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
  })
  const made = await setup({
    routes: [
      { path: '/{tenant}/admin/*', roles: ['admin'], upstream: 'app' },
      { path: '/orders/closed', upstream: 'app' },
      { path: '/internal/*', roles: ['admin'] },
      { path: '/orders/*', public: true, upstream: 'app' },
      { path: '/*', public: true, methods: ['GET'], upstream: 'app' },
    ],
    upstreams: { app: { url: upstream.url } },
    ...options,
  })
  return { ...made, seen, url: await listen(context, made) }
}

test('an earlier rule with a parameter precedes a later one with a literal path', async (context) => {
  const { url, seen } = await ordered(context)
  for (const target of [
    '/orders/admin/x',
    '/orders/%61dmin/x',
    '/orders/admin/',
    '/orders/%61%64min/x?public',
    '/orders/closed',
  ])
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE'])
      assert.deepEqual(statuses(await sendRaw(url, rawRequest(target, [], '', method))), [401], `${method} ${target}`)
  for (const target of [
    '/orders/admin;v=1/x',
    '/orders/x/../admin/x',
    '/orders//admin/x',
    '/orders/;/admin/x',
    'http://gateway.example/orders/1',
  ])
    assert.deepEqual(statuses(await sendRaw(url, rawRequest(target, []))), [400], target)
  assert.deepEqual(seen, [])
  assert.equal((await fetch(`${url}/orders/admin`)).status, 200)
})

test('the first matching rule applies to a WebSocket upgrade too', async (context) => {
  const { url, seen } = await ordered(context)
  const upgrade = async (target: string) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
    const [status] = statuses(await text(socket))
    return status
  }
  assert.deepEqual([await upgrade('/orders/admin/x'), await upgrade('/orders/%61dmin/x')], [401, 401])
  assert.deepEqual(seen, [])
  assert.equal(await upgrade('/orders/live'), 101)
})

test('a caller with the role is accepted by the earlier rule', async (context) => {
  const { url, bearer, seen } = await ordered(context)
  assert.equal((await fetch(`${url}/orders/admin/x`, { headers: bearer() })).status, 403)
  assert.equal((await fetch(`${url}/orders/admin/x`, { headers: bearer({ roles: ['admin'] }) })).status, 200)
  assert.deepEqual(seen, ['GET /orders/admin/x'])
})

test('a path whose first rule names no upstream is closed, whatever later rules say', async (context) => {
  const { url, bearer, seen } = await ordered(context)
  assert.equal((await fetch(`${url}/internal/x`)).status, 401)
  assert.equal((await fetch(`${url}/internal/x`, { headers: bearer({ roles: ['admin'] }) })).status, 404)
  assert.deepEqual(seen, [])
})

test('no rule takes over an own route, under any method', async (context) => {
  const { url, seen } = await ordered(context)
  assert.equal(await (await fetch(`${url}/healthz`)).text(), '{"status":"ok"}')
  const refused = await fetch(`${url}/healthz`, { method: 'POST' })
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
  assert.deepEqual(seen, [])
})

test('a rule without an upstream applies to own routes in every spelling of the path', async () => {
  const { http, bearer } = await setup({
    routes: [
      { path: '/users/alice', roles: ['admin'] },
      { path: '/op*', roles: ['admin'] },
    ],
  })
  for (const url of ['/users/alice', '/users/%61lice', '/users/alice?x', '/open', '/%6fpen'])
    assert.equal((await http.inject(url)).statusCode, 401, url)
  assert.equal((await http.inject('/users/bob')).statusCode, 200)
  assert.equal((await http.inject({ url: '/open', headers: bearer({ roles: ['admin'] }) })).statusCode, 200)
})

test('a rule of an own route applies to it in another process too', async (context) => {
  const { url, bearer, seen } = await ordered(context, {
    routes: [
      { path: '/v1/notify', roles: ['clerk'] },
      { path: '/*', public: true, upstream: 'app' },
    ],
    siblings: { notify: { url: 'http://127.0.0.1:9' } },
    ownRoutes: [{ path: '/v1/*', upstream: 'notify' }],
  })
  assert.equal((await fetch(`${url}/v1/notify`, { method: 'POST' })).status, 401)
  assert.equal((await fetch(`${url}/v1/notify`, { method: 'POST', headers: bearer() })).status, 403)
  const passed = await fetch(`${url}/v1/notify`, { method: 'POST', headers: bearer({ roles: ['clerk'] }) })
  assert.equal(passed.status, 502, 'the sibling is asked, never the upstream of a later rule')
  assert.deepEqual(seen, [])
})

test('a rule that can never match is rejected at start, with the rules that precede it', async () => {
  const upstreams = { app: { url: 'http://127.0.0.1:9' } }
  const closed = { path: '/orders/admin/*', roles: ['admin'], upstream: 'app' }
  await assert.rejects(
    setup({ upstreams, routes: [{ path: '/orders/*', public: true, upstream: 'app' }, closed] }),
    /route \/orders\/admin\/\* can never match: earlier rules take all its requests: \/orders\/\*/,
  )
  const { http } = await setup({ upstreams, routes: [{ path: '/users/{id}', upstream: 'app' }] })
  await assert.rejects(
    async () => http.ready(),
    /route \/users\/\{id\} can never match: our own service serves \/users\/:id/,
  )
})

test('a request is counted under the template of its rule', async (context) => {
  const { url, metrics } = await ordered(context)
  await fetch(`${url}/orders/7`)
  await fetch(`${url}/healthz/x/y`, { method: 'POST' })
  const shown = await metrics.metrics()
  assert.match(shown, /rate_limit_allowed_total\{route="\/orders\/\*",tier="anonymous"\} 1/)
  assert.match(shown, /rate_limit_allowed_total\{route="unmatched",tier="anonymous"\} 1/)
})
