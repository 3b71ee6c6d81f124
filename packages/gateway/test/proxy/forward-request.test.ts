import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { GatewayOptions, RouteRule } from '../../src/index.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const everything: RouteRule[] = [{ path: '/orders/*', public: true, upstream: 'orders' }]

async function proxied(
  context: TestContext,
  listener: Parameters<typeof startUpstream>[1],
  options: Partial<GatewayOptions> = {},
) {
  const upstream = await startUpstream(context, listener)
  const made = await setup({ routes: everything, upstreams: { orders: { url: upstream.url } }, ...options })
  return { ...made, upstream, url: await listen(context, made) }
}

test('a request is forwarded with method, path, query and body, and the response returned', async (context) => {
  const { url } = await proxied(context, async (req, res) => {
    res.writeHead(201, { 'content-type': 'text/plain', 'x-own': 'yes', 'set-cookie': ['a=1', 'b=2'] })
    res.end(`${req.method} ${req.url} ${await text(req)}`)
  })
  const answer = await fetch(`${url}/orders/7%20x?q=%C3%A4&r`, { method: 'PUT', body: 'héllo' })
  assert.equal(answer.status, 201)
  assert.equal(await answer.text(), 'PUT /orders/7%20x?q=%C3%A4&r héllo')
  assert.equal(answer.headers.get('x-own'), 'yes')
  assert.deepEqual(answer.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal(answer.headers.get('x-ratelimit-limit'), '60')
  assert.ok(answer.headers.get('x-request-id'))
})

test("the gateway's limit headers override an upstream's; rejected requests never reach it", async (context) => {
  let reached = 0
  const { url } = await proxied(
    context,
    (_req, res) => {
      reached++
      res.writeHead(200, { 'x-ratelimit-limit': '999999', 'x-gatehouse-user': 'spoof' })
      res.end()
    },
    { policies: { anonymous: { rpm: 1 } } },
  )
  const first = await fetch(`${url}/orders/1`)
  assert.equal(first.headers.get('x-ratelimit-limit'), '1')
  assert.equal(first.headers.get('x-gatehouse-user'), null)
  assert.equal((await fetch(`${url}/orders/1`)).status, 429)
  assert.equal(reached, 1)
})

test('bodies stream both ways, without waiting for their end', async (context) => {
  const { url } = await proxied(context, (req, res) => {
    res.writeHead(200)
    req.pipe(res)
  })
  const out = request(`${url}/orders/echo`, { method: 'POST' })
  out.write('one')
  const [answer] = (await once(out, 'response')) as [IncomingMessage]
  assert.equal(String((await once(answer, 'data'))[0]), 'one')
  out.write('two')
  assert.equal(String((await once(answer, 'data'))[0]), 'two')
  out.end()
  await once(answer, 'end')
})

test('a body larger than any buffer arrives whole, in both directions', async (context) => {
  const size = 24 * 1024 * 1024
  const { url } = await proxied(context, async (req, res) => {
    let received = 0
    for await (const chunk of req) received += chunk.length
    res.writeHead(200, { 'x-received': String(received) })
    res.end(Buffer.alloc(size, 1))
  })
  const answer = await fetch(`${url}/orders/big`, { method: 'POST', body: Buffer.alloc(size, 2) })
  assert.equal(answer.headers.get('x-received'), String(size))
  assert.equal((await answer.arrayBuffer()).byteLength, size)
})

test('the upstream request is aborted when the client disconnects', async (context) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { url } = await proxied(context, (_req, res) => {
    res.once('close', () => resolve())
    res.writeHead(200)
    res.write('begun')
  })
  const out = request(`${url}/orders/slow`)
  out.end()
  const [answer] = (await once(out, 'response')) as [IncomingMessage]
  await once(answer, 'data')
  answer.destroy()
  await closed
})

test('a truncated response is cut off, never completed', async (context) => {
  const { url } = await proxied(context, (_req, res) => {
    res.writeHead(200)
    res.write('half', () => res.destroy())
  })
  await assert.rejects(async () => (await fetch(`${url}/orders/half`)).text())
})

test('an unreachable upstream answers 502, a silent one 504, with problem details', async (context) => {
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  const absent = await proxied(context, () => {}, { upstreams: { orders: { url: `http://127.0.0.1:${port}` } } })
  const answer = await fetch(`${absent.url}/orders/1`)
  assert.equal(answer.status, 502)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/)
  assert.equal(answer.headers.get('x-ratelimit-limit'), '60')
  const { url: silentUrl } = await startUpstream(context, () => {})
  const silent = await proxied(context, () => {}, { upstreams: { orders: { url: silentUrl, headers_timeout_ms: 50 } } })
  assert.equal((await fetch(`${silent.url}/orders/1`)).status, 504)
})

test('a safe request is retried when its connection fails; any other is not', async (context) => {
  const seen: string[] = []
  const { url } = await proxied(context, (req, res) => {
    seen.push(req.method ?? '')
    if (seen.length % 2 === 1) req.socket.destroy()
    else res.end('second try')
  })
  assert.equal(await (await fetch(`${url}/orders/1`)).text(), 'second try')
  assert.deepEqual(seen.splice(0), ['GET', 'GET'])
  for (const method of ['POST', 'DELETE', 'PUT', 'PATCH']) {
    assert.equal((await fetch(`${url}/orders/1`, { method, ...(method === 'POST' ? { body: 'x' } : {}) })).status, 502)
    assert.deepEqual(seen.splice(0), [method])
  }
})

test('a safe request answers 502 when all its retries fail', async (context) => {
  let attempts = 0
  const { url } = await proxied(context, (req) => {
    attempts++
    req.socket.destroy()
  })
  assert.equal((await fetch(`${url}/orders/1`)).status, 502)
  assert.equal(attempts, 2)
})

test('a base path is prepended and a prefix removed', async (context) => {
  const upstream = await startUpstream(context, (req, res) => res.end(req.url))
  const made = await setup({
    routes: everything,
    upstreams: { orders: { url: `${upstream.url}/api/`, strip_prefix: '/orders' } },
  })
  const url = await listen(context, made)
  assert.equal(await (await fetch(`${url}/orders/7?x=1`)).text(), '/api/7?x=1')
  assert.equal(await (await fetch(`${url}/orders/`)).text(), '/api/')
})

test('a route of an upstream needs a caller unless it is public', async (context) => {
  const { url, bearer } = await proxied(context, (_req, res) => res.end('served'), {
    routes: [{ path: '/orders/*', upstream: 'orders', scope: 'read:orders' }],
  })
  assert.equal((await fetch(`${url}/orders/1`)).status, 401)
  assert.equal((await fetch(`${url}/orders/1`, { headers: bearer() })).status, 403)
  const served = await fetch(`${url}/orders/1`, { headers: bearer({ scope: 'read:orders' }) })
  assert.equal(await served.text(), 'served')
})

test('only the methods of a rule are served', async (context) => {
  const { url } = await proxied(context, (req, res) => res.end(req.method), {
    routes: [{ path: '/orders/*', methods: ['GET'], public: true, upstream: 'orders' }],
  })
  assert.equal((await fetch(`${url}/orders/1`)).status, 200)
  assert.equal((await fetch(`${url}/orders/1`, { method: 'HEAD' })).status, 200)
  const refused = await fetch(`${url}/orders/1`, { method: 'DELETE' })
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
})

test('responses without a body keep their length and complete', async (context) => {
  const { url } = await proxied(context, (req, res) => {
    if (req.method === 'HEAD') res.writeHead(200, { 'content-length': '1234' })
    else res.writeHead(req.url?.endsWith('304') ? 304 : 204)
    res.end()
  })
  const head = await fetch(`${url}/orders/1`, { method: 'HEAD' })
  assert.equal(head.headers.get('content-length'), '1234')
  assert.equal((await fetch(`${url}/orders/1`)).status, 204)
  assert.equal((await fetch(`${url}/orders/304`)).status, 304)
})

test('WebSocket connections are upgraded after the same checks as every request', async (context) => {
  const { url, bearer, upstream } = await proxied(context, (_req, res) => res.writeHead(404).end('no socket here'), {
    routes: [{ path: '/orders/*', upstream: 'orders' }],
  })
  let user: unknown
  upstream.server.on('upgrade', (req: IncomingMessage, socket) => {
    user = req.headers['x-gatehouse-user']
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\nhello',
    )
    socket.on('data', (data: Buffer) => socket.end(`echo ${data}`))
  })
  const upgrade = (headers: Record<string, string>) => {
    const { host, hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const lines = Object.entries({
      host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'k',
      ...headers,
    })
    socket.write(`GET /orders/live HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    return socket
  }
  const refused = await text(upgrade({}))
  assert.match(refused, /^HTTP\/1\.1 401 /)
  assert.match(refused, /www-authenticate: Bearer/i)
  const socket = upgrade(bearer())
  let received = ''
  socket.on('data', (data) => {
    received += data
    if (received.endsWith('hello')) socket.write('ping')
  })
  await once(socket, 'end')
  assert.match(received, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  assert.match(received, /x-ratelimit-limit: 10\r\n/)
  assert.match(received, /hello.*echo ping$/s)
  assert.equal(user, 'u1')
})

test('the response of an upstream that refuses an upgrade reaches the client', async (context) => {
  const { url } = await proxied(context, (_req, res) => res.writeHead(426, { 'x-why': 'closed' }).end('no socket here'))
  const { host, hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /orders/live HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
  const received = await text(socket)
  assert.match(received, /^HTTP\/1\.1 426 /)
  assert.match(received, /x-why: closed/)
  assert.match(received, /no socket here/)
})

for (const [who, path, status] of [
  ['the gateway', '/orders/live', 401],
  ['an upstream', '/public/live', 426],
] as const)
  test(`a client that does not close after ${who} refused its upgrade is closed`, async (context) => {
    const { url } = await proxied(context, (_req, res) => res.writeHead(426).end('no socket here'), {
      routes: [
        { path: '/orders/*', upstream: 'orders' },
        { path: '/public/*', upstream: 'orders', public: true },
      ],
    })
    const { host, hostname, port } = new URL(url)
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
    let received = ''
    socket.setEncoding('utf8').on('data', (data) => {
      received += data
    })
    await once(socket, 'end')
    assert.match(received, new RegExp(`^HTTP/1\\.1 ${status} `))
    // Nobody reads these: the first that meets a closed connection ends with a reset.
    const writing = setInterval(() => socket.write('still here'), 50)
    context.after(() => clearInterval(writing))
    const [error] = await once(socket, 'error')
    assert.match(error.code, /^(ECONNRESET|EPIPE)$/)
  })

for (const [what, head] of [
  ['with a length', { 'content-length': '100' }],
  ['without a length', {}],
] as const)
  for (const how of ['breaks off', 'stalls'] as const)
    test(`the response to an upgrade ${what} that ${how} is cut off, never completed`, async (context) => {
      const upstream = await startUpstream(context, (_req, res) => {
        res.writeHead(403, head)
        res.write('half', () => how === 'breaks off' && res.destroy())
      })
      const upstreams = { orders: { url: upstream.url, body_timeout_ms: 100 } }
      const url = await listen(context, await setup({ routes: everything, upstreams }))
      const { host, hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.write(`GET /orders/live HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
      await assert.rejects(text(socket), { code: 'ECONNRESET' })
    })

test('open WebSocket connections end when the gateway closes', async (context) => {
  const upstream = await startUpstream(context, (_req, res) => res.end())
  upstream.server.on('upgrade', (_req: IncomingMessage, socket) => {
    socket.on('error', () => {})
    socket.on('end', () => socket.end()).resume()
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nhello')
  })
  const { http } = await setup({ routes: everything, upstreams: { orders: { url: upstream.url } } })
  const { host, hostname, port } = new URL(await http.listen({ port: 0, host: '127.0.0.1' }))
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`GET /orders/live HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
  await once(socket, 'data')
  const closed = once(socket, 'close')
  await http.close()
  await closed
})

test('a gateway that stops ends its event streams', async (context) => {
  const { url, http } = await proxied(context, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: 1\n\n')
  })
  const answer = await fetch(`${url}/orders/stream`)
  const body = answer.text()
  body.catch(() => {})
  await http.close()
  await assert.rejects(body)
})

/** An upstream with one connection, which an answer that does not end holds. */
async function withBusyConnection(context: TestContext, headers_timeout_ms: number) {
  let reached = 0
  const begun = Promise.withResolvers<void>()
  const upstream = await startUpstream(context, (_req, res) => {
    reached++
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: begun\n\n', () => begun.resolve())
  })
  const upstreams = { orders: { url: upstream.url, connections: 1, headers_timeout_ms } }
  const url = await listen(context, await setup({ routes: everything, upstreams }))
  const holding = new AbortController()
  const holder = fetch(`${url}/orders/stream`, { signal: holding.signal })
  await begun.promise
  const release = async () => {
    await holder
    holding.abort()
  }
  return { url, release, reached: () => reached }
}

test('a request for which no connection becomes free in time is answered 503', async (context) => {
  const { url, release, reached } = await withBusyConnection(context, 200)
  const answer = await fetch(`${url}/orders/1`)
  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), '1')
  await answer.body?.cancel()
  await release()
  const after = await fetch(`${url}/orders/2`)
  assert.equal(after.status, 200)
  await after.body?.cancel()
  assert.equal(reached(), 2, 'what nobody waits for any more is not sent')
})

test('a client that disconnects while its request waits for a connection is forgotten', async (context) => {
  const { url, release, reached } = await withBusyConnection(context, 60_000)
  const leaving = new AbortController()
  const left = fetch(`${url}/orders/1`, { method: 'POST', body: 'x', signal: leaving.signal })
  leaving.abort()
  await assert.rejects(left)
  await release()
  const answer = await fetch(`${url}/orders/2`)
  assert.equal(answer.status, 200)
  await answer.body?.cancel()
  assert.equal(reached(), 2)
})
