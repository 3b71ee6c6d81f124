import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Pool } from 'undici'
import { createDeadlines } from '../../src/transport/deadlines.ts'
import { createHttpClient, resultOfError, sendRequest } from '../../src/transport/http.ts'

const never = new AbortController().signal

test('a request abandoned while it waited for a connection is never sent', async (t) => {
  const seen: string[] = []
  const firstResponse = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    seen.push(request.url ?? '')
    if (request.url === '/first') await firstResponse.promise
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { connections: 1, timeoutMs: 10_000 })
  t.after(async () => {
    await client.close()
    server.close()
  })
  const call = (path: string, signal = never) => client.request({ method: 'POST', path, body: '{}' }, signal)
  const first = call('/first')
  const impatient = new AbortController()
  const waiting = call('/waits', impatient.signal)
  impatient.abort(new Error('too late'))
  await assert.rejects(waiting, /too late/)
  firstResponse.resolve()
  assert.equal((await first).status, 200)
  assert.equal((await call('/quick')).status, 200)
  assert.deepEqual(seen, ['/first', '/quick'])
})

test('a request whose time passed while the process stood still is never sent', async (t) => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.url ?? '')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { timeoutMs: 200 })
  t.after(async () => {
    await client.close()
    server.close()
  })
  const late = client.request({ method: 'POST', path: '/late', body: '{}' }, never)
  const until = performance.now() + 400
  while (performance.now() < until);
  await assert.rejects(late, /200 ms|passed/)
  const deadline = createDeadlines(50, 'no time is left')()
  const stoodStill = performance.now() + 100
  while (performance.now() < stoodStill);
  await assert.rejects(client.request({ method: 'POST', path: '/past', body: '{}' }, deadline.signal), /no time|passed/)
  assert.equal((await client.request({ method: 'POST', path: '/next', body: '{}' }, never)).status, 200)
  assert.deepEqual(seen, ['/next'])
})

test('only the beginning of an endless response is read', async (t) => {
  const server = createServer((_request, response) => {
    const more = () => {
      while (response.write('x'.repeat(16_384)));
      response.once('drain', more)
    }
    more()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { timeoutMs: 10_000 })
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  const { status, body } = await client.request({ method: 'GET', path: '/' }, never)
  assert.deepEqual([status, body.length], [200, 65_536])
})

test('a request that waited for a connection until its time was over is transient', async (t) => {
  const seen: string[] = []
  const server = createServer((request) => {
    seen.push(request.url ?? '')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const pool = new Pool(origin, { connections: 1 })
  t.after(async () => {
    await pool.destroy()
    server.closeAllConnections()
    server.close()
  })
  const call = (path: string, timeoutMs: number) =>
    sendRequest(pool, origin, { method: 'POST', path, body: '{}' }, { timeoutMs, signal: never }).catch(resultOfError)
  const [hanging, queued] = await Promise.all([call('/hangs', 1_000), call('/queued', 200)])
  assert.deepEqual(
    [hanging, queued].map((result) => 'kind' in result && result.kind),
    ['ambiguous', 'transient'],
  )
  assert.deepEqual(seen, ['/hangs'])
})

test('a request to an address with which no connection comes about in time is transient', async (t) => {
  const sockets: Socket[] = []
  const server = createTcpServer((socket) => {
    sockets.push(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`https://127.0.0.1:${port}`), { timeoutMs: 200 })
  t.after(async () => {
    await client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const result = await client.request({ method: 'POST', path: '/', body: '{}' }, never).catch(resultOfError)
  assert.deepEqual(result, { kind: 'transient', reason: 'no answer: it took longer than 200 ms' })
})

test('a request whose time had passed before it was sent is transient', async (t) => {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { timeoutMs: 10_000 })
  t.after(async () => {
    await client.close()
    server.close()
  })
  assert.equal((await client.request({ method: 'POST', path: '/', body: '{}' }, never)).status, 200)
  const deadline = createDeadlines(20, 'no time is left')()
  const stoodStill = performance.now() + 50
  while (performance.now() < stoodStill);
  const result = await client.request({ method: 'POST', path: '/', body: '{}' }, deadline.signal).catch(resultOfError)
  assert.equal('kind' in result && result.kind, 'transient')
})

/** A server that sends the beginning of a response, of which more is to come, and then does what `then` says. */
async function startBroken(t: TestContext, then: (socket: Socket) => void) {
  const sockets: Socket[] = []
  const server = createServer((request, response) => {
    const { socket } = request
    sockets.push(socket)
    response.writeHead(Number(request.url?.slice(1)), { 'content-length': '100', 'retry-after': '7' })
    response.write('{"id"', () => then(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}`), { timeoutMs: 200 })
  t.after(async () => {
    await client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (method: 'GET' | 'POST', status: number) => client.request({ method, path: `/${status}` }, never)
}

const endings: Readonly<Record<string, (socket: Socket) => void>> = {
  'is reset': (socket) => socket.resetAndDestroy(),
  ends: (socket) => socket.destroy(),
  'says nothing more': () => {},
}

for (const [name, then] of Object.entries(endings))
  test(`a request that was accepted or not by its status stays so if the connection ${name}`, async (t) => {
    const call = await startBroken(t, then)
    for (const status of [200, 202, 429, 503]) {
      const { headers, body, ...response } = await call('POST', status)
      assert.deepEqual([response.status, headers['retry-after'], body], [status, '7', '{"id"'])
    }
    for (const status of [302, 400, 404])
      assert.equal(resultOfError(await call('POST', status).catch((error) => error)).kind, 'ambiguous', `${status}`)
    await assert.rejects(call('GET', 200), 'what is read is the body')
  })
