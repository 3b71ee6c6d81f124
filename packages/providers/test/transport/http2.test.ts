import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp2Server, type Http2ServerResponse } from 'node:http2'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { createDeadlines } from '../../src/transport/deadlines.ts'
import { createHttp2Client, resultOfStreamError } from '../../src/transport/http2.ts'

const listening = (server: Server) =>
  new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

test('a silent connection is detected by a ping, and the next request uses a new one', async (t) => {
  const server = createHttp2Server((_request, response) => response.end('answered'))
  const port = await listening(server)
  const sockets: Socket[] = []
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    sockets.push(near, far)
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far).pipe(near)
  })
  const client = createHttp2Client(`http://127.0.0.1:${await listening(proxy)}`, {
    connections: 1,
    timeoutMs: 1_000,
    pingMs: 60_000,
    pongMs: 20,
  })
  t.after(async () => {
    client.close()
    for (const socket of sockets) socket.destroy()
    proxy.close()
    server.close()
  })
  const call = () => client.request({ ':method': 'POST', ':path': '/' }, '', new AbortController().signal)
  assert.equal((await call()).body, 'answered')
  for (const socket of sockets) socket.unpipe()
  await assert.rejects(call())
  let answer: string | undefined
  for (let attempt = 0; answer === undefined && attempt < 50; attempt++)
    answer = (await call().catch(() => undefined))?.body
  assert.equal(answer, 'answered')
  assert.equal(sockets.length, 4, 'a second connection was made')
})

test('many requests that time out at once leave a connection that works', async (t) => {
  const arrived: Http2ServerResponse[] = []
  let connections = 0
  const server = createHttp2Server((_request, response) => {
    arrived.push(response)
    server.emit('arrived')
  })
  server.on('session', () => {
    connections += 1
  })
  const port = await listening(server)
  const client = createHttp2Client(`http://127.0.0.1:${port}`, { connections: 1, timeoutMs: 10_000 })
  t.after(() => {
    client.close()
    server.close()
  })
  const call = (signal: AbortSignal) => client.request({ ':method': 'POST', ':path': '/' }, '', signal)
  const until = async (count: number) => {
    while (arrived.length < count) await once(server, 'arrived')
  }
  const impatient = new AbortController()
  const abandoned = Promise.allSettled(Array.from({ length: 12 }, () => call(impatient.signal)))
  await until(12)
  const patient = call(new AbortController().signal)
  await until(13)
  impatient.abort()
  assert.deepEqual([...new Set((await abandoned).map(({ status }) => status))], ['rejected'])
  arrived[12]?.end('answered')
  assert.equal((await patient).body, 'answered')
  assert.equal(connections, 1)
})

test('a request whose time had passed is transient, and its connection stays', async (t) => {
  let connections = 0
  let requests = 0
  const server = createHttp2Server((_request, response) => {
    requests += 1
    response.end('answered')
  })
  server.on('session', () => {
    connections += 1
  })
  const client = createHttp2Client(`http://127.0.0.1:${await listening(server)}`, { connections: 1, timeoutMs: 10_000 })
  t.after(() => {
    client.close()
    server.close()
  })
  const call = (signal: AbortSignal) => client.request({ ':method': 'POST', ':path': '/' }, '', signal)
  const never = new AbortController().signal
  assert.equal((await call(never)).body, 'answered')
  const deadline = createDeadlines(20, 'no time is left')()
  const stoodStill = performance.now() + 50
  while (performance.now() < stoodStill);
  const result = await call(deadline.signal).catch(resultOfStreamError)
  assert.equal('kind' in result && result.kind, 'transient')
  assert.equal((await call(never)).body, 'answered')
  assert.deepEqual([connections, requests], [1, 2])
})
