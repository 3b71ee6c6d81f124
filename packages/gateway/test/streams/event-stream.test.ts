import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { listen, setup, startUpstream } from '../support/setup.ts'

/** A stream through the gateway, opened with a token that lasts 15 minutes. */
async function opened(context: TestContext, type = 'text/event-stream') {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const upstreamEnded = Promise.withResolvers<void>()
  const upstream = await startUpstream(context, (_req, res) => {
    res.writeHead(200, { 'content-type': type })
    res.write('data: hello\n\n')
    res.once('close', () => upstreamEnded.resolve())
  })
  const revoked = new Set<string | undefined>()
  const made = await setup({
    routes: [{ path: '/live', upstream: 'orders' }],
    upstreams: { orders: { url: upstream.url } },
    revocations: { covers: ({ grantId }) => revoked.has(grantId) },
  })
  const url = await listen(context, made)
  const clientRequest = request(`${url}/live`, { headers: made.bearer({ grant_id: 'g1' }), agent: false }).end()
  const [answer] = (await once(clientRequest, 'response')) as [IncomingMessage]
  const received: string[] = []
  answer.setEncoding('utf8').on('data', (text: string) => received.push(text))
  const ended = once(answer, 'end')
  await once(answer, 'data')
  return { ...made, received, revoked, ended, upstreamEnded: upstreamEnded.promise }
}

for (const [what, end] of [
  ['has expired', ({ clock }: Awaited<ReturnType<typeof opened>>) => clock.advance(3_600_000)],
  ['is revoked', ({ revoked }: Awaited<ReturnType<typeof opened>>) => revoked.add('g1')],
] as const)
  test(`an event stream and its upstream request end when its token ${what}`, async (context) => {
    const stream = await opened(context)
    context.mock.timers.tick(5_000)
    end(stream)
    context.mock.timers.tick(5_000)
    await stream.ended
    await stream.upstreamEnded
    assert.deepEqual(stream.received, ['data: hello\n\n'])
  })

for (const type of ['application/x-ndjson', 'application/grpc-web+proto', 'application/octet-stream'])
  test(`a response of type ${type} is cut off with its credential, never completed`, async (context) => {
    const stream = await opened(context, type)
    stream.revoked.add('g1')
    context.mock.timers.tick(5_000)
    await assert.rejects(stream.ended, { code: 'ECONNRESET' })
    await stream.upstreamEnded
    assert.deepEqual(stream.received, ['data: hello\n\n'])
  })

for (const type of ['text/event-stream', 'application/octet-stream'])
  test(`the head of a response of type ${type} is forwarded before its body begins`, async (context) => {
    const begun = Promise.withResolvers<ServerResponse>()
    const upstream = await startUpstream(context, (_req, res) => {
      res.writeHead(200, { 'content-type': type }).flushHeaders()
      begun.resolve(res)
    })
    const routes = [{ path: '/live', upstream: 'orders', public: true }]
    const url = await listen(context, await setup({ routes, upstreams: { orders: { url: upstream.url } } }))
    const clientRequest = request(`${url}/live`, { agent: false }).end()
    const [answer] = (await once(clientRequest, 'response')) as [IncomingMessage]
    assert.deepEqual([answer.statusCode, answer.headers['content-type']], [200, type])
    const silent = await begun.promise
    silent.end('data: hello\n\n')
    assert.equal(await text(answer), 'data: hello\n\n')
  })
