import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { UpstreamDeclaration } from '../../src/config/upstream-declaration.ts'
import { rawRequest, sendRaw, statuses } from '../support/raw-http.ts'
import { startRawUpstream } from '../support/raw-upstream.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

/** A gateway that gives up on its upstream after one failure. */
async function before(context: TestContext, upstream: string, options: Partial<UpstreamDeclaration> = {}) {
  const made = await setup({
    routes: [{ path: '/*', public: true, upstream: 'app' }],
    upstreams: { app: { url: upstream, breaker_failures: 1, ...options } },
  })
  const url = await listen(context, made)
  const breaker = async () => /breaker\{upstream="app"\} (\d)/.exec(await made.metrics.metrics())?.[1]
  return { ...made, url, breaker, get: async () => (await fetch(`${url}/x`)).status }
}

const [closed, halfOpen, open] = ['0', '1', '2']

/** Begins a body, of which more never comes, and returns the status of the answer. */
async function uploadUnfinished(context: TestContext, url: string): Promise<number> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  context.after(() => socket.destroy())
  socket.write('POST /x HTTP/1.1\r\nHost: gateway.example\r\nContent-Length: 100\r\n\r\nbegun')
  const [answer] = await once(socket, 'data')
  return statuses(String(answer))[0] ?? 0
}

test('a response whose headers are too large is an answer: 502, not requested again', async (context) => {
  const paths: (string | undefined)[] = []
  const { url: upstream } = await startUpstream(context, (req, res) => {
    paths.push(req.url)
    res.writeHead(302, req.url === '/x' ? {} : { location: `/${'a'.repeat(17_000)}` }).end()
  })
  const { url, breaker } = await before(context, upstream)
  assert.equal((await fetch(`${url}/long`)).status, 502)
  const upgrade = rawRequest('/long', ['Upgrade: websocket']).replace('Connection: close', 'Connection: Upgrade')
  assert.deepEqual(statuses(await sendRaw(url, upgrade)), [502])
  assert.deepEqual(
    [await breaker(), await fetch(`${url}/x`, { redirect: 'manual' }).then(({ status }) => status)],
    [closed, 302],
  )
  assert.deepEqual(paths, ['/long', '/long', '/x'])
})

test('an upstream that does not wait for the rest of an upload has not failed', async (context) => {
  const upstream = await startRawUpstream(context, (socket) => socket.destroy())
  const { url, breaker } = await before(context, upstream)
  for (let i = 0; i < 3; i++) assert.equal(await uploadUnfinished(context, url), 502)
  assert.equal(await breaker(), closed)
})

test('an upstream that closes the connection after a whole upload has failed', async (context) => {
  const upstream = await startUpstream(context, (req) => req.resume().once('end', () => req.socket.destroy()))
  const { url, breaker } = await before(context, upstream.url)
  assert.equal((await fetch(`${url}/x`, { method: 'POST', body: 'whole' })).status, 502)
  assert.equal(await breaker(), open)
})

test('an upstream that accepts no connection has failed, however far an upload is', async (context) => {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await new Promise((resolve) => gone.close(resolve))
  const { url, breaker } = await before(context, `http://127.0.0.1:${port}`)
  assert.equal(await uploadUnfinished(context, url), 502)
  assert.equal(await breaker(), open)
})

test('an upstream that stops reading an upload has failed', async (context) => {
  const upstream = await startRawUpstream(context, (socket) => socket.pause())
  const { url, breaker } = await before(context, upstream, { headers_timeout_ms: 100 })
  const answer = await fetch(`${url}/x`, { method: 'POST', body: Buffer.alloc(32 * 1024 * 1024) })
  assert.equal(answer.status, 504)
  assert.equal(await breaker(), open)
})

test('another probe soon follows one that ended by an unfinished upload', async (context) => {
  let isDown = true
  const upstream = await startUpstream(context, (req, res) => {
    if (isDown || req.method === 'POST') req.socket.destroy()
    else res.end('served')
  })
  const { url, get, breaker, clock } = await before(context, upstream.url, { retries: 0, breaker_open_ms: 1_000 })
  for (const openMs of [0, 1_000, 2_000]) {
    clock.advance(openMs * 1.3)
    assert.deepEqual([await get(), await breaker()], [502, open])
  }
  isDown = false
  clock.advance(4_000 * 1.3)
  assert.deepEqual([await uploadUnfinished(context, url), await breaker()], [502, halfOpen])
  assert.equal(await get(), 503)
  clock.advance(1_000)
  assert.deepEqual([await get(), await breaker()], [200, closed])
})

test('an upgrade may wait for its answer as long as any request, and counts as one failure then', async (context) => {
  const upstream = await startUpstream(context, () => {})
  const { url, breaker } = await before(context, upstream.url, { headers_timeout_ms: 100, breaker_failures: 2 })
  const upgrade = rawRequest('/x', ['Upgrade: websocket']).replace('Connection: close', 'Connection: Upgrade')
  for (const state of [closed, open])
    assert.deepEqual([statuses(await sendRaw(url, upgrade)), await breaker()], [[504], state])
})
