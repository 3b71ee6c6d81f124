import assert from 'node:assert/strict'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { createHttp2Client } from '../../src/transport/http2.ts'

const listening = (server: Server) =>
  new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

test('a connection that went silent is found out by a ping, and the next call goes over a new one', async (t) => {
  const server = createHttp2Server((_request, response) => response.end('answered'))
  const port = await listening(server)
  const sockets: Socket[] = []
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    sockets.push(near, far)
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far).pipe(near)
  })
  const caller = createHttp2Client(`http://127.0.0.1:${await listening(proxy)}`, {
    connections: 1,
    timeoutMs: 1_000,
    pingMs: 60_000,
    pongMs: 20,
  })
  t.after(async () => {
    caller.close()
    for (const socket of sockets) socket.destroy()
    proxy.close()
    server.close()
  })
  const call = () => caller.request({ ':method': 'POST', ':path': '/' }, '', new AbortController().signal)
  assert.equal((await call()).body, 'answered')
  for (const socket of sockets) socket.unpipe()
  await assert.rejects(call())
  let answer: string | undefined
  for (let tries = 0; answer === undefined && tries < 50; tries++) answer = (await call().catch(() => undefined))?.body
  assert.equal(answer, 'answered')
  assert.equal(sockets.length, 4, 'a second connection was made')
})
