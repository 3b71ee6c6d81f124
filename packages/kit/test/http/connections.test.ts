import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createHttp, silentLog } from '../../src/index.ts'

/** More than the buffers of the operating system hold for one connection. */
const large = Buffer.alloc(24 * 1024 * 1024, 'x')
const patienceMs = 30_000
const sweepMs = 5_000

async function setup(context: TestContext) {
  const http = createHttp({ log: silentLog })
  let calls = 0
  const waiting = Promise.withResolvers<void>()
  context.after(() => waiting.resolve())
  http.get('/things', async () => ({ call: ++calls }))
  http.get('/waits', async () => {
    calls++
    await waiting.promise
    return 'waited'
  })
  http.get('/large', async (_request, reply) => reply.type('text/plain').send(large))
  http.get('/stream', async (_request, reply) => reply.type('text/plain').send(Readable.from(pieces())))
  http.get('/forwarded', async (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-length': large.length })
    reply.raw.end(large)
  })
  const { port } = new URL(await http.listen({ port: 0, host: '127.0.0.1' }))
  context.after(() => {
    http.server.closeAllConnections()
    return http.close()
  })
  const open = (sent: string): Socket => {
    const socket = connect(Number(port), '127.0.0.1')
    context.after(() => socket.destroy())
    socket.on('error', () => {})
    socket.write(sent)
    return socket
  }
  /** A connection, with the other end of it. */
  const accept = async (sent: string): Promise<{ client: Socket; accepted: Socket }> => {
    const connection = once(http.server, 'connection') as Promise<[Socket]>
    const client = open(sent).pause()
    const [accepted] = await connection
    return { client, accepted }
  }
  return { http, open, accept, calls: () => calls, endWaiting: () => waiting.resolve() }
}

function* pieces() {
  for (let start = 0; start < large.length; start += 64 * 1024) yield large.subarray(start, start + 64 * 1024)
}

const get = (target: string, times = 1) => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(times)
const last = (target: string) => `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate()
}

/** What the operating system has taken of the answers of a connection: it takes more once enough of it is read. */
function acceptedBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize: number } | null }): number {
  return socket.bytesWritten - (socket._handle?.writeQueueSize ?? 0)
}

/** Lets the time pass in which a client may read nothing. */
function passPatience(context: TestContext): void {
  for (let passedMs = 0; passedMs <= patienceMs; passedMs += sweepMs) context.mock.timers.tick(sweepMs)
}

for (const target of ['/things', '/waits'])
  test(`a thousand requests to ${target} in one packet: 16 are served, and the connection ends`, async (context) => {
    const { open, calls } = await setup(context)
    const socket = open(get(target, 1_000)).resume()
    await new Promise((resolve) => socket.once('close', resolve))
    assert.equal(calls(), 16)
  })

test('sixteen requests at once are answered in their order, and sixteen more after them', async (context) => {
  const { open } = await setup(context)
  const socket = open(get('/things', 16))
  let answers = ''
  socket.on('data', (data) => {
    answers += data
  })
  const bodies = () => [...answers.matchAll(/{"call":(\d+)}/g)].map(([, call]) => Number(call))
  await until(() => bodies().length === 16)
  socket.write(get('/things', 15) + last('/things'))
  await once(socket, 'end')
  assert.deepEqual(
    bodies(),
    Array.from({ length: 32 }, (_, i) => i + 1),
  )
})

test('an upgrade after sixteen unanswered requests is served', async (context) => {
  const { http, open } = await setup(context)
  const upgraded = once(http.server, 'upgrade') as Promise<[unknown, Socket]>
  open(`${get('/waits', 16)}GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`)
  const [, socket] = await upgraded
  assert.equal(socket.destroyed, false)
  socket.destroy()
})

test('a CONNECT, which ends its connection, closes the responses that are queued there', async (context) => {
  const { http, open } = await setup(context)
  const closed: Promise<unknown>[] = []
  http.server.on('request', (_request, response) => closed.push(once(response, 'close')))
  open(`${get('/waits', 3)}CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n`)
  await until(() => closed.length === 3)
  await Promise.all(closed)
})

test('a client that reads nothing for 30 seconds is cut off', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { accept } = await setup(context)
  const { accepted } = await accept(get('/large'))
  await until(() => accepted.writableLength > 0)
  for (let passedMs = 0; passedMs < patienceMs; passedMs += sweepMs) context.mock.timers.tick(sweepMs)
  assert.equal(accepted.destroyed, false)
  context.mock.timers.tick(sweepMs)
  assert.equal(accepted.destroyed, true)
})

test('a client that reads a part now and then receives the whole answer', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { accept } = await setup(context)
  const { client, accepted } = await accept(last('/large'))
  await until(() => accepted.writableLength > 0)
  let received = 0
  client.on('data', (data: Buffer) => {
    received += data.length
  })
  client.pause()
  while (accepted.writableLength > 0) {
    for (let passedMs = 0; passedMs < patienceMs - sweepMs; passedMs += sweepMs) context.mock.timers.tick(sweepMs)
    const before = acceptedBytes(accepted)
    client.resume()
    await until(() => acceptedBytes(accepted) > before || client.destroyed)
    client.pause()
    assert.equal(client.errored, null)
  }
  client.resume()
  if (!client.readableEnded) await once(client, 'end')
  assert.ok(received > large.length)
})

test('a client that waits for its answer, and one between two requests, stay', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { open, calls, endWaiting } = await setup(context)
  const waits = open(last('/waits'))
  const idle = open(get('/things'))
  await once(idle, 'data')
  await until(() => calls() === 2)
  passPatience(context)
  endWaiting()
  idle.write(last('/things'))
  assert.match(await text(waits), /waited$/)
  assert.match(await text(idle), /{"call":3}$/)
})

for (const [title, target] of [
  ['a stream that is unread is left to its own bounds', '/stream'],
  ['a response that is written past the server is left to whoever writes it', '/forwarded'],
] as const)
  test(title, async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] })
    const { accept } = await setup(context)
    const { client, accepted } = await accept(last(target))
    await until(() => accepted.writableLength > 0)
    passPatience(context)
    assert.equal(accepted.destroyed, false)
    assert.ok((await text(client)).length > large.length)
  })

test('a server that has closed leaves no timer behind', async (context) => {
  const started = context.mock.method(globalThis, 'setInterval')
  const ended = context.mock.method(globalThis, 'clearInterval')
  const { http } = await setup(context)
  const timer = started.mock.calls.find(({ arguments: [, ms] }) => ms === sweepMs)?.result
  assert.equal(timer?.hasRef(), false)
  await http.close()
  assert.ok(ended.mock.calls.some(({ arguments: [ended] }) => ended === timer))
})
