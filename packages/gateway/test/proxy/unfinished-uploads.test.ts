import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '@gatehouse/kit'
import { forwardRequest } from '../../src/proxy/forward-request.ts'
import { openUpstream } from '../../src/proxy/upstream.ts'
import { startForwardingServer } from '../support/forwarding-server.ts'
import { rawRequest, statuses } from '../support/raw-http.ts'
import { startRawUpstream } from '../support/raw-upstream.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

// Bytes that nobody reads would stay before the next request of their connection, which then gets no answer.

const uploadBytes = 4 * 1024 * 1024

for (const [what, status, end] of [
  ['resets its connection', 502, (socket: Socket) => socket.resetAndDestroy()],
  ['closes its connection', 502, (socket: Socket) => socket.destroy()],
  ['answers and closes', 413, (socket: Socket) => socket.end('HTTP/1.1 413 x\r\nContent-Length: 2\r\n\r\nno')],
  ['answers and stays', 413, (socket: Socket) => socket.write('HTTP/1.1 413 x\r\nContent-Length: 2\r\n\r\nno')],
] as const)
  test(`the next request after an upload is answered where the upstream ${what} before its end`, async (context) => {
    const upstream = await startRawUpstream(context, end)
    const routes = [{ path: '/*', public: true, upstream: 'app' }]
    const made = await setup({ routes, upstreams: { app: { url: upstream, breaker_failures: 0 } } })
    const { hostname, port } = new URL(await listen(context, made))
    const socket = connect(Number(port), hostname)
    context.after(() => socket.destroy())
    const begin = rawRequest('/x', [`Content-Length: ${uploadBytes}`], '', 'POST').replace('Connection: close\r\n', '')
    socket.write(begin)
    socket.write(Buffer.alloc(uploadBytes))
    socket.write(rawRequest('/x', ['Content-Length: 1'], 'x', 'POST'))
    let answers = ''
    socket.on('data', (chunk) => {
      answers += chunk
    })
    await once(socket, 'end', { signal: AbortSignal.timeout(5_000) })
    assert.deepEqual(statuses(answers), [status, status])
  })

for (const [what, bytes] of [
  ['small', 3],
  ['large', uploadBytes],
] as const)
  test(`a request keeps its connection, and so its address, after a ${what} upload`, async (context) => {
    const { url: address } = await startUpstream(context, (req, res) => req.resume().once('end', () => res.end('ok')))
    const upstream = openUpstream('app', { url: address }, { clock: systemClock })
    const connections: unknown[] = []
    const { url } = await startForwardingServer(context, upstream, (raw, response) => {
      const headers = ['content-length', String(raw.headers['content-length'])]
      const forwarded = forwardRequest(upstream, { raw, response, target: '/', headers, gatewayHeaders: {} })
      forwarded.then(() => connections.push(raw.socket))
    })
    const answer = await fetch(url, { method: 'POST', body: Buffer.alloc(bytes) })
    assert.equal(await answer.text(), 'ok')
    assert.ok(connections[0])
  })

test('an upstream that resets uploads has failures in its figures, and no open breaker', async (context) => {
  const address = await startRawUpstream(context, (socket) => socket.resetAndDestroy())
  const upstream = openUpstream('app', { url: address, breaker_failures: 1 }, { clock: systemClock })
  const { url } = await startForwardingServer(context, upstream, (raw, response) => {
    const forwarded = forwardRequest(upstream, { raw, response, target: '/', headers: [], gatewayHeaders: {} })
    forwarded.catch(({ status }) => response.writeHead(status, { connection: 'close' }).end())
  })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  context.after(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: gateway.example\r\nContent-Length: 100\r\n\r\nbegun')
  assert.deepEqual(statuses(String(await once(socket, 'data'))), [502])
  const { figures, breaker } = upstream.state()
  assert.deepEqual([figures.failures, breaker], [1, 'closed'])
})
