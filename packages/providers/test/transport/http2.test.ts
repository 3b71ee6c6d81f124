import assert from 'node:assert/strict'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { createHttp2Client } from '../../src/transport/http2.ts'

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
