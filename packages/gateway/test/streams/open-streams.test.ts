import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createOpenStreams } from '../../src/streams/open-streams.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const closed = (answer: IncomingMessage) => new Promise((resolve) => answer.once('close', resolve))

/** A gateway that allows each caller two, before an upstream that streams at `/live`, upgrades, and answers the rest. */
async function bounded(context: TestContext) {
  const open = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  context.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const upstream = await startUpstream(context, (req, res) => {
    if (!req.url?.startsWith('/live')) return void res.end('served')
    open.add(res)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: hello\n\n')
  })
  upstream.server.on('upgrade', (req: IncomingMessage, socket: Socket) => {
    if (req.url?.endsWith('refused')) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
    socket
      .on('error', () => {})
      .once('end', () => socket.end())
      .resume()
  })
  const made = await setup({
    routes: [
      { path: '/open/*', public: true, upstream: 'app' },
      { path: '/live/*', upstream: 'app' },
    ],
    upstreams: { app: { url: upstream.url } },
    policies: { anonymous: { rpm: 100_000 } },
    planOf: async () => ({ plan: 'unlimited' }),
    streamsPerCaller: 2,
  })
  const url = await listen(context, made)
  const stream = async (headers: Record<string, string>) => {
    const clientRequest = request(`${url}/live/x`, { headers, agent: false }).end()
    const [answer] = (await once(clientRequest, 'response')) as [IncomingMessage]
    answer.on('error', () => {}).resume()
    return answer
  }
  const upgrade = async ({ authorization }: { authorization: string }, path = '/live/x') => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    sockets.add(socket)
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: ${authorization}\r\n\r\n`,
    )
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return { socket, status: Number(bytes.toString().slice(9, 12)) }
  }
  /** Tries until a place is free: the other end of a connection that closed is told of it later. */
  const freed = async (headers: Record<string, string>) => {
    for (;;) {
      const answer = await stream(headers)
      if (answer.statusCode === 200) return answer
      assert.equal(answer.statusCode, 429)
    }
  }
  return { ...made, url, open, stream, upgrade, freed }
}

test('a caller has a maximum of streams and WebSockets over all its credentials', async (context) => {
  const { stream, upgrade, bearer, url } = await bounded(context)
  assert.equal((await stream(bearer())).statusCode, 200)
  assert.equal((await upgrade(bearer({ jti: 'other' }))).status, 101)
  const refused = await stream(bearer())
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '10'])
  assert.match(refused.headers['content-type'] ?? '', /problem/)
  assert.equal((await upgrade(bearer())).status, 429)
  assert.equal((await fetch(`${url}/live/../open/x`, { headers: bearer() })).status, 200, 'other requests go on')
  assert.equal((await stream(bearer({ sub: 'u2' }))).statusCode, 200, 'other callers are not touched')
})

test('a stream slot is released however the stream or WebSocket ends', async (context) => {
  const { stream, upgrade, freed, bearer, open } = await bounded(context)
  const [first, second] = [await stream(bearer()), await stream(bearer())]
  first.destroy()
  const third = await freed(bearer())
  for (const response of open) response.end()
  await Promise.all([once(second, 'end'), once(third, 'end')])
  const { socket } = await upgrade(bearer())
  const fourth = await freed(bearer())
  socket.destroy()
  const fifth = await freed(bearer())
  for (const response of open) response.destroy()
  await Promise.all([closed(fourth), closed(fifth)])
  for (let i = 0; i < 5; i++) {
    const { status, socket: refused } = await upgrade(bearer(), '/live/refused')
    assert.equal(status, 403)
    await once(refused, 'close')
  }
  await freed(bearer())
  await freed(bearer())
  assert.equal((await stream(bearer())).statusCode, 429)
})

test('a WebSocket client that leaves during the checks holds no stream slot', async (context) => {
  const checking = Promise.withResolvers<void>()
  const checked = Promise.withResolvers<{ plan: string }>()
  let upgrades = 0
  const upstream = await startUpstream(context, (_req, res) => void res.end('served'))
  upstream.server.on('upgrade', (_req: IncomingMessage, socket: Socket) => {
    upgrades++
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n')
  })
  const made = await setup({
    routes: [{ path: '/live', upstream: 'app' }],
    upstreams: { app: { url: upstream.url } },
    planOf: () => {
      checking.resolve()
      return checked.promise
    },
    streamsPerCaller: 1,
  })
  const url = new URL(await listen(context, made))
  const accepted = once(made.http.server, 'connection') as Promise<[Socket]>
  const leaving = connect(Number(url.port), url.hostname)
  const upgrade = 'GET /live HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n'
  leaving.write(`${upgrade}authorization: ${made.bearer().authorization}\r\n\r\n`)
  const [connection] = await accepted
  await checking.promise
  const closing = new Promise((resolve) => connection.once('close', resolve))
  leaving.resetAndDestroy()
  await closing
  checked.resolve({ plan: 'unlimited' })
  const staying = connect(Number(url.port), url.hostname)
  context.after(() => staying.destroy())
  staying.write(`${upgrade}authorization: ${made.bearer().authorization}\r\n\r\n`)
  const [bytes] = (await once(staying, 'data')) as [Buffer]
  assert.match(bytes.toString(), /^HTTP\/1\.1 101 /)
  assert.equal(upgrades, 1, 'the upgrade of the client that left is not sent')
})

test('a response that is still open after five seconds counts as a stream', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const streams = createOpenStreams(1)
  const caller = { kind: 'user', id: 'u1' }
  const ended: string[] = []
  const releaseShort = streams.acquireWhenLong(caller, () => ended.push('short'))
  releaseShort()
  const release = streams.acquireWhenLong(caller, () => ended.push('first'))
  context.mock.timers.tick(5_000)
  assert.throws(() => streams.acquire(caller), { status: 429 })
  streams.acquireWhenLong(caller, () => ended.push('second'))
  context.mock.timers.tick(5_000)
  assert.deepEqual(ended, ['second'])
  release()
  release()
  const again = streams.acquire(caller)
  assert.throws(() => streams.acquire(caller), { status: 429 })
  again()
})
