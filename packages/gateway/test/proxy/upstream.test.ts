import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { UpstreamDeclaration } from '../../src/config/upstream-declaration.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const routes = [{ path: '/orders/*', public: true, upstream: 'orders' }]

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

/** A gateway before an upstream that isn't there yet. */
async function beforeNothing(context: TestContext, options: Partial<UpstreamDeclaration> = {}) {
  const port = await freePort()
  const made = await setup({
    routes,
    upstreams: { orders: { url: `http://127.0.0.1:${port}`, breaker_failures: 3, breaker_open_ms: 1_000, ...options } },
  })
  const url = await listen(context, made)
  const start = async (listener: RequestListener): Promise<Server> => {
    const server = createServer(listener).listen(port, '127.0.0.1')
    await once(server, 'listening')
    context.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return server
  }
  const status = async () => (await fetch(`${url}/orders/1`, { method: 'POST' })).status
  return { ...made, url, start, status }
}

test('the breaker of a silent upstream answers 503 with Retry-After until a probe succeeds', async (context) => {
  const { status, start, clock, url, metrics } = await beforeNothing(context)
  assert.deepEqual([await status(), await status(), await status()], [502, 502, 502])
  const spared = await fetch(`${url}/orders/1`)
  assert.equal(spared.status, 503)
  assert.ok(Number(spared.headers.get('retry-after')) >= 1)
  assert.match(spared.headers.get('content-type') ?? '', /^application\/problem\+json/)
  assert.match(await metrics.metrics(), /gateway_upstream_breaker\{upstream="orders"\} 2/)
  let reached = 0
  await start((_req, res) => {
    reached++
    res.writeHead(500).end()
  })
  assert.deepEqual([await status(), reached], [503, 0], 'not requested while it is spared')
  clock.advance(2_000)
  assert.deepEqual([await status(), await status()], [500, 500], 'an answer is an answer')
  assert.match(await metrics.metrics(), /gateway_upstream_breaker\{upstream="orders"\} 0/)
})

test('a failed probe opens the breaker again, twice as long', async (context) => {
  const { status, clock } = await beforeNothing(context)
  for (let i = 0; i < 3; i++) await status()
  clock.advance(1_300)
  assert.deepEqual([await status(), await status()], [502, 503])
  clock.advance(1_300)
  assert.equal(await status(), 503)
  clock.advance(1_300)
  assert.equal(await status(), 502)
})

test('breaker_failures: 0 disables the breaker', async (context) => {
  const { status } = await beforeNothing(context, { breaker_failures: 0 })
  for (let i = 0; i < 8; i++) assert.equal(await status(), 502)
})

test('a client that disconnects is not a failure of the upstream', async (context) => {
  const waiting: Promise<unknown>[] = []
  const upstream = await startUpstream(context, (_req, res) => waiting.push(once(res, 'close')))
  const made = await setup({ routes, upstreams: { orders: { url: upstream.url, breaker_failures: 1 } } })
  const url = await listen(context, made)
  for (let i = 0; i < 3; i++) {
    const out = request(`${url}/orders/1`).on('error', () => {})
    out.end()
    await once(upstream.server, 'request')
    out.destroy()
    await waiting[i]
  }
  assert.equal(waiting.length, 3, 'each was let through')
})

test('trailers are forwarded to clients that accept them, except forbidden fields', async (context) => {
  const teHeaders: unknown[] = []
  const { url: upstream } = await startUpstream(context, (req, res) => {
    teHeaders.push(req.headers.te)
    res.writeHead(200, { trailer: 'x-checksum' })
    res.write('body')
    res.addTrailers({ 'x-checksum': 'abc', 'set-cookie': 'a=1', 'x-gatehouse-user': 'spoof', 'x-ratelimit-limit': '1' })
    res.end()
  })
  const made = await setup({ routes, upstreams: { orders: { url: upstream } } })
  const url = await listen(context, made)
  const trailersOf = async (headers: Record<string, string>) => {
    const out = request(`${url}/orders/1`, { headers })
    out.end()
    const [answer] = (await once(out, 'response')) as [IncomingMessage]
    assert.equal(await text(answer), 'body')
    return answer.trailers
  }
  assert.deepEqual({ ...(await trailersOf({ te: 'trailers' })) }, { 'x-checksum': 'abc' })
  assert.deepEqual({ ...(await trailersOf({})) }, {})
  assert.deepEqual(teHeaders, ['trailers', undefined])
})

test('an upstream whose address has a password is refused', async () => {
  for (const url of ['http://:secret@orders', 'http://user:secret@orders'])
    await assert.rejects(setup({ routes, upstreams: { orders: { url } } }), /a host, a port and a path, nothing more/)
})
