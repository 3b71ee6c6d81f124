import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createHttp, silentLog } from '../../src/index.ts'

async function setupServer(context: TestContext) {
  const http = createHttp({ log: silentLog, headersTimeoutMs: 100 })
  http.get('/things', async () => ({ things: [] }))
  http.get('/stream', (_request, reply) => reply.send(Readable.from(endless())))
  const { port } = new URL(await http.listen({ port: 0, host: '127.0.0.1' }))
  context.after(() => {
    http.server.closeAllConnections()
    return http.close()
  })
  const open = (sent: string): Socket => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(sent)
    return socket
  }
  return { http, open }
}

const setup = async (context: TestContext) => (await setupServer(context)).open

async function* endless() {
  yield 'begun\n'
  await new Promise(() => {})
}

const request = (target: string, lines = 1) => `GET ${target} HTTP/1.1\r\nhost: x\r\n${'a:\r\n'.repeat(lines - 1)}\r\n`

for (const [what, sent, status, detail] of [
  ['a request line of more than 16 KiB', request(`/things?cursor=${'%F0%9F%98%80'.repeat(2_000)}`), 431, /16384 bytes/],
  ['headers of more than 16 KiB', `GET /things HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, /16384 bytes/],
  ['headers that do not come', 'GET /things HTTP/1.1\r\nhost: x\r\n', 408, /too slowly/],
  ['bytes that are no request', 'hello\r\n\r\n', 400, /no HTTP request/],
] as const)
  test(`${what}: a problem with ${status}, and the end of the connection`, async (context) => {
    const open = await setup(context)
    const [head = '', body = ''] = (await text(open(sent))).split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.match(head, /content-type: application\/problem\+json/)
    assert.match(head, new RegExp(`content-length: ${body.length}`))
    const problem = JSON.parse(body)
    assert.equal(problem.status, status)
    assert.match(problem.detail, detail)
  })

for (const target of ['/things', '/nothing'])
  test(`more than 200 header lines to ${target} are a problem with 431, fewer are not`, async (context) => {
    const open = await setup(context)
    const bytes = request(target, 200) + request(target, 201) + request(target, 1_500)
    const answer = await text(open(bytes))
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
    assert.deepEqual(statuses, [target === '/things' ? 200 : 404, 431, 431])
    assert.match(answer, /more than 200 header lines.*more than 200 header lines/s)
  })

test('headers that are still being sent when they are refused: the answer arrives all the same', async (context) => {
  const open = await setup(context)
  const socket = open('GET /things HTTP/1.1\r\n')
  const answer = text(socket)
  for (let sent = 0; sent < 64; sent++) socket.write(`x-${sent}: ${'y'.repeat(16_000)}\r\n`)
  assert.match(await answer, /^HTTP\/1\.1 431 .*16384 bytes/s)
})

test('who neither reads nor closes after a refusal is let go', async (context) => {
  const { http, open } = await setupServer(context)
  const accepted = once(http.server, 'connection') as Promise<[Socket]>
  open('hello\r\n\r\n').pause()
  const [socket] = await accepted
  await new Promise((resolve) => socket.once('close', resolve))
})

test('bytes that are no request end the connection, and are not answered within an answer', async (context) => {
  const open = await setup(context)
  const socket = open(request('/stream'))
  const [first] = (await once(socket, 'data')) as [Buffer]
  socket.write('hello\r\n\r\n')
  const answer = first.toString() + (await text(socket).catch(() => ''))
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.doesNotMatch(answer, /400|no HTTP request/)
})
