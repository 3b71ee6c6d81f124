import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { RevocationList } from '@gatehouse/bearer'
import type { UpstreamDeclaration } from '../../src/config/upstream-declaration.ts'
import { WebSocketCloser } from '../../src/proxy/web-socket-close.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const closeFrame = (reason: string, code = 1008) =>
  Buffer.concat([Buffer.from([0x88, reason.length + 2, code >> 8, code & 0xff]), Buffer.from(reason)])

/** A frame of text as a server sends it (RFC 6455 §5.2). */
function frame(payload: string): Buffer {
  const body = Buffer.from(payload)
  if (body.length < 126) return Buffer.concat([Buffer.from([0x81, body.length]), body])
  if (body.length < 65_536) {
    const head = Buffer.from([0x81, 126, 0, 0])
    head.writeUInt16BE(body.length, 2)
    return Buffer.concat([head, body])
  }
  const head = Buffer.concat([Buffer.from([0x81, 127]), Buffer.alloc(8)])
  head.writeBigUInt64BE(BigInt(body.length), 2)
  return Buffer.concat([head, body])
}

for (const [size, what] of [
  [5, 'a short frame'],
  [300, 'a frame of 16-bit length'],
  [70_000, 'a frame of 64-bit length'],
] as const) {
  for (const cut of [1, 3, 7, size]) {
    test(`a close is sent after ${what}, never within it, wherever its bytes are split (${cut})`, async () => {
      const first = frame('x'.repeat(size))
      const stream = new WebSocketCloser()
      const received: Buffer[] = []
      stream.on('data', (chunk: Buffer) => received.push(chunk))
      stream.write(first.subarray(0, cut))
      stream.closeWith(1008, 'bye')
      stream.write(Buffer.concat([first.subarray(cut), frame('never seen')]))
      await once(stream, 'end')
      assert.deepEqual(Buffer.concat(received), Buffer.concat([first, closeFrame('bye')]))
    })
  }
}

test('a close between frames is sent at once', async () => {
  const stream = new WebSocketCloser()
  stream.write(frame('hello'))
  stream.closeWith(1008, 'bye')
  stream.write(frame('never seen'))
  const received: Buffer[] = []
  for await (const chunk of stream) received.push(chunk as Buffer)
  assert.deepEqual(Buffer.concat(received), Buffer.concat([frame('hello'), closeFrame('bye')]))
})

test('a close after the end of what the server sends adds nothing to it, though it is unread', async () => {
  const stream = new WebSocketCloser()
  stream.end(frame('hello'))
  await setImmediate()
  stream.closeWith(1008, 'bye')
  const received: Buffer[] = []
  for await (const chunk of stream) received.push(chunk as Buffer)
  assert.deepEqual(Buffer.concat(received), frame('hello'))
})

/** A WebSocket through the gateway, opened with a token that lasts 15 minutes; `look` is what the gateway does every 5 s. */
async function opened(
  context: TestContext,
  { revocations, ...declared }: Partial<UpstreamDeclaration> & { revocations?: RevocationList } = {},
) {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const upstream = await startUpstream(context, (_req, res) => res.end())
  const ended = Promise.withResolvers<void>()
  upstream.server.on('upgrade', (_req: IncomingMessage, socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
    socket.write(frame('hello'))
    socket.on('error', () => {})
    socket.once('end', () => socket.end())
    socket.once('close', () => ended.resolve())
    socket.resume()
  })
  const made = await setup({
    routes: [{ path: '/live', upstream: 'orders' }],
    upstreams: { orders: { url: upstream.url, ...declared } },
    ...(revocations ? { revocations } : {}),
  })
  const url = await listen(context, made)
  const { host, hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received = { bytes: Buffer.alloc(0) }
  socket.on('data', (chunk: Buffer) => {
    received.bytes = Buffer.concat([received.bytes, chunk])
  })
  const { authorization } = made.bearer({ grant_id: 'g1' })
  socket.write(
    `GET /live HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: ${authorization}\r\n\r\n`,
  )
  while (!received.bytes.includes('hello')) await once(socket, 'data')
  return { ...made, socket, received, upstreamEnded: ended.promise }
}

const hour = 3_600_000
const lastFrame = closeFrame('The credential has ended')

test('a WebSocket closes with 1008 when its token expires', async (context) => {
  const { socket, received, clock, upstreamEnded } = await opened(context)
  clock.advance(hour)
  context.mock.timers.tick(5_000)
  await once(socket, 'end')
  socket.end()
  assert.deepEqual(received.bytes.subarray(-lastFrame.length), lastFrame)
  await upstreamEnded
})

test('a WebSocket closes when its token is revoked', async (context) => {
  const revoked = new Set<string | undefined>()
  const { socket, received } = await opened(context, { revocations: { covers: ({ grantId }) => revoked.has(grantId) } })
  context.mock.timers.tick(5_000)
  revoked.add('g1')
  context.mock.timers.tick(5_000)
  await once(socket, 'end')
  socket.end()
  assert.deepEqual(received.bytes.subarray(-lastFrame.length), lastFrame)
})

test('a WebSocket closes with 1001 when the gateway stops, and holds it up for a second at most', async (context) => {
  const { socket, received, http, upstreamEnded } = await opened(context)
  const goodbye = closeFrame('The gateway stops', 1001)
  const ended = once(socket, 'end')
  await http.close()
  await ended
  assert.deepEqual(received.bytes.subarray(-goodbye.length), goodbye)
  await upstreamEnded
  socket.destroy()
})

test('an upstream may keep its WebSockets after the token has ended', async (context) => {
  const { socket, received, clock, http } = await opened(context, { websockets_at_expiry: 'keep' })
  clock.advance(hour)
  context.mock.timers.tick(5_000)
  assert.equal((await http.inject('/healthz')).statusCode, 200)
  assert.ok(!socket.readableEnded && !received.bytes.includes(lastFrame))
  socket.destroy()
})
