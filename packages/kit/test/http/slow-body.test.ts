import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createHttp, createLog, type HttpOptions, silentLog } from '../../src/index.ts'

async function setup(context: TestContext, options: Partial<HttpOptions>) {
  const http = createHttp({ log: silentLog, ...options })
  const answering = Promise.withResolvers<void>()
  http.get('/waiting', () => answering.promise.then(() => ({})))
  http.post('/things', async () => ({ accepted: true }))
  http.post('/patient', { config: { bodyTimeoutMs: 60_000 } }, async () => ({ accepted: true }))
  const url = new URL(await http.listen({ port: 0, host: '127.0.0.1' }))
  context.after(() => {
    http.server.closeAllConnections()
    return http.close()
  })
  const open = (target: string, length: number): Socket => {
    const socket = connect(Number(url.port), url.hostname)
    const head = ['content-type: application/json', `content-length: ${length}`, 'host: x', 'connection: close']
    socket.write(`POST ${target} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
    return socket
  }
  return { http, open, url, answer: () => answering.resolve() }
}

/** Sends a byte again and again, until the answer begins: what is sent behind that may end the connection unread. */
function trickle(socket: Socket, everyMs: number): void {
  const timer = setInterval(() => socket.write(' '), everyMs)
  socket.on('error', () => {})
  socket.once('close', () => clearInterval(timer))
  socket.once('readable', () => clearInterval(timer))
}

test('a body that trickles is answered with 408 and its connection ends', async (context) => {
  const { open } = await setup(context, { bodyPatience: { graceMs: 60, bytesPerSecond: 10_000 } })
  const socket = open('/things', 100_000)
  trickle(socket, 10)
  const answer = await text(socket)
  assert.match(answer, /^HTTP\/1\.1 408 /)
  assert.match(answer, /content-type: application\/problem\+json/i)
  assert.match(answer, /The body came too slowly/)
})

test('a fast body may take longer than the grace period, up to the limit of its route', async (context) => {
  const { open } = await setup(context, { bodyPatience: { graceMs: 100, bytesPerSecond: 10, totalMs: 80 } })
  const send = async (target: string): Promise<string> => {
    const socket = open(target, 22)
    socket.on('error', () => {})
    const answer = text(socket)
    for (const piece of ['{', ...Array.from({ length: 20 }, () => ' '), '}']) {
      if (!socket.writable) break
      socket.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return answer
  }
  assert.match(await send('/patient'), /^HTTP\/1\.1 200 /)
  assert.match(await send('/things'), /^HTTP\/1\.1 408 /)
})

test('headers that trickle end the connection', async (context) => {
  const { url } = await setup(context, { headersTimeoutMs: 50 })
  const socket = connect(Number(url.port), url.hostname)
  socket.write('POST /things HTTP/1.1\r\nhost: x\r\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.match(String(answer), /^HTTP\/1\.1 408 /)
  socket.destroy()
})

test('HTTP/1.0: a response that has begun is reset when the body comes too slowly', async (context) => {
  const { http, url } = await setup(context, { bodyPatience: { graceMs: 60 } })
  http.server.prependListener('request', (_raw, response) => response.write('half'))
  const socket = connect(Number(url.port), url.hostname)
  socket.write('POST /things HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{')
  await assert.rejects(text(socket), { code: 'ECONNRESET' })
})

test('a 408 behind an earlier answer ends the connection, whatever became of its request', async (context) => {
  const refused = Promise.withResolvers<void>()
  const log = createLog('info', { write: (line: string) => void (line.includes('too slowly') && refused.resolve()) })
  const { http, url, answer } = await setup(context, { log, bodyPatience: { graceMs: 60 } })
  const requests: IncomingMessage[] = []
  http.server.prependListener('request', (raw) => void requests.push(raw))
  const socket = connect(Number(url.port), url.hostname)
  socket.write('GET /waiting HTTP/1.1\r\nhost: x\r\n\r\n')
  socket.write('POST /things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{')
  const answers = text(socket)
  await refused.promise
  // As undici does when it no longer needs the body.
  Object.assign(requests[1] ?? {}, { socket: null })
  answer()
  assert.match(await answers, /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 408 /)
})
