import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '@gatehouse/kit'
import { forwardRequest } from '../../src/proxy/forward-request.ts'
import { openUpstream } from '../../src/proxy/upstream.ts'
import { startForwardingServer } from '../support/forwarding-server.ts'
import { listen, setup, startUpstream } from '../support/setup.ts'

const chunk = Buffer.alloc(64 * 1024, 1)

/** Writes as fast as it is read, more than all buffers hold. Returns a function that stops it and returns the length. */
function writeWithoutEnd(response: ServerResponse): () => number {
  let length = 0
  let isStopped = false
  const write = () => {
    while (!isStopped) {
      length += chunk.length
      if (!response.write(chunk)) return
    }
  }
  response.on('drain', write)
  response.writeHead(200)
  write()
  return () => {
    isStopped = true
    return length
  }
}

/** Sends a request and returns its response, of which nothing is read until the test reads it. */
async function begin(context: TestContext, url: string, headers = {}): Promise<IncomingMessage> {
  const sent = request(url, { headers, agent: false }).on('error', () => {})
  context.after(() => sent.destroy())
  const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage]
  return answer
}

test('a client that does not read is cut off when others wait for its connection', async (context) => {
  const closed: Promise<number>[] = []
  const upstream = await startUpstream(context, (req, res) => {
    if (req.url === '/short') return void res.end('served')
    const index = closed.length
    closed.push(once(res, 'close').then(() => index))
    writeWithoutEnd(res)
  })
  const made = await setup({
    routes: [{ path: '/*', upstream: 'app' }],
    upstreams: { app: { url: upstream.url, connections: 2, body_timeout_ms: 200, headers_timeout_ms: 10_000 } },
  })
  const url = await listen(context, made)
  const first = await begin(context, `${url}/endless`, made.bearer())
  const second = await begin(context, `${url}/endless`, made.bearer({ sub: 'u2' }))
  const third = await fetch(`${url}/short`, { headers: made.bearer({ sub: 'u3' }) })
  assert.deepEqual([third.status, await third.text()], [200, 'served'])
  const cutOff = (await Promise.race(closed)) === 0 ? first : second
  await assert.rejects(finished(cutOff.resume()), { code: 'ECONNRESET' })
})

/** A server with one connection that forwards responses without end, which may be unread for a second. */
async function forwarding(context: TestContext) {
  const begun = Promise.withResolvers<{ response: ServerResponse; upstreamResponse: ServerResponse; stop(): number }>()
  let response: ServerResponse | undefined
  const { url: address } = await startUpstream(context, (_req, upstreamResponse) => {
    if (response) begun.resolve({ response, upstreamResponse, stop: writeWithoutEnd(upstreamResponse) })
  })
  // Its pool has the longer default: the pauses of the upstream are not what is tested.
  const upstream = {
    ...openUpstream('app', { url: address, connections: 1 }, { clock: systemClock }),
    bodyTimeoutMs: 1_000,
  }
  const { url, server } = await startForwardingServer(context, upstream, (raw, answer) => {
    response ??= answer
    const forwarded = { raw, response: answer, target: '/', headers: [], gatewayHeaders: {} }
    forwardRequest(upstream, forwarded).catch(() => answer.destroy())
  })
  return { url, server, begun: begun.promise }
}

for (const [title, { othersWait, pauseMs }] of [
  ['a client that reads again in time receives the whole response', { othersWait: true, pauseMs: 900 }],
  [
    'a client that pauses for long receives the whole response while nobody waits',
    { othersWait: false, pauseMs: 5_000 },
  ],
] as const)
  test(title, async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const { url, server, begun } = await forwarding(context)
    const answer = await begin(context, url)
    let received = 0
    answer.on('data', (data: Buffer) => {
      received += data.length
    })
    const { response, upstreamResponse, stop } = await begun
    if (othersWait) {
      const waiting = request(url, { agent: false }).on('error', () => {})
      context.after(() => waiting.destroy())
      const arrived = once(server, 'request')
      waiting.end()
      await arrived
    }
    for (let pause = 0; pause < 3; pause++) {
      answer.pause()
      while (!response.writableNeedDrain) await setImmediate()
      context.mock.timers.tick(pauseMs)
      const drained = once(response, 'drain')
      answer.resume()
      await drained
    }
    const length = stop()
    while (received < length) await once(answer, 'data')
    context.mock.timers.tick(1_000)
    upstreamResponse.end()
    await once(answer, 'end')
    assert.equal(received, length)
  })
